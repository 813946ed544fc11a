-- signal_requests: Who asked Slurm to signal or end the job, and how long before its end; the last request first.
-- TABLES: slurm_job, slurm_job_event
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL
-- NEEDS: slurm_job_event
-- EMPTY: TIMESTAMP, VARCHAR, VARCHAR, DOUBLE, VARCHAR
-- PRUNE: job_id
-- COLUMN asked_ts: when the controller was asked
-- COLUMN actor: uid or user who asked
-- COLUMN whose: root, own (the job's user) or other (somebody else); nothing where the job's uid is unknown
-- COLUMN before_end_s [s]: from the request to the end of the attempt; end times are whole seconds, so it may be just below zero
-- COLUMN message: the controller's own line
-- CAVEAT: The controller's log does not say which signal it was.
WITH j AS (
  SELECT "user", uid, coalesce(start_ts, submit_ts) AS begin_ts, end_ts FROM slurm_job
  WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
  ORDER BY attempt DESC NULLS LAST, end_ts DESC NULLS FIRST LIMIT 1
)
SELECT
  e.ts AS asked_ts, e.actor,
  CASE WHEN e.actor IN ('0', 'root') THEN 'root' WHEN e.actor = j."user" OR e.actor = j.uid THEN 'own'
       WHEN j.uid IS NOT NULL OR NOT regexp_matches(e.actor, '^[0-9]+$') THEN 'other' END AS whose,
  round(date_diff('millisecond', e.ts, j.end_ts) / 1000.0, 1) AS before_end_s,
  left(min(e.message), 200) AS message
FROM slurm_job_event e, j
WHERE e.job_id = $job_id AND e.event = 'signalled' AND e.actor IS NOT NULL
  AND (j.begin_ts IS NULL OR e.ts >= j.begin_ts - INTERVAL 1 SECOND) AND (j.end_ts IS NULL OR e.ts < j.end_ts + INTERVAL 1 SECOND)
GROUP BY e.ts, e.actor, j."user", j.uid, j.end_ts
ORDER BY asked_ts DESC, e.actor

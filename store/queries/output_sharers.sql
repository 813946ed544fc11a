-- output_sharers: Other jobs that wrote to the same file of output as this attempt, before it or at the same time.
-- TABLES: slurm_job
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL
-- PRUNE: none
-- COLUMN job_id: job
-- COLUMN state: how it ended, or its state
-- COLUMN exit_code: its exit status
-- COLUMN start_ts: when it started
-- COLUMN end_ts: when it ended
-- COLUMN meanwhile: it ran while this attempt did
-- CAVEAT: Known by the path alone. Parts of one heterogeneous job, which have one script, are left out.
WITH me AS (
  SELECT job_id, cluster, stdout_path, het_job_id, start_ts, end_ts FROM slurm_job
  WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
    AND starts_with(stdout_path, '/') AND NOT starts_with(stdout_path, '/dev/') AND start_ts IS NOT NULL
  ORDER BY attempt DESC NULLS LAST, start_ts DESC LIMIT 1
)
SELECT
  o.job_id, o.state, o.exit_code, o.start_ts, o.end_ts,
  o.start_ts < coalesce(me.end_ts, o.start_ts + INTERVAL 1 SECOND) AND coalesce(o.end_ts > me.start_ts, true) AS meanwhile
FROM slurm_job o JOIN me ON o.stdout_path = me.stdout_path AND o.job_id <> me.job_id
WHERE o.start_ts IS NOT NULL AND (o.start_ts < me.end_ts OR me.end_ts IS NULL)
  AND (o.cluster IS NULL OR me.cluster IS NULL OR o.cluster = me.cluster)
  AND (o.het_job_id IS NULL OR me.het_job_id IS NULL OR o.het_job_id <> me.het_job_id)
ORDER BY o.start_ts, o.job_id, o.attempt NULLS FIRST

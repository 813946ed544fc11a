-- job_events: What happened to the job in the scheduler's eyes, in order.
-- TABLES: slurm_job_event
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL
-- EMPTY: VARCHAR, TIMESTAMP, BIGINT, BIGINT, VARCHAR, VARCHAR, VARCHAR, BOOLEAN, VARCHAR, VARCHAR
-- PRUNE: job_id
-- COLUMN event: what happened
-- COLUMN event_ts: when
-- COLUMN after_s [s]: seconds since the first event
-- COLUMN attempt: attempt
-- COLUMN state: state after the event
-- COLUMN reason: Slurm's reason word or text
-- COLUMN actor: uid or user who did it, when known
-- COLUMN observed: true when seen as it happened, false when inferred from accounting
-- COLUMN node: node that is named
-- COLUMN message: text as printed
-- CAVEAT: Events that are inferred from accounting lack what happened between start and end.
SELECT
  event, ts AS event_ts, date_diff('second', min(ts) OVER (), ts) AS after_s, attempt, state, reason, actor, observed,
  node, message
FROM slurm_job_event
WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
-- An attempt is requeued once. Where accounting was asked while it was in flux, the last word on when is the right one.
QUALIFY event <> 'requeued' OR attempt IS NULL OR row_number() OVER (PARTITION BY attempt, event ORDER BY ts DESC NULLS LAST, origin) = 1
ORDER BY ts NULLS LAST, attempt NULLS LAST, event, origin

-- job_cost: GPU time that the job held, and how much of it came after the last checkpoint of its last attempt.
-- TABLES: slurm_job, log_event, train_step
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL
-- COLUMN attempts: attempts counted
-- COLUMN gpus: GPUs of the last attempt
-- COLUMN elapsed_s [s]: time running, all attempts
-- COLUMN gpu_hours_held [h]: GPUs times time running, all attempts counted
-- COLUMN gpu_hours_last [h]: the same, last attempt
-- COLUMN checkpoints: checkpoints that the last attempt's log says were saved
-- COLUMN last_checkpoint_ts: the last of them
-- COLUMN gpu_hours_after_checkpoint [h]: GPU hours of the last attempt after that checkpoint
-- COLUMN steps: steps that the last attempt reported
-- CAVEAT: NULL where accounting or the time of the checkpoint is not there; a checkpoint that nothing printed is not known.
WITH a AS (
  SELECT DISTINCT ON (coalesce(attempt, 1)) coalesce(attempt, 1) AS n, gpus, elapsed_s, start_ts, end_ts
  FROM slurm_job
  WHERE job_id = $job_id AND start_ts IS NOT NULL AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
  ORDER BY coalesce(attempt, 1), ts DESC NULLS LAST, origin
),
last AS (SELECT * FROM a ORDER BY n DESC LIMIT 1),
saved AS (
  SELECT count(*) AS checkpoints, max(e.ts) FILTER (e.ts_kind IS DISTINCT FROM 'file') AS ts
  FROM log_event e, last
  WHERE e.job_id = $job_id AND e.kind = 'checkpoint' AND e.name = 'saved'
    AND (e.attempt IS NULL OR e.attempt = last.n)
),
progress AS (
  SELECT count(DISTINCT t.step) AS steps FROM train_step t, last
  WHERE t.job_id = $job_id AND (t.attempt IS NULL OR t.attempt = last.n)
)
SELECT
  (SELECT count(*) FROM a) AS attempts, last.gpus,
  (SELECT sum(elapsed_s) FROM a) AS elapsed_s,
  (SELECT CASE WHEN count(*) = count(gpus * elapsed_s) THEN round(sum(gpus * elapsed_s) / 3600, 3) END FROM a)
    AS gpu_hours_held,
  round(last.gpus * last.elapsed_s / 3600, 3) AS gpu_hours_last,
  saved.checkpoints, saved.ts AS last_checkpoint_ts,
  CASE WHEN saved.ts BETWEEN last.start_ts AND last.end_ts
    THEN round(last.gpus * date_diff('second', saved.ts, last.end_ts) / 3600, 3) END AS gpu_hours_after_checkpoint,
  progress.steps
FROM last, saved, progress

-- job_cost: GPU time that the job held, and how much of it came after the last checkpoint of its last attempt.
-- TABLES: slurm_job, log_event, train_step
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL
-- NEEDS: slurm_job
-- EMPTY: BIGINT, BIGINT, DOUBLE, DOUBLE, DOUBLE, BIGINT, TIMESTAMP, DOUBLE, DOUBLE, TIMESTAMP, DOUBLE, TIMESTAMP, DOUBLE, BIGINT
-- COLUMN attempts: attempts counted
-- COLUMN gpus: GPUs of the last attempt
-- COLUMN elapsed_s [s]: time running, all attempts
-- COLUMN gpu_hours_held [h]: GPUs times time running, all attempts counted
-- COLUMN gpu_hours_last [h]: the same, last attempt
-- COLUMN checkpoints: checkpoints of the last attempt: its log says they were saved, or begun and followed by further steps or a later one
-- COLUMN last_checkpoint_ts: the last of them
-- COLUMN gpu_hours_after_checkpoint [h]: GPU hours of the last attempt after that checkpoint
-- COLUMN gpu_hours_after_steps [h]: the same by the share of reported steps, where nothing printed a time
-- COLUMN last_progress_ts: when the last attempt last reported a step
-- COLUMN gpu_hours_after_progress [h]: GPU hours of the last attempt after that
-- COLUMN bad_ts: first report of the unbroken run to the end whose loss is not finite
-- COLUMN gpu_hours_after_bad [h]: GPU hours of the last attempt after that
-- COLUMN steps: steps that the last attempt reported
-- CAVEAT: NULL where accounting or a time is not there. A checkpoint without a time or a step has that of the report before it; one that nothing printed is not known. A save in the background, or one of a program that also prints when a save is done, counts by that word alone.
WITH a AS (
  SELECT DISTINCT ON (coalesce(attempt, 1)) coalesce(attempt, 1) AS n, gpus, elapsed_s, start_ts,
    coalesce(end_ts, start_ts + to_seconds(elapsed_s), ts) AS end_ts
  FROM slurm_job
  WHERE job_id = $job_id AND start_ts IS NOT NULL AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
  ORDER BY coalesce(attempt, 1), ts DESC NULLS LAST, origin
),
last AS (SELECT * FROM a ORDER BY n DESC LIMIT 1),
t AS (
  SELECT t.step, t.loss, t.file, t.line_no, CASE WHEN t.ts_kind = 'embedded' THEN t.ts END AS ts
  FROM train_step t, last WHERE t.job_id = $job_id AND (t.attempt IS NULL OR t.attempt = last.n)
),
e AS (
  SELECT e.* FROM log_event e, last
  WHERE e.job_id = $job_id AND e.kind = 'checkpoint' AND e.name IN ('saved', 'saving', 'failed')
    AND (e.attempt IS NULL OR e.attempt = last.n)
),
c AS (
  SELECT e.step, e.file, e.line_no, CASE WHEN e.ts_kind = 'embedded' THEN e.ts END AS own_ts
  FROM e
  WHERE e.name = 'saved' OR (
    e.name = 'saving' AND e.message NOT ILIKE '%async%'
    AND NOT EXISTS (SELECT 1 FROM e s WHERE s.name = 'saved' AND s.framework IS NOT DISTINCT FROM e.framework)
    AND NOT EXISTS (
      SELECT 1 FROM e f WHERE f.name = 'failed' AND f.file = e.file AND f.line_no > e.line_no
        AND NOT EXISTS (
          SELECT 1 FROM e n WHERE n.name = 'saving' AND n.file = e.file AND n.line_no > e.line_no AND n.line_no < f.line_no AND n.step > e.step
        )
    )
    -- what was begun is done where the run went on: to further steps, or to a later save
    AND (
      EXISTS (SELECT 1 FROM t WHERE t.file = e.file AND t.line_no > e.line_no AND (e.step IS NULL OR t.step > e.step))
      OR EXISTS (SELECT 1 FROM e n WHERE n.name = 'saving' AND n.file = e.file AND n.line_no > e.line_no AND n.step > e.step)
    )
  )
),
k AS (
  SELECT coalesce(c.step, (SELECT max(t.step) FROM t WHERE t.file = c.file AND t.line_no <= c.line_no)) AS step,
    coalesce(own_ts, (SELECT max(t.ts) FROM t WHERE t.file = c.file AND t.line_no <= c.line_no)) AS ts
  FROM c
),
saved AS (SELECT count(*) AS checkpoints, max(ts) AS ts, max(step) AS step FROM k),
progress AS (
  SELECT count(DISTINCT step) AS steps, max(step) AS last_step, min(step) AS first_step, max(ts) AS ts,
    min(ts) FILTER (WHERE line_no > coalesce((SELECT max(line_no) FROM t WHERE isfinite(loss)), 0) AND NOT isfinite(loss))
      AS bad_ts
  FROM t
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
  CASE WHEN saved.ts IS NULL AND progress.ts IS NULL AND saved.step BETWEEN progress.first_step AND progress.last_step
    THEN round(last.gpus * last.elapsed_s / 3600 * (progress.last_step - saved.step) / nullif(progress.last_step, 0), 3) END
    AS gpu_hours_after_steps,
  progress.ts AS last_progress_ts,
  CASE WHEN progress.ts BETWEEN last.start_ts AND last.end_ts
    THEN round(last.gpus * date_diff('second', progress.ts, last.end_ts) / 3600, 3) END AS gpu_hours_after_progress,
  progress.bad_ts,
  CASE WHEN progress.bad_ts BETWEEN last.start_ts AND last.end_ts
    THEN round(last.gpus * date_diff('second', progress.bad_ts, last.end_ts) / 3600, 3) END AS gpu_hours_after_bad,
  progress.steps
FROM last, saved, progress

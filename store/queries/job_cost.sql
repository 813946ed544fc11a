-- job_cost: GPU time that the job held, and how much of it came after the last checkpoint of its last attempt.
-- TABLES: slurm_job, log_event, log_line, train_step
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL
-- PRUNE: job_id
-- NEEDS: slurm_job
-- EMPTY: BIGINT, BIGINT, DOUBLE, DOUBLE, DOUBLE, BIGINT, TIMESTAMP, DOUBLE, DOUBLE, TIMESTAMP, DOUBLE, TIMESTAMP, DOUBLE, BIGINT, VARCHAR, BOOLEAN
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
-- COLUMN last_state: state of the last attempt
-- COLUMN logged: whether any log of the job is there
-- CAVEAT: NULL where accounting or a time is not there. A checkpoint without a time or a step has that of the report before it; one that nothing printed is not known. A save in the background, or one of a program that also prints when a save is done, counts by that word alone.
WITH a AS (
  SELECT DISTINCT ON (coalesce(attempt, 1)) coalesce(attempt, 1) AS n, gpus, elapsed_s, start_ts, state,
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
  SELECT e.name, e.file, e.line_no, e.step, e.ts, e.ts_kind, e.framework, e.message FROM log_event e, last
  WHERE e.job_id = $job_id AND e.kind = 'checkpoint' AND e.name IN ('saved', 'saving', 'failed')
    AND (e.attempt IS NULL OR e.attempt = last.n)
),
begun AS (FROM e WHERE name = 'saving'),
-- that a save failed is said of every one begun before it, unless a later one was begun in between
dropped AS (
  SELECT b.file, b.line_no FROM begun b JOIN e f ON f.name = 'failed' AND f.file = b.file AND f.line_no > b.line_no
  ANTI JOIN begun n ON n.file = b.file AND n.line_no > b.line_no AND n.line_no < f.line_no AND n.step > b.step
),
-- what was begun is done where the run went on: to further steps, or to a later save
onward AS (SELECT file, line_no, step, true AS trained FROM t UNION ALL SELECT file, line_no, step, false FROM begun),
c AS (
  SELECT step, file, line_no, CASE WHEN ts_kind = 'embedded' THEN ts END AS own_ts FROM e WHERE name = 'saved'
  UNION ALL
  SELECT b.step, b.file, b.line_no, CASE WHEN b.ts_kind = 'embedded' THEN b.ts END FROM begun b
  ANTI JOIN (FROM e WHERE name = 'saved') s ON s.framework IS NOT DISTINCT FROM b.framework
  ANTI JOIN dropped d ON d.file = b.file AND d.line_no = b.line_no
  SEMI JOIN onward o ON o.file = b.file AND o.line_no > b.line_no AND (o.step > b.step OR o.trained AND b.step IS NULL)
  WHERE b.message NOT ILIKE '%async%'
),
reached AS (
  SELECT file, line_no, max(step) OVER w AS step, max(ts) OVER w AS ts FROM t WHERE line_no IS NOT NULL
  WINDOW w AS (PARTITION BY file ORDER BY line_no)
),
k AS (
  SELECT coalesce(c.step, r.step) AS step, coalesce(c.own_ts, r.ts) AS ts
  FROM c ASOF LEFT JOIN reached r ON r.file = c.file AND r.line_no <= c.line_no
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
    THEN round(last.gpus * last.elapsed_s / 3600 * (progress.last_step::DOUBLE - saved.step) / nullif(progress.last_step, 0), 3) END
    AS gpu_hours_after_steps,
  progress.ts AS last_progress_ts,
  CASE WHEN progress.ts BETWEEN last.start_ts AND last.end_ts
    THEN round(last.gpus * date_diff('second', progress.ts, last.end_ts) / 3600, 3) END AS gpu_hours_after_progress,
  progress.bad_ts,
  CASE WHEN progress.bad_ts BETWEEN last.start_ts AND last.end_ts
    THEN round(last.gpus * date_diff('second', progress.bad_ts, last.end_ts) / 3600, 3) END AS gpu_hours_after_bad,
  progress.steps, last.state AS last_state, EXISTS (FROM log_line WHERE job_id = $job_id) AS logged
FROM last, saved, progress

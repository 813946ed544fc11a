-- data_waits: How much of its step time a loop says that it waited for data.
-- TABLES: train_step
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL
-- EMPTY: VARCHAR, BIGINT, DOUBLE, DOUBLE, DOUBLE, BIGINT, DOUBLE, BIGINT, VARCHAR
-- NEEDS: train_step.metrics ~ "data_time"
-- PRUNE: job_id
-- COLUMN framework: framework whose lines say so
-- COLUMN reports: training reports that give the time of a step and the wait within it, the first of each epoch left out where it may be of its beginning
-- COLUMN wait_s [s]: waiting in these reports together
-- COLUMN step_s [s]: step time in these reports together
-- COLUMN share [ratio]: the former over the latter
-- COLUMN mostly: reports that waited for more than half of their step
-- COLUMN longest_s [s]: longest wait
-- COLUMN longest_line: its line
-- COLUMN file: file
-- CAVEAT: A report may stand for one step or be the mean of a window. The first report of an epoch holds the start of the loader's workers.
WITH t AS (
  SELECT *, TRY_CAST(TRY_CAST(metrics AS JSON)->>'$.data_time' AS DOUBLE) AS wait,
    total_steps IS NULL AND step >= 100 AND step <= TRY_CAST(TRY_CAST(metrics AS JSON)->>'$.batches' AS BIGINT) AS amid,
    row_number() OVER (PARTITION BY file, rank, framework, epoch ORDER BY line_no, in_line NULLS FIRST, step) AS place
  FROM train_step
  WHERE split IS DISTINCT FROM 'eval' AND step_time_s > 0 AND metrics LIKE '%"data_time"%' AND job_id = $job_id
    AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
)
SELECT
  mode(framework) AS framework, count(*) AS reports, round(sum(wait), 3) AS wait_s, round(sum(step_time_s), 3) AS step_s,
  round(sum(wait) / sum(step_time_s), 3) AS share, count(*) FILTER (WHERE wait > 0.5 * step_time_s) AS mostly,
  max(wait) AS longest_s, arg_max(line_no, wait) AS longest_line, arg_max(file, wait) AS file
FROM t WHERE (place > 1 OR amid) AND wait >= 0 AND wait <= 1.05 * step_time_s
HAVING count(*) > 0

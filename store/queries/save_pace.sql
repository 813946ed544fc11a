-- save_pace: How often the run saved checkpoints against how many steps it made, and what a step cost with and without one.
-- TABLES: train_step, log_event
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL
-- NEEDS: train_step
-- EMPTY: BIGINT, BIGINT, BIGINT, DOUBLE, DOUBLE, DOUBLE, DOUBLE, DOUBLE, DOUBLE, DOUBLE, BIGINT, BIGINT, VARCHAR, DOUBLE, DOUBLE, DOUBLE, BIGINT
-- PRUNE: job_id
-- COLUMN saves: checkpoints that were announced
-- COLUMN steps: steps from the first to the last report; NULL where no step is named, or the steps begin anew
-- COLUMN reports: progress lines
-- COLUMN saves_per_step: saves over steps, over reports where steps is NULL
-- COLUMN step_save_s [s]: median step time where a save was announced before the report
-- COLUMN step_plain_s [s]: median step time elsewhere, but for the first report
-- COLUMN times_plain: the one over the other
-- COLUMN early_s [s]: median step time in the first third of the reports
-- COLUMN late_s [s]: median step time in the last third
-- COLUMN times_early: the last third's over the first third's, for as many samples: a batch that grows by plan makes a step longer
-- COLUMN first_line: line of the first save
-- COLUMN last_line: line of the last save
-- COLUMN file: its file
-- COLUMN saving_min [min]: time between reports with a save between them, beyond what lies between others; NULL without times of day
-- COLUMN reported_min [min]: time from the first report to the last
-- COLUMN saving_share [ratio]: the one over the other
-- COLUMN evals: reports of an evaluation
-- CAVEAT: Step times are those that the program prints, else the times between reports.
WITH t AS (
  SELECT file, line_no, step, lag(line_no) OVER w AS before_line, step < lag(step) OVER w AS anew,
    coalesce(step_time_s, CASE WHEN ts_kind = 'embedded' THEN epoch(ts - lag(ts) OVER w) / nullif(step::DOUBLE - lag(step) OVER w, 0) END)
      AS pace_s,
    CASE WHEN ts_kind = 'embedded' THEN epoch(ts - lag(ts) OVER w) END AS gap_s,
    ntile(3) OVER w AS third, (fed - lag(fed) OVER w) / nullif(step::DOUBLE - lag(step) OVER w, 0) AS batch
  FROM (
    SELECT file, line_no, in_line, epoch, step, step_time_s, ts, ts_kind,
      TRY_CAST(nullif(regexp_extract(metrics, '"consumed[ _]samples": ([0-9.e+]+)', 1), '') AS DOUBLE) AS fed
    FROM train_step
    WHERE split IS DISTINCT FROM 'eval' AND coalesce(rank, 0) = 0 AND job_id = $job_id
      AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
  )
  WINDOW w AS (PARTITION BY file ORDER BY line_no, in_line NULLS FIRST, epoch)
),
c AS (
  -- Two words of one save, the one that it begins and the one that it is done, count once.
  SELECT DISTINCT ON (file, coalesce(step, -line_no)) file, line_no FROM (
    SELECT file, line_no, step, name = 'saving' AND coalesce(step, lead(step) OVER w) IS NULL AND lead(name) OVER w = 'saved' AS begun
    FROM log_event
    WHERE kind = 'checkpoint' AND name IN ('saved', 'saving') AND coalesce(rank, 0) = 0 AND job_id = $job_id
      AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
    WINDOW w AS (PARTITION BY file ORDER BY line_no)
  )
  WHERE NOT coalesce(begun, false)
  ORDER BY file, coalesce(step, -line_no), line_no
),
m AS (
  SELECT t.*, EXISTS (
    SELECT 1 FROM c WHERE c.file IS NOT DISTINCT FROM t.file AND c.line_no < t.line_no AND c.line_no > t.before_line
  ) AS saved
  FROM t
),
a AS (
  SELECT
    count(*) AS reports, CASE WHEN NOT coalesce(bool_or(anew), false) THEN TRY_CAST(max(step)::HUGEINT - min(step) + 1 AS BIGINT) END AS steps, median(pace_s) FILTER (WHERE saved) AS save_s,
    median(pace_s) FILTER (WHERE NOT saved AND before_line IS NOT NULL) AS plain_s, median(pace_s) FILTER (WHERE third = 1) AS early_s,
    median(pace_s) FILTER (WHERE third = 3) AS late_s,
    coalesce(greatest(median(batch) FILTER (WHERE third = 3) / nullif(median(batch) FILTER (WHERE third = 1), 0), 1), 1) AS grown, sum(gap_s) AS span_s, median(gap_s) FILTER (WHERE NOT saved) AS plain_gap_s,
    sum(gap_s) FILTER (WHERE saved) AS saved_s, count(gap_s) FILTER (WHERE saved) AS saved_gaps
  FROM m
)
SELECT
  (SELECT count(*) FROM c) AS saves, a.steps, a.reports,
  round((SELECT count(*) FROM c) / nullif(coalesce(a.steps, a.reports), 0)::DOUBLE, 2) AS saves_per_step,
  round(a.save_s, 3) AS step_save_s, round(a.plain_s, 3) AS step_plain_s,
  round(a.save_s / nullif(a.plain_s, 0), 1) AS times_plain, round(a.early_s, 3) AS early_s, round(a.late_s, 3) AS late_s,
  round(a.late_s / nullif(a.early_s, 0) / a.grown, 1) AS times_early, (SELECT min(line_no) FROM c) AS first_line,
  (SELECT max(line_no) FROM c) AS last_line, (SELECT min(file) FROM c) AS file,
  round((a.saved_s - a.saved_gaps * a.plain_gap_s) / 60, 1) AS saving_min, round(a.span_s / 60, 1) AS reported_min,
  round((a.saved_s - a.saved_gaps * a.plain_gap_s) / nullif(a.span_s, 0), 2) AS saving_share,
  (SELECT count(*) FROM train_step WHERE split = 'eval' AND job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)) AS evals
FROM a
WHERE a.reports > 0

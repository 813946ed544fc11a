-- quiet_end: How long before its end the job last reported progress, against how often it used to.
-- TABLES: slurm_job, train_step, log_line
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL
-- NEEDS: train_step.ts_kind = embedded, log_line.ts_kind = embedded
-- NEEDS: train_step.ts_kind = embedded, log_line.text ~ (?i)loss
-- EMPTY: TIMESTAMP, TIMESTAMP, DOUBLE, DOUBLE, DOUBLE, DOUBLE, DOUBLE, BIGINT, VARCHAR, TIMESTAMP, DOUBLE
-- PRUNE: job_id
-- COLUMN end_ts: end of the job
-- COLUMN progress_ts: last training report
-- COLUMN quiet_s [s]: from the last training report to the end
-- COLUMN quiet_min [min]: the same in minutes
-- COLUMN usual_gap_s [s]: median time between two training reports
-- COLUMN times_usual: the quiet time over the usual one
-- COLUMN quiet_share [ratio]: share of the run that was quiet at its end
-- COLUMN reports: training reports that carry a time
-- COLUMN progress_text: text of the last one, where the line was kept
-- COLUMN start_ts: start of the job
-- COLUMN run_min [min]: from start to end
-- CAVEAT: Only times that are printed in the lines themselves count; a buffered output looks quiet until it is flushed.
WITH j AS (
  SELECT start_ts, end_ts FROM slurm_job
  WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
  ORDER BY attempt DESC NULLS LAST, end_ts DESC NULLS FIRST LIMIT 1
),
s AS (
  SELECT ts, file, line_no FROM train_step
  WHERE ts_kind = 'embedded' AND job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
),
h AS (
  SELECT ts, file, line_no FROM log_line
  WHERE ts_kind = 'embedded' AND job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
    AND contains(lower(text), 'loss')
    AND regexp_matches(text, '(?i)\b(iter(ation)?|step|epoch|batch|update|it)s?\b[^a-z0-9]*\[?\s*[0-9]+')
),
a AS (SELECT * FROM s UNION ALL SELECT * FROM h WHERE NOT EXISTS (SELECT 1 FROM s)),
t AS (
  SELECT ts, file, line_no, epoch(ts - lag(ts) OVER (ORDER BY ts, line_no)) AS gap_s
  FROM (SELECT DISTINCT ON (ts) * FROM a ORDER BY ts, line_no)
),
p AS (
  SELECT max(ts) AS progress_ts, median(gap_s) FILTER (WHERE gap_s > 0) AS usual_gap_s, count(*) AS reports,
    arg_max(file, ts) AS file, arg_max(line_no, ts) AS line_no
  FROM t
),
x AS (
  SELECT left(min(l.text), 200) AS progress_text FROM log_line l JOIN p ON l.file = p.file AND l.line_no = p.line_no
  WHERE l.job_id = $job_id AND ($attempt IS NULL OR l.attempt IS NULL OR l.attempt = $attempt)
)
SELECT
  j.end_ts, p.progress_ts, epoch(j.end_ts - p.progress_ts) AS quiet_s,
  round(epoch(j.end_ts - p.progress_ts) / 60, 1) AS quiet_min, round(p.usual_gap_s, 1) AS usual_gap_s,
  round(epoch(j.end_ts - p.progress_ts) / nullif(p.usual_gap_s, 0), 1) AS times_usual,
  round(epoch(j.end_ts - p.progress_ts) / nullif(epoch(j.end_ts - j.start_ts), 0), 2) AS quiet_share, p.reports,
  x.progress_text, j.start_ts, round(epoch(j.end_ts - j.start_ts) / 60, 1) AS run_min
FROM p, x LEFT JOIN j ON true
WHERE p.reports > 0
  -- where the reports go on without times, nobody knows when the last one came
  AND NOT EXISTS (
    SELECT 1 FROM train_step u
    WHERE u.file = p.file AND u.line_no > p.line_no AND u.ts_kind IN ('carried', 'file') AND u.job_id = $job_id
      AND ($attempt IS NULL OR u.attempt IS NULL OR u.attempt = $attempt)
  )

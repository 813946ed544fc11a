-- quiet_end: How long before its end the job last reported progress, against how often it used to.
-- TABLES: slurm_job, train_step, log_line
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL
-- PRUNE: job_id
-- COLUMN end_ts: end of the job
-- COLUMN progress_ts: last training report
-- COLUMN quiet_s [s]: from the last training report to the end
-- COLUMN quiet_min [min]: the same in minutes
-- COLUMN usual_gap_s [s]: median time between two training reports
-- COLUMN times_usual [ratio]: the quiet time over the usual one
-- COLUMN line_ts: last line of any kind that carries its own time
-- COLUMN silent_min [min]: from that line to the end
-- COLUMN start_ts: start of the job
-- COLUMN run_min [min]: from start to end
-- CAVEAT: Only times that are printed in the lines themselves count; a buffered output looks quiet until it is flushed.
WITH j AS (
  SELECT start_ts, end_ts FROM slurm_job
  WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
  ORDER BY attempt DESC NULLS LAST, end_ts DESC NULLS FIRST LIMIT 1
),
t AS (
  SELECT ts, ts - lag(ts) OVER (ORDER BY ts, line_no) AS gap
  FROM (
    SELECT DISTINCT ON (ts) ts, line_no FROM train_step
    WHERE ts_kind = 'embedded' AND job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
    ORDER BY ts, line_no
  )
),
p AS (SELECT max(ts) AS progress_ts, median(epoch(gap)) FILTER (WHERE epoch(gap) > 0) AS usual_gap_s FROM t),
l AS (
  SELECT max(ts) AS line_ts FROM log_line
  WHERE ts_kind = 'embedded' AND job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
)
SELECT
  j.end_ts, p.progress_ts, epoch(j.end_ts - p.progress_ts) AS quiet_s,
  round(epoch(j.end_ts - p.progress_ts) / 60, 1) AS quiet_min, round(p.usual_gap_s, 1) AS usual_gap_s,
  round(epoch(j.end_ts - p.progress_ts) / nullif(p.usual_gap_s, 0), 1) AS times_usual, l.line_ts,
  round(epoch(j.end_ts - l.line_ts) / 60, 1) AS silent_min, j.start_ts,
  round(epoch(j.end_ts - j.start_ts) / 60, 1) AS run_min
FROM p, l LEFT JOIN j ON true

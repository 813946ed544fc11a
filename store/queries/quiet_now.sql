-- quiet_now: How long a running job has reported no progress, against the pauses that it made before.
-- TABLES: train_step
-- PARAMS: job_id VARCHAR, now_ts TIMESTAMP, attempt BIGINT = NULL
-- NEEDS: train_step
-- EMPTY: TIMESTAMP, DOUBLE, DOUBLE, DOUBLE, DOUBLE, BIGINT
-- PRUNE: job_id
-- COLUMN progress_ts: last training report
-- COLUMN quiet_s [s]: from the last training report to now
-- COLUMN quiet_min [min]: the same in minutes
-- COLUMN usual_gap_s [s]: median time between two training reports
-- COLUMN longest_gap_s [s]: longest time between two training reports
-- COLUMN reports: training reports that carry a time
-- CAVEAT: Only times that are printed in the lines themselves count; a buffered output looks quiet until it is flushed.
WITH t AS (
  SELECT ts, epoch(ts - lag(ts) OVER (ORDER BY ts)) AS gap_s
  FROM (
    SELECT DISTINCT ts FROM train_step
    WHERE ts_kind = 'embedded' AND job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
  )
)
SELECT
  max(ts) AS progress_ts, epoch($now_ts::TIMESTAMP - max(ts)) AS quiet_s,
  round(epoch($now_ts::TIMESTAMP - max(ts)) / 60, 1) AS quiet_min,
  round(median(gap_s) FILTER (WHERE gap_s > 0), 1) AS usual_gap_s, round(max(gap_s), 1) AS longest_gap_s, count(*) AS reports
FROM t
HAVING count(*) > 0

-- save_spans: How long the saves of a run took by the log's own times: from the word that one begins to the word that it is done.
-- TABLES: log_event, train_step
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL
-- NEEDS: log_event.kind = checkpoint
-- EMPTY: BIGINT, DOUBLE, DOUBLE, DOUBLE, DOUBLE
-- PRUNE: job_id
-- COLUMN timed: saves whose beginning and end both have a time of day
-- COLUMN usual_s [s]: the median one
-- COLUMN in_saves_min [min]: all of them together
-- COLUMN span_min [min]: from the first report of progress to the last
-- COLUMN share [ratio]: the one over the other
-- CAVEAT: A save in the background is told alike; that training reports nothing between the two words is what tells them apart, so only such saves are counted.
WITH e AS (
  SELECT file, line_no, name, ts, lead(name) OVER w AS then_name, lead(ts) OVER w AS then_ts, lead(line_no) OVER w AS then_line
  FROM log_event
  WHERE kind = 'checkpoint' AND name IN ('saved', 'saving') AND ts_kind = 'embedded' AND coalesce(rank, 0) = 0 AND job_id = $job_id
    AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
  WINDOW w AS (PARTITION BY file ORDER BY line_no)
),
t AS (
  SELECT file, line_no, ts FROM train_step
  WHERE split IS DISTINCT FROM 'eval' AND ts_kind = 'embedded' AND coalesce(rank, 0) = 0 AND job_id = $job_id
    AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
),
s AS (
  SELECT epoch(then_ts - ts) AS took_s FROM e
  WHERE name = 'saving' AND then_name = 'saved' AND then_ts >= ts AND NOT EXISTS (
    SELECT 1 FROM t WHERE t.file IS NOT DISTINCT FROM e.file AND t.line_no > e.line_no AND t.line_no < e.then_line
  )
)
SELECT
  count(*) AS timed, round(median(took_s), 1) AS usual_s, round(sum(took_s) / 60, 1) AS in_saves_min,
  round((SELECT epoch(max(ts) - min(ts)) FROM t) / 60, 1) AS span_min,
  round(sum(took_s) / nullif((SELECT epoch(max(ts) - min(ts)) FROM t), 0), 2) AS share
FROM s

HAVING count(*) > 0
-- save_spans: How long the saves of a run took: from the word that one begins to the word that it is done, or by the program's own timer.
-- TABLES: log_event, train_step
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL
-- NEEDS: log_event.kind = checkpoint
-- EMPTY: BIGINT, DOUBLE, DOUBLE, DOUBLE, DOUBLE, BOOLEAN
-- PRUNE: job_id
-- COLUMN timed: saves between two reports of progress whose length is told
-- COLUMN usual_s [s]: the median one
-- COLUMN in_saves_min [min]: all of them together
-- COLUMN span_min [min]: from the first report of progress to the last
-- COLUMN share [ratio]: the one over the other
-- COLUMN own_timer: whether the program itself says how long they took; else it is the time of day of their two lines
-- CAVEAT: A save in the background is told alike; that training reports nothing meanwhile is what tells them apart, so only such saves are counted. Where reports have no time of day, span_min is their steps at the pace that they state, and the saves.
WITH c AS (
  SELECT file, line_no, name, ts, ts_kind, elapsed_ms / 1000 AS took_s,
    CASE WHEN lag(name) OVER (PARTITION BY file ORDER BY line_no) = 'saving' THEN lag(line_no) OVER (PARTITION BY file ORDER BY line_no) END AS begun_line
  FROM log_event
  WHERE kind = 'checkpoint' AND name IN ('saved', 'saving', 'took') AND coalesce(rank, 0) = 0 AND job_id = $job_id
    AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
),
t AS (
  SELECT file, line_no, CASE WHEN ts_kind = 'embedded' THEN ts END AS ts, step_time_s,
    greatest(step::DOUBLE - lag(step) OVER w, 0) AS steps
  FROM train_step
  WHERE split IS DISTINCT FROM 'eval' AND coalesce(rank, 0) = 0 AND job_id = $job_id
    AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
  WINDOW w AS (PARTITION BY file ORDER BY line_no, in_line NULLS FIRST, epoch)
),
e AS (
  SELECT file, line_no, name, ts, lead(name) OVER w AS then_name, lead(ts) OVER w AS then_ts, lead(line_no) OVER w AS then_line
  FROM c WHERE name <> 'took' AND ts_kind = 'embedded'
  WINDOW w AS (PARTITION BY file ORDER BY line_no)
),
said AS (
  SELECT epoch(then_ts - ts) AS took_s FROM e
  WHERE name = 'saving' AND then_name = 'saved' AND then_ts >= ts AND NOT EXISTS (
    SELECT 1 FROM t WHERE t.file IS NOT DISTINCT FROM e.file AND t.line_no > e.line_no AND t.line_no < e.then_line
  )
),
-- The reports that a save stands between; of two timers of one save the longer holds the other.
own AS (
  SELECT max(c.took_s) AS took_s
  FROM c
  ASOF JOIN t AS before ON coalesce(c.file, '') = coalesce(before.file, '') AND c.line_no > before.line_no
  ASOF JOIN t AS after ON coalesce(c.file, '') = coalesce(after.file, '') AND c.line_no < after.line_no
  WHERE c.took_s > 0 AND NOT coalesce(before.line_no > c.begun_line, false)
  GROUP BY after.file, after.line_no
  HAVING coalesce(max(c.took_s) <= 1.1 * any_value(epoch(after.ts - before.ts)), true)
),
timed AS (
  SELECT took_s, true AS own_timer FROM own
  UNION ALL
  SELECT took_s, false FROM said WHERE NOT EXISTS (SELECT 1 FROM own)
),
span AS (
  SELECT coalesce(
    nullif(epoch(max(ts) - min(ts)), 0), sum(steps * step_time_s) + (SELECT sum(took_s) FROM own)
  ) AS span_s
  FROM t
)
SELECT
  count(*) AS timed, round(median(took_s), 1) AS usual_s, round(sum(took_s) / 60, 1) AS in_saves_min,
  round(any_value(span_s) / 60, 1) AS span_min, round(sum(took_s) / nullif(any_value(span_s), 0), 2) AS share, bool_or(own_timer) AS own_timer
FROM timed, span
HAVING count(*) > 0

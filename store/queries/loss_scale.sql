-- loss_scale: How far mixed precision lowered its loss scale because gradients overflowed.
-- TABLES: log_event
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL
-- NEEDS: log_event.kind = non_finite
-- EMPTY: BIGINT, DOUBLE, DOUBLE, BIGINT, VARCHAR, BIGINT, BIGINT
-- PRUNE: job_id
-- COLUMN overflows: steps that were skipped because of an overflow and named the new scale
-- COLUMN first_scale: scale after the first of them
-- COLUMN lowest_scale: lowest scale
-- COLUMN lowest_line: its line
-- COLUMN lowest_text: the line that names it
-- COLUMN last_line: line of the last of them
-- COLUMN floored: overflows at which the scale stood at its lowest already
-- CAVEAT: A scale that falls at the start and then stays is how mixed precision finds its scale. Far below one no scale helps any more.
WITH e AS (
  SELECT *, TRY_CAST(TRY_CAST(detail AS JSON)->>'$.scale' AS DOUBLE) AS scale,
    TRY_CAST(TRY_CAST(detail AS JSON)->>'$.floor' AS BOOLEAN) AS floor
  FROM log_event
  WHERE kind = 'non_finite' AND name IN ('overflow', 'scale_floor') AND job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
)
SELECT
  -- the optimizer and its logger both tell of one overflow
  greatest(count(*) FILTER (WHERE name = 'overflow'), count(*) FILTER (WHERE name = 'scale_floor')) AS overflows, first(scale ORDER BY file, line_no) AS first_scale, min(scale) AS lowest_scale,
  arg_min(line_no, scale) AS lowest_line, left(arg_min(message, scale), 300) AS lowest_text, max(line_no) AS last_line,
  greatest(count(*) FILTER (WHERE floor), count(*) FILTER (WHERE name = 'scale_floor')) AS floored
FROM e
WHERE scale IS NOT NULL
HAVING count(*) > 0

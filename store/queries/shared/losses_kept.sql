-- losses_kept: The training losses of one rank and one kind, in their order, each once, `kept` those of the last stretch of the log that is long enough.
-- ONCE: train_step
use_split AS (
  SELECT count(*) FILTER (WHERE split IS DISTINCT FROM 'eval' AND (loss IS NOT NULL OR grad_norm IS NOT NULL)) AS train_points
  FROM train_step WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
),
t AS (
  SELECT rank, loss_name, framework, objective, split, step, epoch, loss, grad_norm, learning_rate, file, line_no, in_line, ts, ts_kind, attempt,
    min(ts) OVER (PARTITION BY file) AS file_ts,
    coalesce(isnan(loss) OR isinf(loss), false)
      OR (coalesce(isnan(grad_norm) OR isinf(grad_norm), false) AND coalesce(loss, 0) = 0) AS bad
  FROM train_step, use_split
  WHERE (split IS DISTINCT FROM 'eval' OR train_points < 2) AND (loss IS NOT NULL OR grad_norm IS NOT NULL)
    AND NOT (coalesce(skipped, false) AND (loss IS NULL OR NOT isfinite(loss) OR loss = 0))
    AND job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
),
seat AS (
  SELECT rank, loss_name, framework FROM t
  GROUP BY rank, loss_name, framework
  -- of two that report as often (a bar on the screen beside a file of figures) the one that tells gradient and rate as well
  ORDER BY count(*) DESC, count(grad_norm) + count(learning_rate) DESC, rank NULLS FIRST, loss_name, framework LIMIT 1
),
one AS (
  SELECT t.* FROM t JOIN seat ON t.rank IS NOT DISTINCT FROM seat.rank
    AND t.loss_name IS NOT DISTINCT FROM seat.loss_name AND t.framework IS NOT DISTINCT FROM seat.framework
  QUALIFY t.step IS NULL
    OR row_number() OVER (PARTITION BY t.step, t.epoch, t.loss ORDER BY t.file_ts NULLS LAST, t.file, t.line_no, t.in_line NULLS FIRST, t.ts) = 1
),
back AS (
  SELECT *, row_number() OVER w AS place,
    CASE WHEN (step < lag(step) OVER w AND NOT coalesce(epoch > lag(epoch) OVER w, false))
      OR (step IS NULL AND epoch < lag(epoch) OVER w) THEN 1 ELSE 0 END AS back
  FROM one WINDOW w AS (ORDER BY attempt NULLS FIRST, file_ts NULLS LAST, file, line_no, in_line NULLS FIRST, epoch, ts, step)
),
part AS (SELECT *, sum(back) OVER (ORDER BY place) AS stretch FROM back),
use AS (
  SELECT coalesce(max(stretch) FILTER (WHERE points >= 8), -1) AS stretch
  FROM (SELECT stretch, count(*) AS points FROM part GROUP BY stretch)
),
losses_kept AS (
  SELECT loss_name, framework, objective, split, step, epoch, loss, grad_norm, learning_rate, file, line_no, ts, ts_kind, bad, place, part.stretch,
    use.stretch < 0 OR part.stretch = use.stretch AS kept
  FROM part, use
)

-- loss_curve: The training loss in at most 120 bins of neighbouring reports, one rank and one kind of loss counted.
-- TABLES: train_step
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL
-- WITH: losses_kept
-- PRUNE: job_id
-- COLUMN bin: number of the bin, from 1
-- COLUMN first_step: step of the bin's first report
-- COLUMN epoch: epoch of the bin's first report
-- COLUMN points: reports in it
-- COLUMN bad_points: reports whose loss is not finite, or zero or absent beside a gradient norm that is not finite
-- COLUMN loss: median of the finite losses
-- COLUMN highest: highest finite loss
-- COLUMN grad_norm: median of the finite gradient norms
-- COLUMN learning_rate: highest learning rate
-- COLUMN line_no: first line
-- CAVEAT: Evaluation losses are read only where no training loss was printed. Where the steps go back (a restart inside one log), only the last stretch that holds eight reports or more is read.
WITH binned AS (
  -- bins of one size: a change of size would look like a changed logging window
  SELECT *, 1 + (row_number() OVER (ORDER BY place) - 1) // ((count(*) OVER () + 119) // 120) AS bin FROM losses_kept WHERE kept
)
SELECT
  bin, arg_min(step, place) AS first_step, arg_min(epoch, place) AS epoch, count(*) AS points, count(*) FILTER (WHERE bad) AS bad_points,
  median(loss) FILTER (WHERE NOT bad) AS loss, max(loss) FILTER (WHERE NOT bad) AS highest,
  median(grad_norm) FILTER (WHERE isfinite(grad_norm)) AS grad_norm, max(learning_rate) AS learning_rate,
  min(line_no) AS line_no
FROM binned
GROUP BY bin
ORDER BY bin

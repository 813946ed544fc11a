-- loss_stretches: Where the steps of one log begin anew, each unbroken stretch with its first and last loss.
-- TABLES: train_step, log_event
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL
-- NEEDS: train_step
-- EMPTY: HUGEINT, BIGINT, BIGINT, BIGINT, DOUBLE, DOUBLE, BIGINT, BIGINT, VARCHAR, BIGINT, BIGINT, BIGINT, BIGINT
-- PRUNE: job_id
-- COLUMN stretch: number of the stretch, from 1
-- COLUMN reports: progress lines
-- COLUMN first_step: first step
-- COLUMN last_step: last step
-- COLUMN first_loss: first finite loss
-- COLUMN last_loss: last finite loss
-- COLUMN first_line: first line
-- COLUMN last_line: last line
-- COLUMN file: file
-- COLUMN loads: load or resume messages between the stretch before and this one
-- COLUMN stops: messages of Slurm about an end or a requeue between the stretch before and this one
-- COLUMN restarts: words of the launcher, between the two, that it starts its workers again
-- COLUMN saves: checkpoints saved within the stretch
-- CAVEAT: One file is read, the one with most reports; steps that go back without a new epoch count as a new beginning.
WITH t AS (
  SELECT rank, loss_name, file, line_no, in_line, step, epoch, loss FROM train_step
  WHERE split IS DISTINCT FROM 'eval' AND step IS NOT NULL AND file IS NOT NULL AND job_id = $job_id
    AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
),
seat AS (
  SELECT rank, loss_name, file FROM t
  GROUP BY rank, loss_name, file ORDER BY count(*) DESC, rank NULLS FIRST, loss_name, file LIMIT 1
),
one AS (
  SELECT t.*, row_number() OVER w AS place,
    CASE WHEN (step < lag(step) OVER w AND NOT coalesce(epoch > lag(epoch) OVER w, false))
      OR (step IS NULL AND epoch < lag(epoch) OVER w) THEN 1 ELSE 0 END AS back
  FROM t JOIN seat ON t.rank IS NOT DISTINCT FROM seat.rank AND t.loss_name IS NOT DISTINCT FROM seat.loss_name
    AND t.file = seat.file
  WINDOW w AS (ORDER BY t.line_no, t.in_line NULLS FIRST, t.epoch, t.step)
),
part AS (SELECT *, 1 + sum(back) OVER (ORDER BY place) AS stretch FROM one),
g AS (
  SELECT
    stretch, count(*) AS reports, min(step) AS first_step, max(step) AS last_step,
    arg_min(loss, place) FILTER (WHERE isfinite(loss)) AS first_loss,
    arg_max(loss, place) FILTER (WHERE isfinite(loss)) AS last_loss,
    min(line_no) AS first_line, max(line_no) AS last_line, max(file) AS file
  FROM part GROUP BY stretch
),
h AS (SELECT *, lag(last_line) OVER (ORDER BY stretch) AS prev_line FROM g),
m AS (
  SELECT h.stretch,
    count(*) FILTER (WHERE e.kind = 'checkpoint' AND e.name IN ('loaded', 'resumed') AND e.line_no BETWEEN h.prev_line AND h.first_line) AS loads,
    count(*) FILTER (WHERE e.kind = 'slurm' AND e.name IN ('requeued', 'preempted', 'cancelled', 'node_failure', 'time_limit')
      AND e.line_no BETWEEN h.prev_line AND h.first_line) AS stops,
    count(*) FILTER (WHERE e.kind = 'launcher_event' AND e.name = 'restart' AND e.line_no BETWEEN h.prev_line AND h.first_line) AS restarts,
    count(*) FILTER (WHERE e.kind = 'checkpoint' AND e.name = 'saved' AND e.line_no BETWEEN h.first_line AND h.last_line) AS saves
  FROM h JOIN log_event e ON e.file = h.file
  WHERE e.job_id = $job_id
  GROUP BY h.stretch
)
SELECT
  h.stretch, h.reports, h.first_step, h.last_step, h.first_loss, h.last_loss, h.first_line, h.last_line, h.file,
  coalesce(m.loads, 0) AS loads, coalesce(m.stops, 0) AS stops, coalesce(m.restarts, 0) AS restarts, coalesce(m.saves, 0) AS saves
FROM h LEFT JOIN m USING (stretch)
ORDER BY h.stretch

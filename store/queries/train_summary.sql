-- train_summary: How far training came by what the job printed: steps, loss first and last, planned steps.
-- TABLES: train_step, log_event
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL
-- NEEDS: train_step
-- EMPTY: VARCHAR, BIGINT, BIGINT, BIGINT, BIGINT, DOUBLE, DOUBLE, DOUBLE, DOUBLE, DOUBLE, DOUBLE, DOUBLE, DOUBLE, BIGINT, BIGINT, BIGINT, TIMESTAMP, TIMESTAMP, DOUBLE, DOUBLE, VARCHAR, VARCHAR, BIGINT, BIGINT, BIGINT, BIGINT, VARCHAR
-- PRUNE: job_id
-- COLUMN framework: framework whose progress lines these are
-- COLUMN reports: progress lines with training values, one rank counted
-- COLUMN first_step: first step reported
-- COLUMN last_step: last step reported
-- COLUMN total_steps: planned steps
-- COLUMN done [ratio]: last step over planned steps
-- COLUMN first_epoch: first epoch reported
-- COLUMN last_epoch: last epoch reported
-- COLUMN total_epochs: planned epochs
-- COLUMN first_loss: first loss that is finite
-- COLUMN last_loss: last loss that is finite
-- COLUMN min_loss: lowest loss that is finite
-- COLUMN max_loss: highest loss that is finite
-- COLUMN nan_losses: reports whose loss is NaN or infinite
-- COLUMN nan_grads: reports whose gradient norm is NaN or infinite
-- COLUMN skipped: steps reported as skipped
-- COLUMN first_ts: time of the first report
-- COLUMN last_ts: time of the last report
-- COLUMN span_min [min]: from the first to the last report, where both say their times
-- COLUMN step_time_s [s]: median time per step as printed
-- COLUMN objective: sft, pretrain, dpo, ... where it shows
-- COLUMN file: file of the last report
-- COLUMN first_line: line of the first report
-- COLUMN last_line: line of the last report
-- COLUMN broken_evals: evaluations at the end, one after another, whose loss is NaN or infinite
-- COLUMN untrained: reports of step zero that stand on one line with a validation loss: both were evaluated, and nothing trained
-- COLUMN or_later: names of the times that are an earlier line's: it came then or later
-- CAVEAT: Only frameworks whose progress lines are known are read; a custom loop leaves this empty.
WITH t AS (
  SELECT framework, objective, step, total_steps, epoch, total_epochs, loss, grad_norm, skipped, step_time_s, ts, ts_kind, file, line_no, in_line,
    dense_rank() OVER (ORDER BY rank NULLS FIRST) AS seat
  FROM train_step
  WHERE split IS DISTINCT FROM 'eval' AND job_id = $job_id
    AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
),
best AS (SELECT seat FROM t GROUP BY seat ORDER BY count(*) DESC, seat LIMIT 1),
o AS (SELECT t.* FROM t JOIN best USING (seat)),
scored AS (
  SELECT max(line_no) FILTER (WHERE NOT broken) OVER () AS fine_line, line_no, broken FROM (
    SELECT line_no, CASE WHEN split = 'eval' THEN NOT isfinite(loss) ELSE contains(metrics, '"val_loss": "') END AS broken
    FROM train_step
    WHERE (split = 'eval' AND loss IS NOT NULL OR step IS NULL AND contains(metrics, '"val_loss": ')) AND job_id = $job_id
      AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
  )
),
at_zero AS (
  SELECT count(DISTINCT (o.file, o.line_no)) AS untrained
  FROM o JOIN train_step e ON e.file IS NOT DISTINCT FROM o.file AND e.line_no = o.line_no
  WHERE o.step = 0 AND e.step = 0 AND e.split = 'eval' AND e.job_id = $job_id
    AND ($attempt IS NULL OR e.attempt IS NULL OR e.attempt = $attempt)
),
plan AS (
  SELECT max(total_steps) AS total_steps, max(total_epochs) AS total_epochs
  FROM log_event
  WHERE kind = 'train_plan' AND job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
),
a AS (
  SELECT
    -- several files may report at the same line: every tie is broken, or two machines would not agree on the digest
    mode(framework ORDER BY framework) AS framework, count(*) AS reports,
    first(step ORDER BY line_no, file, in_line NULLS FIRST, epoch, step) FILTER (WHERE step IS NOT NULL) AS first_step, max(step) AS last_step, max(o.total_steps) AS planned,
    min(epoch) AS first_epoch, max(epoch) AS last_epoch, max(o.total_epochs) AS planned_epochs,
    first(loss ORDER BY line_no, file, in_line NULLS FIRST, epoch, step, loss) FILTER (WHERE isfinite(loss)) AS first_loss,
    first(loss ORDER BY line_no DESC, file, in_line DESC NULLS LAST, epoch DESC, step DESC, loss) FILTER (WHERE isfinite(loss)) AS last_loss,
    min(loss) FILTER (WHERE isfinite(loss)) AS min_loss, max(loss) FILTER (WHERE isfinite(loss)) AS max_loss,
    count(*) FILTER (WHERE loss IS NOT NULL AND NOT isfinite(loss)) AS nan_losses,
    count(*) FILTER (WHERE grad_norm IS NOT NULL AND NOT isfinite(grad_norm)) AS nan_grads,
    count(*) FILTER (WHERE skipped) AS skipped, min(ts) FILTER (WHERE ts_kind IS DISTINCT FROM 'file') AS first_ts, max(ts) FILTER (WHERE ts_kind IS DISTINCT FROM 'file') AS last_ts,
    nullif(concat_ws(' ', CASE WHEN arg_min(coalesce(ts_kind, '') = 'carried', (ts, coalesce(ts_kind, '') = 'carried')) FILTER (WHERE ts IS NOT NULL AND ts_kind IS DISTINCT FROM 'file') THEN 'first_ts' END,
    CASE WHEN arg_max(coalesce(ts_kind, '') = 'carried', (ts, coalesce(ts_kind, '') = 'carried')) FILTER (WHERE ts IS NOT NULL AND ts_kind IS DISTINCT FROM 'file') THEN 'last_ts' END), '') AS or_later,
    median(step_time_s) AS step_time_s, mode(objective ORDER BY objective) AS objective,
    first(file ORDER BY line_no DESC, file) FILTER (WHERE file IS NOT NULL) AS file,
    min(line_no) AS first_line, max(line_no) AS last_line
  FROM o
)
SELECT
  a.framework, a.reports, a.first_step, a.last_step, coalesce(a.planned, plan.total_steps) AS total_steps,
  CASE WHEN coalesce(a.planned, plan.total_steps) > 0
       THEN round(a.last_step / coalesce(a.planned, plan.total_steps)::DOUBLE, 3) END AS done,
  a.first_epoch, a.last_epoch, coalesce(a.planned_epochs, plan.total_epochs) AS total_epochs, a.first_loss, a.last_loss,
  a.min_loss, a.max_loss, a.nan_losses, a.nan_grads, a.skipped, a.first_ts, a.last_ts,
  CASE WHEN a.or_later IS NULL THEN round(date_diff('second', a.first_ts, a.last_ts) / 60.0, 1) END AS span_min, round(a.step_time_s, 3) AS step_time_s,
  a.objective, a.file, a.first_line, a.last_line,
  (SELECT count(*) FROM scored WHERE broken AND line_no > coalesce(fine_line, 0)) AS broken_evals, at_zero.untrained, a.or_later
FROM a, plan, at_zero
WHERE a.reports > 0

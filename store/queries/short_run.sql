-- short_run: How many optimizer steps the run made in all, by every way in which a log tells it, and whether it completed.
-- TABLES: train_step, log_event, slurm_job
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL
-- PRUNE: job_id
-- COLUMN reports: progress lines of training, one rank counted
-- COLUMN last_step: highest step reported
-- COLUMN first_step: lowest step reported
-- COLUMN total_steps: planned steps
-- COLUMN runtime_s [s]: run time that the trainer states at the end
-- COLUMN rate [1/s]: steps per second that it states
-- COLUMN steps_by_rate: run time times rate, rounded; of several trainings the one of most steps
-- COLUMN samples: run time times the samples per second that it states, rounded: no run makes more steps than that
-- COLUMN epoch_steps: last epoch times the batches of one, where a line stands for each epoch
-- COLUMN epoch_at: step of the last report, where its total is that of an epoch and that epoch has several reports
-- COLUMN epoch_batches: that total
-- COLUMN end_step: step that the end message names
-- COLUMN ends: messages that say that training finished
-- COLUMN end_message: the last one
-- COLUMN end_line: its line
-- COLUMN last_epoch: last epoch reported
-- COLUMN resumed: messages that training goes on from a checkpoint
-- COLUMN state: how Slurm recorded the end
-- COLUMN exit_code: exit status
-- COLUMN elapsed_min [min]: time running
-- COLUMN gpu_hours [h]: GPU time held
-- CAVEAT: Where a log names no step, the steps are the stated run time times the stated rate.
WITH t AS (
  SELECT step, total_steps, epoch, metrics, file, line_no, in_line, TRY_CAST(TRY_CAST(metrics AS JSON)->>'$.batches' AS BIGINT) AS batches,
    dense_rank() OVER (ORDER BY rank NULLS FIRST) AS seat
  FROM train_step
  WHERE split IS DISTINCT FROM 'eval' AND job_id = $job_id
    AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
),
s AS (
  SELECT
    count(*) FILTER (WHERE seat = 1) AS reports, max(step) AS last_step, min(step) AS first_step,
    max(total_steps) AS total, max(epoch) AS last_epoch,
    max(greatest(epoch, 1) * batches) FILTER (WHERE step IS NULL)::BIGINT AS epoch_steps
  FROM t
),
o AS (
  SELECT step, batches FROM (
    SELECT step, batches, count(*) OVER (PARTITION BY file, epoch) AS of_epoch FROM t
    WHERE seat = 1 AND step IS NOT NULL AND total_steps IS NULL AND epoch IS NOT NULL AND batches > 0
    ORDER BY file DESC, line_no DESC, in_line DESC NULLS LAST, step DESC LIMIT 1
  ) WHERE of_epoch > 1
),
e AS (
  SELECT kind, name, message, framework, step, total_steps, line_no, elapsed_ms, TRY_CAST(detail AS JSON) AS d,
    coalesce(TRY_CAST(d->>'$.train_runtime' AS DOUBLE), elapsed_ms / 1000) AS own_s,
    TRY_CAST(d->>'$.train_steps_per_second' AS DOUBLE) AS own_rate, TRY_CAST(d->>'$.train_samples_per_second' AS DOUBLE) AS own_samples
  FROM log_event
  WHERE kind IN ('train_end', 'train_plan', 'checkpoint') AND job_id = $job_id
    AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
),
a AS (
  SELECT
    max(total_steps) FILTER (WHERE kind = 'train_plan') AS plan, count(*) FILTER (WHERE kind = 'train_end') AS ends,
    arg_max(left(message, 300), line_no) FILTER (WHERE kind = 'train_end') AS end_message,
    max(line_no) FILTER (WHERE kind = 'train_end') AS end_line,
    coalesce(max(step) FILTER (WHERE kind = 'train_end'),
      -- Lightning names the limit that was reached; after a fit by epochs the steps of another are not all there were.
      CASE WHEN count(*) FILTER (WHERE kind = 'train_end' AND framework = 'lightning' AND name <> 'max_steps') = 0
        THEN max(total_steps) FILTER (WHERE kind = 'train_end' AND name = 'max_steps') END) AS end_step,
    max(own_s) FILTER (WHERE kind = 'train_end') AS runtime_s,
    max(own_rate) FILTER (WHERE kind = 'train_end') AS rate,
    -- One script may train several times: the time of one and the rate of another are no number of steps.
    coalesce(max(own_rate * own_s) FILTER (WHERE kind = 'train_end'), rate * runtime_s) AS by_rate,
    coalesce(max(own_samples * own_s) FILTER (WHERE kind = 'train_end'), max(own_samples) FILTER (WHERE kind = 'train_end') * runtime_s) AS by_sample_rate,
    max(TRY_CAST(d->>'$.epoch' AS DOUBLE)) FILTER (WHERE kind = 'train_end') AS end_epoch,
    count(*) FILTER (WHERE kind = 'checkpoint' AND name IN ('loaded', 'resumed')) AS resumed
  FROM e
),
j AS (
  SELECT state, exit_code, round(elapsed_s / 60, 1) AS elapsed_min,
    CASE WHEN gpus > 0 THEN round(gpus * elapsed_s / 3600, 2) END AS gpu_hours
  FROM slurm_job WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
  ORDER BY attempt DESC NULLS LAST, end_ts DESC NULLS FIRST LIMIT 1
)
SELECT
  s.reports, s.last_step, s.first_step, coalesce(s.total, a.plan) AS total_steps, a.runtime_s, a.rate,
  round(a.by_rate)::BIGINT AS steps_by_rate,
  round(a.by_sample_rate)::BIGINT AS samples, s.epoch_steps,
  o.step AS epoch_at, o.batches AS epoch_batches, a.end_step, a.ends, a.end_message, a.end_line, coalesce(s.last_epoch, a.end_epoch) AS last_epoch, a.resumed, j.state,
  j.exit_code, j.elapsed_min, j.gpu_hours
FROM s CROSS JOIN a LEFT JOIN j ON true LEFT JOIN o ON true

-- wall: The time limit against what the run had done: when it last moved, and what it would have needed.
-- TABLES: slurm_job, train_step, log_event
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL
-- NEEDS: log_event.kind = slurm, slurm_job, train_step
-- EMPTY: VARCHAR, VARCHAR, DOUBLE, DOUBLE, DOUBLE, TIMESTAMP, TIMESTAMP, DOUBLE, DOUBLE, DOUBLE, DOUBLE, BIGINT, BIGINT, DOUBLE, DOUBLE, DOUBLE, DOUBLE, DOUBLE, VARCHAR, VARCHAR
-- PRUNE: job_id
-- COLUMN state: how Slurm recorded the end
-- COLUMN record: the state and who cancelled, as Slurm writes it
-- COLUMN limit_h [h]: wall-clock limit
-- COLUMN elapsed_h [h]: time running
-- COLUMN used [ratio]: time running over the limit
-- COLUMN end_ts: end
-- COLUMN last_progress_ts: last progress line
-- COLUMN quiet_min [min]: from the last progress to the end
-- COLUMN pace_s [s]: usual time between two progress lines
-- COLUMN longest_min [min]: longest pause between progress lines before that
-- COLUMN quiet_paces [ratio]: quiet_min in units of pace_s
-- COLUMN last_step: last step
-- COLUMN total_steps: planned steps
-- COLUMN done [ratio]: last step over planned steps
-- COLUMN needed_h [h]: time that all planned steps would take at this pace
-- COLUMN gpu_hours [h]: GPUs times the time running
-- COLUMN spoken_h [h]: what the reports themselves say that training had taken: by the clock of a bar or of the loop, or their step times summed
-- COLUMN unspoken_min [min]: time running that they do not account for: the start, evaluations, saves, and any standstill
-- COLUMN or_later: name of the time, where it is that of an earlier line: it came then or later
-- COLUMN or_less: names of what is counted from such a time: it is that or less
-- CAVEAT: needed_h takes start-up and evaluation at the share they had so far.
WITH j AS (
  SELECT state, cancelled_by, time_limit_s, elapsed_s, gpus, end_ts FROM slurm_job
  WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
  ORDER BY attempt DESC NULLS LAST, end_ts DESC NULLS FIRST LIMIT 1
),
jj AS (SELECT * FROM (SELECT 1 AS one) LEFT JOIN j ON true),
stop AS (
  SELECT max(coalesce(happened_ts, CASE WHEN ts_kind IS DISTINCT FROM 'file' THEN ts END)) AS stop_ts FROM log_event
  WHERE kind = 'slurm' AND name IN ('time_limit', 'deadline', 'cancelled', 'preempted', 'node_failure', 'requeued')
    AND job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
),
t AS (
  -- the date of a file says nothing of when its lines were printed
  SELECT CASE WHEN ts_kind IS DISTINCT FROM 'file' THEN ts END AS ts, ts_kind, step, total_steps, rank, step_time_s, file, line_no, in_line, epoch,
    metrics
  FROM train_step
  WHERE split IS DISTINCT FROM 'eval' AND job_id = $job_id
    AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
),
plan AS (
  SELECT max(total_steps) AS total FROM log_event
  WHERE kind = 'train_plan' AND job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
),
p AS (
  SELECT max(ts) AS last_progress_ts, max(step) AS last_step, min(step) AS first_step, max(total_steps) AS total, count(*) AS reports,
    coalesce(arg_max(coalesce(ts_kind, '') = 'carried', (ts, coalesce(ts_kind, '') = 'carried')) FILTER (WHERE ts IS NOT NULL), false) AS lent
  FROM t
),
g AS (
  SELECT median(gap) AS pace, max(gap) AS longest FROM (
    SELECT date_diff('millisecond', lag(ts) OVER (PARTITION BY rank ORDER BY ts), ts) / 1000.0 AS gap FROM t
  ) WHERE gap > 0
),
-- Of several processes that report the same steps one is counted.
r AS (
  SELECT *, lag(step) OVER w AS before, lag(epoch) OVER w AS before_epoch FROM t
  WHERE step_time_s > 0 AND (file, coalesce(rank, -1)) = (
    SELECT (file, coalesce(rank, -1)) FROM t WHERE step_time_s > 0 GROUP BY ALL ORDER BY count(*) DESC, min(line_no) LIMIT 1
  )
  WINDOW w AS (ORDER BY line_no, in_line NULLS FIRST)
),
said AS (
  SELECT greatest(
    (SELECT sum(step_time_s * CASE WHEN step > before OR epoch > before_epoch AND step IS NOT NULL THEN step::DOUBLE - CASE WHEN step > before THEN before ELSE 0 END
      WHEN step IS NULL AND (before_epoch IS NULL OR epoch > before_epoch) THEN TRY_CAST(TRY_CAST(metrics AS JSON)->>'batches' AS DOUBLE) END) FROM r),
    (SELECT max(TRY_CAST(TRY_CAST(metrics AS JSON)->>'elapsed_s' AS DOUBLE)) FROM t WHERE contains(metrics, '"elapsed_s"')),
    (SELECT max(TRY_CAST(TRY_CAST(detail AS JSON)->>'elapsed_s' AS DOUBLE)) FROM log_event
      WHERE kind = 'train_plan' AND name = 'progress_bar' AND job_id = $job_id
        AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt))
  ) AS spoken
),
v AS (
  SELECT jj.state, jj.cancelled_by, jj.time_limit_s, jj.elapsed_s, jj.gpus, coalesce(jj.end_ts, stop.stop_ts) AS end_ts, p.*, g.pace, g.longest, said.spoken,
    coalesce(p.total, plan.total) AS total_steps
  FROM jj, stop, p, g, plan, said
)
SELECT
  state, CASE WHEN cancelled_by IS NOT NULL THEN state || ' by ' || cancelled_by END AS record, round(time_limit_s / 3600, 2) AS limit_h, round(elapsed_s / 3600, 2) AS elapsed_h,
  CASE WHEN time_limit_s > 0 THEN round(elapsed_s / time_limit_s, 3) END AS used, end_ts, last_progress_ts,
  round(date_diff('second', last_progress_ts, end_ts) / 60.0, 1) AS quiet_min, round(pace, 1) AS pace_s,
  round(longest / 60.0, 1) AS longest_min,
  CASE WHEN pace > 0 THEN round(date_diff('second', last_progress_ts, end_ts) / pace, 1) END AS quiet_paces,
  last_step, total_steps, CASE WHEN total_steps > 0 THEN round(last_step / total_steps::DOUBLE, 3) END AS done,
  CASE WHEN last_step > 0 AND total_steps > 0 THEN round(elapsed_s / 3600 * total_steps / last_step, 1) END AS needed_h,
  CASE WHEN gpus > 0 THEN round(gpus * elapsed_s / 3600, 2) END AS gpu_hours,
  round(spoken / 3600, 2) AS spoken_h, round((elapsed_s - spoken) / 60, 1) AS unspoken_min,
  CASE WHEN lent THEN 'last_progress_ts' END AS or_later, CASE WHEN lent THEN 'quiet_min quiet_paces' END AS or_less
FROM v
WHERE state IS NOT NULL OR end_ts IS NOT NULL OR reports > 0

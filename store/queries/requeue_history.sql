-- requeue_history: How often the job was sent back to the queue up to this attempt, by what, and what became of it.
-- TABLES: slurm_job, slurm_job_event, log_event
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL
-- EMPTY: BIGINT, BIGINT, BIGINT, BIGINT, BIGINT, BIGINT, BIGINT, BIGINT, TIMESTAMP, VARCHAR, VARCHAR, BIGINT, BIGINT, VARCHAR, BIGINT, BIGINT, TIMESTAMP, BIGINT, VARCHAR, VARCHAR, TIMESTAMP, BIGINT, BIGINT, DOUBLE, DOUBLE, DOUBLE
-- NEEDS: slurm_job, slurm_job_event, log_event.kind = slurm | interrupt | checkpoint | banner
-- PRUNE: job_id
-- COLUMN attempts: attempts that accounting knows
-- COLUMN restarts: times requeued as Slurm counts
-- COLUMN preempted_attempts: attempts that ended in a preemption
-- COLUMN node_fail_attempts: attempts that ended in a node failure
-- COLUMN failed_attempts: attempts before the last that ended in failure, time-out or out of memory
-- COLUMN requeue_events: requeue events
-- COLUMN preempt_events: preemption events
-- COLUMN launch_failures: times that it waited because its launch had failed
-- COLUMN event_ts: first of these events
-- COLUMN event_actor: who did it, when known
-- COLUMN event_reason: reason given
-- COLUMN log_requeues: messages DUE TO JOB REQUEUE or of a requeue by the job itself
-- COLUMN log_preemptions: messages DUE TO PREEMPTION
-- COLUMN log_message: first of these messages
-- COLUMN log_line: its line
-- COLUMN warned: SIGUSR1, SIGUSR2 or SIGTERM received, as a handler says
-- COLUMN first_end_ts: end of the first attempt
-- COLUMN last_attempt: number of the last attempt
-- COLUMN last_state: state of the last attempt
-- COLUMN last_reason: Slurm's reason word for it
-- COLUMN last_start_ts: start of the last attempt
-- COLUMN last_exit: exit status of the last attempt
-- COLUMN last_signal: signal of the last attempt
-- COLUMN earlier_h [h]: time that the attempts before the last ran
-- COLUMN earlier_gpu_hours [h]: GPU time that they held
-- COLUMN waited_min [min]: from the end of the attempt before to the start of the last
-- CAVEAT: Accounting without duplicates (sacct without -D) shows only the last attempt of a requeued job.
-- Ids are given again: a run that came to its own end is no attempt of one that Slurm says was never restarted, or of one that was
-- submitted a day later, when no controller remembers the job that it could send back.
WITH k AS (
  SELECT attempt, restarts, state, state_flags, state_reason, submit_ts, start_ts, end_ts, exit_code, exit_signal, elapsed_s, gpus,
    row_number() OVER (ORDER BY attempt NULLS FIRST, start_ts NULLS LAST, end_ts NULLS LAST) AS place
  FROM slurm_job WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt <= $attempt)
),
b AS (
  SELECT place, attempt,
    regexp_matches(lag(upper(state)) OVER o, '^(COMPLETED|FAILED|TIMEOUT|CANCELLED|OUT_OF_MEMORY|DEADLINE)$')
      AND coalesce(lag(state_flags) OVER o, '') NOT ILIKE '%REQUEUE%'
      AND (restarts = 0 OR submit_ts > lag(end_ts) OVER o + INTERVAL 1 DAY) AS other
  FROM k WINDOW o AS (ORDER BY place)
),
f AS (SELECT coalesce(max(place) FILTER (WHERE other), 0) AS place, max(attempt) FILTER (WHERE other) AS attempt FROM b),
j AS (
  SELECT *, count(*) OVER () AS n
  FROM (
    SELECT k.* EXCLUDE (place), row_number() OVER (ORDER BY k.place) AS place FROM k, f WHERE k.place >= f.place
  )
),
a AS (
  SELECT
    count(*) AS attempts, max(restarts) AS restarts,
    count(*) FILTER (WHERE upper(state) = 'PREEMPTED' OR state_flags ILIKE '%PREEMPT%') AS preempted_attempts,
    count(*) FILTER (WHERE upper(state) = 'NODE_FAIL') AS node_fail_attempts,
    count(*) FILTER (WHERE place < n AND upper(state) IN ('FAILED', 'TIMEOUT', 'OUT_OF_MEMORY')) AS failed_attempts,
    arg_min(end_ts, place) AS first_end_ts, arg_max(coalesce(attempt, place), place) AS last_attempt,
    arg_max(state, place) AS last_state, arg_max(state_reason, place) AS last_reason, max(start_ts) FILTER (WHERE place = n) AS last_start_ts,
    arg_max(exit_code, place) AS last_exit, arg_max(exit_signal, place) AS last_signal,
    round(sum(elapsed_s) FILTER (WHERE place < n) / 3600, 2) AS earlier_h,
    round(sum(gpus * elapsed_s) FILTER (WHERE place < n) / 3600, 2) AS earlier_gpu_hours,
    round(date_diff('second', max(end_ts) FILTER (WHERE place = n - 1), max(start_ts) FILTER (WHERE place = n)) / 60.0, 1)
      AS waited_min
  FROM j
),
e AS (
  SELECT
    count(*) AS seen, count(*) FILTER (WHERE event = 'preempted') AS preempt_events,
    count(DISTINCT attempt) FILTER (WHERE event = 'blocked' AND regexp_matches(reason, '(?i)launch[ _]failed')) AS launch_failures,
    min(ts) FILTER (WHERE event IN ('requeued', 'preempted')) AS event_ts,
    arg_min(actor, ts) FILTER (WHERE event IN ('requeued', 'preempted')) AS event_actor,
    arg_min(reason, ts) FILTER (WHERE event IN ('requeued', 'preempted')) AS event_reason
  FROM slurm_job_event
  WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt <= $attempt)
    AND coalesce(attempt >= (SELECT attempt FROM f), true)
),
-- one requeue of an attempt can be told by several sources, each with its own idea of when, and by its state
t AS (
  SELECT attempt FROM slurm_job_event
  WHERE event = 'requeued' AND job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt <= $attempt)
    AND coalesce(attempt >= (SELECT attempt FROM f), true)
  UNION ALL
  SELECT coalesce(attempt, place) FROM j WHERE upper(state) = 'REQUEUED' OR state_flags ILIKE '%REQUEUE%'
),
r AS (SELECT greatest(count(DISTINCT attempt), count(*) FILTER (WHERE attempt IS NULL)) AS requeue_events FROM t),
w AS (
  SELECT kind, message, signal, file, line_no, (kind = 'slurm' AND name = 'requeued')
      OR (kind IN ('interrupt', 'checkpoint', 'banner', 'slurm') AND regexp_matches(coalesce(message, ''), '(?i)\brequeu(e|ing|ed)\b')) AS requeue,
    kind = 'slurm' AND name = 'preempted' AS preempt
  FROM log_event
  WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt <= $attempt)
    AND coalesce(attempt >= (SELECT attempt FROM f), true)
),
l AS (
  SELECT
    count(*) FILTER (WHERE kind IN ('slurm', 'interrupt', 'checkpoint', 'banner')) AS seen, count(*) FILTER (WHERE requeue) AS log_requeues, count(*) FILTER (WHERE preempt) AS log_preemptions,
    first(left(message, 300) ORDER BY preempt DESC, kind = 'slurm' DESC, file, line_no) FILTER (WHERE requeue OR preempt) AS log_message,
    first(line_no ORDER BY preempt DESC, kind = 'slurm' DESC, file, line_no) FILTER (WHERE requeue OR preempt) AS log_line,
    count(*) FILTER (WHERE kind = 'interrupt' AND signal IN (10, 12, 15)) AS warned
  FROM w
)
SELECT
  a.attempts, a.restarts, a.preempted_attempts, a.node_fail_attempts, a.failed_attempts,
  r.requeue_events, e.preempt_events, e.launch_failures, e.event_ts, e.event_actor, e.event_reason,
  l.log_requeues, l.log_preemptions, l.log_message, l.log_line, l.warned, a.first_end_ts, a.last_attempt, a.last_state,
  a.last_reason, a.last_start_ts, a.last_exit, a.last_signal, a.earlier_h, a.earlier_gpu_hours, a.waited_min
FROM a, e, r, l
WHERE a.attempts > 0 OR e.seen > 0 OR l.seen > 0

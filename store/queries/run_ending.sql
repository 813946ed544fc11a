-- run_ending: How the run came to its end by what it printed: progress, words of completion, errors, and who stopped it.
-- TABLES: log_event, train_step
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL
-- PRUNE: job_id
-- COLUMN reports: progress lines of training
-- COLUMN last_step: last step reported; the highest, unless the steps begin anew after the last of those planned
-- COLUMN total_steps: planned steps, of an epoch where a program counts those
-- COLUMN done [ratio]: last step over planned steps; whole where each was reported once, counted from zero
-- COLUMN epochs_done: planned epochs, where lines of whole epochs go up to the last of them and none begins anew
-- COLUMN progress_line: line of the last progress
-- COLUMN ends: messages that say that training finished or that a launcher's children ended well
-- COLUMN end_message: the last one
-- COLUMN end_line: its line
-- COLUMN end_name: its short name
-- COLUMN saves_after: checkpoints saved at or after the last progress
-- COLUMN errors: exceptions that ended something: no wrapper, no interrupt, no progress after them in their file
-- COLUMN error_name: type of the first one
-- COLUMN error_message: its text
-- COLUMN error_file: its file
-- COLUMN error_line: its line
-- COLUMN nan_errors: exceptions and errors that name a value which is not finite; overflows of the loss scale and NaN in the data are none
-- COLUMN nan_stops: those of them that end a run: exceptions, a stop because of it, a loss scale that cannot fall further
-- COLUMN nan_name: type or short name of the most telling one
-- COLUMN nan_message: its text
-- COLUMN nan_line: its line
-- COLUMN cuda_ooms: CUDA out-of-memory messages
-- COLUMN host_ooms: host out-of-memory messages
-- COLUMN collective_errors: time-outs and errors of collectives
-- COLUMN rendezvous_errors: errors while the process group formed
-- COLUMN storage_errors: messages about full, read-only or broken storage
-- COLUMN fatal_signals: processes that a signal other than SIGTERM, SIGINT, SIGHUP, SIGUSR1 or SIGUSR2 ended
-- COLUMN failed_children: children that a launcher lists as failed, those that were told to end left out
-- COLUMN aborts: ranks that called MPI_Abort
-- COLUMN failed_tasks: tasks that ended with an exit status other than zero
-- COLUMN time_limits: messages DUE TO TIME LIMIT
-- COLUMN preemptions: messages DUE TO PREEMPTION
-- COLUMN requeues: messages DUE TO JOB REQUEUE
-- COLUMN node_failures: messages DUE TO NODE FAILURE
-- COLUMN cancels: messages CANCELLED AT without such a reason
-- COLUMN stop_name: the most telling one of these messages
-- COLUMN stop_message: its text
-- COLUMN stop_system: who says it: slurm, lsf, pbs, sge, htcondor, flux; platform for pods and rented machines
-- COLUMN stop_host: node that it names
-- COLUMN stop_file: its file
-- COLUMN stop_line: its line
-- COLUMN error_first: true when the first error stands before that message, nothing where their order is unknown
-- COLUMN interrupt_first: true when the first interrupt stands before the first error, nothing where their order is unknown
-- COLUMN task_first: tasks that had ended with an exit status of their own before that message
-- COLUMN keyboard: KeyboardInterrupt and Ctrl-C messages
-- COLUMN hangups: SIGHUP messages (the terminal or session closed)
-- COLUMN terms: SIGTERM received, as handlers and launchers say it
-- COLUMN warned: SIGUSR1 or SIGUSR2 received: a warning before the end
-- COLUMN interrupt_message: first of those messages
-- COLUMN interrupt_line: its line
-- CAVEAT: Standard error and standard output are buffered apart, so lines of different files have no common order.
-- Planning takes longer than the rest here, and it grows with the columns that are handed on (those that are read, by name), with
-- subqueries that look at the row around them (joins do without) and with counted repeats in a pattern.
WITH t AS (
  SELECT file, rank, line_no, in_line, ts, step, total_steps, epoch, total_epochs, metrics FROM train_step
  WHERE split IS DISTINCT FROM 'eval' AND job_id = $job_id
    AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
),
said AS (
  SELECT file, line_no, line_end, kind, name, message, severity, framework, entry_frame, cause_name, cause_message, host,
    exit_code, signal, total_steps, coalesce(happened_ts, ts) AS at_ts,
    regexp_matches(concat_ws(' ', name, cause_name),
      'KeyboardInterrupt|SystemExit|GeneratorExit|CancelledError|SignalException|SignalInterruption')
      OR coalesce(kind = 'exception' AND regexp_matches(message, '^KeyboardInterrupt(: |:?\s*$)'), false) AS interrupt,
    regexp_matches(coalesce(name, ''), 'ChildFailedError|CalledProcessError|ProcessExitedException|ProcessRaisedException|UncompletedJobError')
      AS wrapper,
    regexp_matches(concat_ws(' ', name, message, cause_message),
      '(?i)found nan|\bnans? (in|or|loss|detected|encountered)|loss (is|was|became|=|:) ?(nan|inf)|(is|are|became|returned|contains?|got) (either )?(nan|inf\b|non-?finite)|non-?finite|not finite|invalid loss|(minimum|already at minimum)\C{0,30}loss scale|loss scale\C{0,30}(minimum|cannot decrease)|nan values? in|loss is nan|found invalid values:(?s:.)*\bnan\b|to satisfy the constraint (IndependentConstraint\()?Real\(\)|\bgrad_scale is too small\b')
      -- what a policy draws from: before any step it is a setting
      OR (coalesce(contains(message, 'normal expects all elements of std >= 0'), false) AND (SELECT count(*) FROM t) > 0)
      AS nanny,
    -- what a program is fed may hold NaN before anything is trained
    regexp_matches(coalesce(message, ''),
      '(?i)\b(inputs?|data(sets?|frames?)?|columns?|features?|labels?|targets?|rows?|X|y|sample_weight)\b\C{0,60}\b(contains?|has|have|holds?) \C{0,20}\b(nans?|inf)\b')
      AS fed,
    (kind = 'train_end' AND NOT (name = 'exited' AND regexp_matches(coalesce(message, ''), '(?i)signal|SIGTERM')))
      OR (kind = 'launcher_event' AND name IN ('child_finished', 'group_finished')) AS ended
  FROM log_event
  WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
),
full_at AS (
  SELECT file, rank, min(line_no) AS line FROM t WHERE total_steps > 0 AND step >= total_steps GROUP BY file, rank
),
-- Steps that begin anew after the last of them are those of an epoch, or of another run: where that stands is in the last report.
anew AS (
  SELECT last(t.step ORDER BY t.line_no, t.in_line NULLS FIRST, t.step) AS step
  FROM t JOIN full_at ON t.file IS NOT DISTINCT FROM full_at.file AND t.rank IS NOT DISTINCT FROM full_at.rank
  WHERE t.line_no > full_at.line AND t.step IS NOT NULL
  HAVING count(*) FILTER (WHERE 2.0 * t.step <= t.total_steps) > 0
),
p AS (
  SELECT
    count(*) AS reports, coalesce((SELECT step FROM anew), max(step)) AS last_step, max(total_steps) AS planned, max(line_no) AS progress_line,
    -- counted from zero, every one of them: the last is the plan less one
    min(step) = 0 AND max(step) = greatest(max(total_steps), 1) - 1 AND count(DISTINCT step) = max(total_steps)
      AND count(step) = max(total_steps) AS each_from_zero
  FROM t
),
ep AS (
  SELECT epoch, count(*) AS lines, max(total_epochs) AS total, max(line_no) AS line,
    max(in_line) AS in_line
  FROM t WHERE step IS NULL AND epoch IS NOT NULL AND total_epochs > 0
    AND NOT coalesce(TRY_CAST(TRY_CAST(metrics AS JSON)->>'$.batch' AS BIGINT) < TRY_CAST(TRY_CAST(metrics AS JSON)->>'$.batches' AS BIGINT), false)
  GROUP BY epoch
),
whole AS (
  -- a loop that prints every batch says the last epoch before it is over: it has fewer lines then than the one before it
  SELECT CASE WHEN max(epoch) >= max(total) AND first(epoch ORDER BY line DESC, in_line DESC NULLS LAST, epoch DESC) = max(epoch)
    AND arg_max(lines, epoch) >= coalesce((SELECT lines FROM ep ORDER BY epoch DESC LIMIT 1 OFFSET 1), 1) THEN max(total)
    END AS epochs_done
  FROM ep
),
last_in AS (SELECT file, max(line_no) AS line FROM t GROUP BY file),
-- What is said again after more progress is said of an epoch, a stage or a fold. Only the last one may be that of the run, and
-- a time that each of them took is none.
again AS (
  SELECT file, shape, line FROM (
    SELECT file, regexp_replace(coalesce(message, ''), '\d+', '#', 'g') AS shape, min(line_no) AS first, max(line_no) AS last
    FROM said WHERE ended GROUP BY 1, 2
  ) AS s
  JOIN last_in USING (file)
  SEMI JOIN t ON t.file = s.file AND t.line_no > s.first AND t.line_no < s.last
),
-- Nor is what is said once that of the run, where the count of another training begins below it: one model of several was done.
-- Where no progress stands above, times have to tell that what is below was not merely written later. Of very many the last are
-- looked at: each is held against every step.
next_of AS (
  SELECT s.file, s.line_no FROM (
    SELECT file, line_no, min(at_ts) AS at_ts FROM said WHERE ended AND kind = 'train_end' GROUP BY 1, 2
    ORDER BY line_no DESC LIMIT 64
  ) AS s
  JOIN t USING (file)
  GROUP BY s.file, s.line_no
  HAVING count(*) FILTER (WHERE t.line_no > s.line_no) > 1
    AND CASE WHEN min(t.line_no) < s.line_no
      THEN 2.0 * min(coalesce(t.epoch, t.step)) FILTER (WHERE t.line_no > s.line_no) <= max(coalesce(t.epoch, t.step)) FILTER (WHERE t.line_no < s.line_no)
      ELSE min(coalesce(t.epoch, t.step)) <= 1 AND max(t.ts) > any_value(s.at_ts) END
),
e AS (
  SELECT said.* REPLACE (
    said.ended AND next_of.line_no IS NULL
      AND NOT coalesce(again.line > said.line_no OR contains(lower(again.shape), 'training time'), false) AS ended
  )
  FROM said LEFT JOIN again
    ON said.ended AND again.file = said.file AND again.shape = regexp_replace(coalesce(said.message, ''), '\d+', '#', 'g')
  LEFT JOIN next_of ON next_of.file = said.file AND next_of.line_no = said.line_no
),
x AS (
  SELECT e.*, last_in.line AS progress_here FROM e LEFT JOIN last_in ON last_in.file IS NOT DISTINCT FROM e.file
),
stop AS (
  SELECT *, CASE name WHEN 'node_failure' THEN 1 WHEN 'preempted' THEN 2 WHEN 'requeued' THEN 3 WHEN 'time_limit' THEN 4
    WHEN 'deadline' THEN 5 ELSE 6 END AS weight
  FROM e
  WHERE kind = 'slurm' AND name IN ('node_failure', 'preempted', 'requeued', 'time_limit', 'deadline', 'cancelled')
),
err AS (
  SELECT x.* FROM x
  -- what a traceback without a last line would have said stands just before it, where a framework had logged why it stops
  ANTI JOIN (FROM e WHERE kind = 'non_finite' AND name IN ('stopped', 'scale_exhausted', 'overflow')) AS w
    ON x.name = 'Traceback' AND w.file IS NOT DISTINCT FROM x.file AND w.line_no BETWEEN x.line_no - 3 AND x.line_no
  -- a thread beside the main one that fails once the run has said that it ended waited on what was being taken down
  ANTI JOIN (FROM e WHERE ended) AS d
    ON regexp_matches(coalesce(x.entry_frame, ''), '\bthreading\.py:\d+ in _bootstrap')
      AND d.file IS NOT DISTINCT FROM x.file AND d.line_no < x.line_no
  WHERE x.kind = 'exception' AND x.severity IN ('fatal', 'error') AND NOT x.interrupt AND NOT x.wrapper AND NOT x.nanny
    AND (x.progress_here IS NULL OR coalesce(x.line_end, x.line_no) >= x.progress_here)
),
nan AS (
  SELECT *, kind = 'exception' OR name IN ('stopped', 'scale_exhausted', 'anomaly') AS stops FROM x
  WHERE (kind = 'exception' AND nanny AND NOT fed OR kind = 'non_finite' AND NOT (name = 'nan_found' AND fed)) AND severity IN ('fatal', 'error')
),
intr AS (
  SELECT * FROM e
  WHERE kind = 'interrupt' OR (kind = 'exception' AND interrupt)
    OR (kind = 'launcher_event' AND name IN ('death_signal', 'signal_exception', 'closing_signal'))
    OR (kind = 'slurm' AND name = 'interrupted' AND NOT regexp_matches(message, 'SIGCONT|forcing job'))
),
a AS (
  SELECT
    count(*) FILTER (WHERE ended) AS ends,
    arg_max(left(message, 300), line_no) FILTER (WHERE ended) AS end_message,
    max(line_no) FILTER (WHERE ended) AS end_line, arg_max(name, line_no) FILTER (WHERE ended) AS end_name, max(total_steps) FILTER (WHERE kind = 'train_plan') AS plan,
    count(*) FILTER (WHERE kind = 'cuda_oom') AS cuda_ooms, count(*) FILTER (WHERE kind = 'host_oom') AS host_ooms,
    count(*) FILTER (WHERE (kind = 'nccl_watchdog' OR kind = 'nccl_error') AND severity IN ('fatal', 'error'))
      AS collective_errors,
    count(*) FILTER (WHERE kind = 'rendezvous' AND severity IN ('fatal', 'error')) AS rendezvous_errors,
    count(*) FILTER (WHERE kind = 'storage' AND severity IN ('fatal', 'error')) AS storage_errors,
    count(*) FILTER (WHERE kind = 'signal' AND coalesce(signal, 0) NOT IN (0, 1, 2, 10, 12, 15)) AS fatal_signals,
    count(*) FILTER (WHERE (kind = 'launcher_summary' OR (kind = 'launcher_event' AND name = 'child_failed'))
      AND coalesce(signal, 0) NOT IN (1, 2, 15) AND coalesce(exit_code, 1) NOT IN (0, -1, -2, -15)) AS failed_children,
    count(*) FILTER (WHERE kind = 'launcher_event' AND name = 'abort_called') AS aborts,
    count(*) FILTER (WHERE kind = 'slurm' AND name = 'task_exit' AND exit_code > 0) AS failed_tasks,
    count(*) FILTER (WHERE kind = 'slurm' AND name = 'time_limit') AS time_limits,
    count(*) FILTER (WHERE kind = 'slurm' AND name = 'preempted') AS preemptions,
    count(*) FILTER (WHERE kind = 'slurm' AND name = 'requeued') AS requeues,
    count(*) FILTER (WHERE kind = 'slurm' AND name = 'node_failure') AS node_failures,
    count(*) FILTER (WHERE kind = 'slurm' AND name = 'cancelled') AS cancels
  FROM e
),
s AS (
  SELECT
    first(name ORDER BY weight, at_ts NULLS LAST, file, line_no) AS stop_name,
    first(left(message, 300) ORDER BY weight, at_ts NULLS LAST, file, line_no) AS stop_message,
    first(framework ORDER BY weight, at_ts NULLS LAST, file, line_no) AS stop_system,
    first(host ORDER BY weight, at_ts NULLS LAST, file, line_no) AS stop_host,
    first(file ORDER BY weight, at_ts NULLS LAST, file, line_no) AS stop_file,
    first(line_no ORDER BY weight, at_ts NULLS LAST, file, line_no) AS stop_line
  FROM stop
),
r AS (
  SELECT
    count(*) AS errors, first(name ORDER BY file, line_no) AS error_name,
    first(left(message, 300) ORDER BY file, line_no) AS error_message, first(file ORDER BY file, line_no) AS error_file,
    first(line_no ORDER BY file, line_no) AS error_line
  FROM err
),
n AS (
  SELECT
    count(*) AS nan_errors, count(*) FILTER (WHERE stops) AS nan_stops,
    first(name ORDER BY stops DESC, file, line_no) AS nan_name,
    first(left(message, 300) ORDER BY stops DESC, file, line_no) AS nan_message,
    first(line_no ORDER BY stops DESC, file, line_no) AS nan_line
  FROM nan
),
i AS (
  SELECT
    count(*) FILTER (WHERE name LIKE '%KeyboardInterrupt%' OR name = 'keyboard' OR signal = 2
      OR (kind = 'exception' AND starts_with(message, 'KeyboardInterrupt'))
      OR (name = 'interrupted' AND regexp_matches(message, 'interrupt \(one more|Ctrl-C|Cancelled pending'))) AS keyboard,
    count(*) FILTER (WHERE signal = 1) AS hangups, count(*) FILTER (WHERE signal = 15 AND name <> 'closing_signal') AS terms,
    count(*) FILTER (WHERE signal IN (10, 12)) AS warned,
    first(left(coalesce(nullif(message, ''), name), 300) ORDER BY file, line_no) AS interrupt_message,
    first(line_no ORDER BY file, line_no) AS interrupt_line,
    first(file ORDER BY file, line_no) AS interrupt_file
  FROM intr
),
tasks AS (
  SELECT count(*) AS task_first FROM e JOIN s ON e.file IS NOT DISTINCT FROM s.stop_file AND e.line_no < s.stop_line
  WHERE kind = 'slurm' AND name = 'task_exit' AND (exit_code BETWEEN 1 AND 127 OR exit_code >= 160)
),
sv AS (
  SELECT count(*) AS saves_after FROM x
  WHERE kind = 'checkpoint' AND name IN ('saving', 'saved') AND line_no >= progress_here
)
SELECT
  p.reports, p.last_step, coalesce(p.planned, a.plan) AS total_steps,
  CASE WHEN p.each_from_zero THEN 1.0 WHEN coalesce(p.planned, a.plan) > 0 THEN round(p.last_step / coalesce(p.planned, a.plan)::DOUBLE, 3) END AS done,
  whole.epochs_done, p.progress_line, a.ends, a.end_message, a.end_line,
  a.end_name, sv.saves_after, r.errors, r.error_name, r.error_message, r.error_file, r.error_line, n.nan_errors, n.nan_stops, n.nan_name,
  n.nan_message, n.nan_line, a.cuda_ooms, a.host_ooms, a.collective_errors, a.rendezvous_errors, a.storage_errors,
  a.fatal_signals, a.failed_children, a.aborts, a.failed_tasks, a.time_limits, a.preemptions, a.requeues, a.node_failures,
  a.cancels, s.stop_name, s.stop_message, s.stop_system, s.stop_host, s.stop_file, s.stop_line,
  CASE WHEN r.errors = 0 OR s.stop_line IS NULL THEN NULL WHEN r.error_file IS NOT DISTINCT FROM s.stop_file
       THEN r.error_line < s.stop_line END AS error_first,
  CASE WHEN r.errors = 0 OR i.interrupt_line IS NULL THEN NULL WHEN r.error_file IS NOT DISTINCT FROM i.interrupt_file
       THEN i.interrupt_line < r.error_line END AS interrupt_first,
  tasks.task_first,
  i.keyboard, i.hangups, i.terms, i.warned, i.interrupt_message, i.interrupt_line
FROM p, whole, a, s, r, n, i, sv, tasks

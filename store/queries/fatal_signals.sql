-- fatal_signals: Processes of the job that a signal ended, from launchers, srun, the shell, crash handlers and the process table.
-- TABLES: log_event, process, slurm_job, slurm_step
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL
-- NEEDS: log_event.kind = signal | launcher_summary | launcher_event | slurm, process.exit_signal ~ [1-9], slurm_job.exit_signal ~ [1-9], slurm_step.exit_signal ~ [1-9], slurm_job.exit_code ~ (?m)^(?:13[24567]|139|15[23])$, slurm_step.exit_code ~ (?m)^(?:13[24567]|139|15[23])$
-- EMPTY: VARCHAR, VARCHAR, BIGINT, VARCHAR, BIGINT, BIGINT, VARCHAR, VARCHAR, BIGINT, BIGINT, BIGINT, TIMESTAMP, VARCHAR, VARCHAR, VARCHAR, VARCHAR, BIGINT, VARCHAR, VARCHAR, VARCHAR
-- PRUNE: job_id
-- COLUMN source: launcher, slurm, shell, program, process or accounting
-- COLUMN name: short name of the message
-- COLUMN signal: signal's number
-- COLUMN signal_name: signal's name
-- COLUMN ranks: ranks that it names, where they are told apart
-- COLUMN rank: first rank that it names
-- COLUMN all_ranks: ranks that it names, at most sixteen
-- COLUMN host: host of the first one
-- COLUMN hosts: hosts that are named
-- COLUMN pid: process of the first one
-- COLUMN events: how many
-- COLUMN signal_ts: first time
-- COLUMN sender: who sent it, where that is known
-- COLUMN frame: frame that a crash handler names
-- COLUMN user_frame: innermost frame outside installed packages
-- COLUMN file: file of the first one
-- COLUMN line_no: line of the first one
-- COLUMN message: text of the first one
-- COLUMN tasks: numbers of the tasks that srun names in the first one; they are srun's own, and no training ranks
-- COLUMN or_later: name of the time, where it is that of an earlier line: it came then or later
-- CAVEAT: A signal that is named does not say who sent it; SIGTERM and SIGKILL also end the peers of a rank that failed.
WITH e AS (
  SELECT
    CASE WHEN kind IN ('launcher_summary', 'launcher_event') THEN 'launcher' WHEN kind = 'slurm' THEN 'slurm'
         WHEN name = 'shell' THEN 'shell' ELSE 'program' END AS source,
    name, coalesce(signal, exit_code - 128) AS signal, rank, coalesce(host, node) AS host, pid, coalesce(happened_ts, CASE WHEN ts_kind IS DISTINCT FROM 'file' THEN ts END) AS at_ts, NULL::VARCHAR AS sender, frame,
    user_frame, file, line_no, message, kind = 'launcher_summary' AS summary,
    CASE WHEN kind = 'slurm' THEN json_extract_string(TRY_CAST(detail AS JSON), '$.tasks') END AS tasks,
    happened_ts IS NULL AND coalesce(ts_kind, '') = 'carried' AS lent
  FROM log_event
  WHERE (signal IS NOT NULL OR exit_code IN (132, 134, 135, 136, 137, 139, 152, 153)) AND job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
    AND (kind = 'signal' OR (kind IN ('launcher_summary', 'launcher_event') AND name = 'child_failed')
         OR (kind = 'slurm' AND name = 'task_exit'))
  UNION ALL
  SELECT 'process', 'exit', exit_signal, rank, node, pid, end_ts, signal_sender, NULL, NULL, NULL, NULL, comm, false, NULL, false
  FROM process
  WHERE coalesce(exit_signal, 0) > 0 AND job_id = $job_id
    AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
  UNION ALL
  SELECT 'accounting', 'exit', coalesce(nullif(exit_signal, 0), exit_code - 128), NULL, failed_node, NULL, end_ts, NULL,
    NULL, NULL, NULL, NULL, concat_ws(' ', state, 'exit', exit_code, 'signal', exit_signal), false, NULL, false
  FROM slurm_job
  WHERE (coalesce(exit_signal, 0) > 0 OR exit_code IN (132, 134, 135, 136, 137, 139, 152, 153))
    AND state NOT IN ('CANCELLED', 'TIMEOUT', 'PREEMPTED', 'NODE_FAIL', 'REQUEUED', 'DEADLINE')
    AND job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
  UNION ALL
  SELECT 'accounting', 'step', coalesce(nullif(exit_signal, 0), exit_code - 128), NULL, NULL, NULL, end_ts, NULL,
    NULL, NULL, NULL, NULL, concat_ws(' ', 'step', step_id, state, 'exit', exit_code, 'signal', exit_signal), false, NULL, false
  FROM slurm_step
  WHERE (coalesce(exit_signal, 0) > 0 OR exit_code IN (132, 134, 135, 136, 137, 139, 152, 153))
    AND state NOT IN ('CANCELLED', 'TIMEOUT', 'PREEMPTED', 'NODE_FAIL', 'REQUEUED', 'DEADLINE')
    AND job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
)
SELECT
  source, name, signal,
  CASE signal WHEN 1 THEN 'SIGHUP' WHEN 2 THEN 'SIGINT' WHEN 3 THEN 'SIGQUIT' WHEN 4 THEN 'SIGILL' WHEN 6 THEN 'SIGABRT'
    WHEN 7 THEN 'SIGBUS' WHEN 8 THEN 'SIGFPE' WHEN 9 THEN 'SIGKILL' WHEN 10 THEN 'SIGUSR1' WHEN 11 THEN 'SIGSEGV'
    WHEN 12 THEN 'SIGUSR2' WHEN 13 THEN 'SIGPIPE' WHEN 15 THEN 'SIGTERM' WHEN 24 THEN 'SIGXCPU' WHEN 25 THEN 'SIGXFSZ' END AS signal_name,
  count(DISTINCT rank) AS ranks, min(rank) AS rank,
  array_to_string(list_sort(list_distinct(list(rank) FILTER (WHERE rank IS NOT NULL)))[1:16], ', ') AS all_ranks,
  first(host ORDER BY (host IS NULL), at_ts NULLS LAST, file, line_no, rank, host, pid) AS host,
  count(DISTINCT host) AS hosts,
  first(pid ORDER BY (pid IS NULL), at_ts NULLS LAST, file, line_no, rank, host, pid) AS pid, count(*) AS events, min(at_ts) AS signal_ts,
  first(sender ORDER BY (sender IS NULL), at_ts NULLS LAST, rank, host, pid) AS sender,
  first(frame ORDER BY (frame IS NULL), at_ts NULLS LAST, file, line_no, rank, host, pid) AS frame,
  first(user_frame ORDER BY (user_frame IS NULL), at_ts NULLS LAST, file, line_no, rank, host, pid) AS user_frame,
  first(file ORDER BY (file IS NULL), at_ts NULLS LAST, file, line_no, rank, host, pid) AS file,
  first(line_no ORDER BY (line_no IS NULL), at_ts NULLS LAST, file, line_no, rank, host, pid) AS line_no,
  left(first(message ORDER BY (message IS NULL), at_ts NULLS LAST, file, line_no, rank, host, pid), 300) AS message,
  first(tasks ORDER BY (message IS NULL), at_ts NULLS LAST, file, line_no, rank, host, pid) AS tasks,
  CASE WHEN arg_min(lent, (at_ts, lent)) FILTER (WHERE at_ts IS NOT NULL) THEN 'signal_ts' END AS or_later
FROM e
GROUP BY source, name, signal
ORDER BY signal_ts NULLS LAST, file NULLS LAST, line_no, source, name, signal

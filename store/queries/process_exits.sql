-- process_exits: Processes of the job that ended badly, the first first: exit status, signal, and who sent it.
-- TABLES: process
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL
-- NONE: process ended badly, process signal
-- EMPTY: VARCHAR, BIGINT, BIGINT, VARCHAR, TIMESTAMP, TIMESTAMP, BIGINT, BIGINT, BIGINT, VARCHAR, BOOLEAN, BOOLEAN, VARCHAR
-- PRUNE: job_id
-- COLUMN node: node
-- COLUMN rank: global rank
-- COLUMN pid: process
-- COLUMN comm: command name
-- COLUMN begin_ts: start
-- COLUMN end_ts: end
-- COLUMN lived_s [s]: how long it lived
-- COLUMN exit_code: exit status
-- COLUMN exit_signal: signal that ended it
-- COLUMN signal_sender: who sent it
-- COLUMN oom_killed: chosen by the kernel's OOM killer
-- COLUMN alive: still running when last seen
-- COLUMN host_stack: stack that was taken when it was stuck
-- CAVEAT: Processes that were not watched are not here.
SELECT
  node, rank, pid, comm, ts AS begin_ts, end_ts, date_diff('second', ts, end_ts) AS lived_s, exit_code, exit_signal,
  signal_sender, oom_killed, end_ts IS NULL AS alive, left(host_stack, 600) AS host_stack
FROM process
WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
  AND (coalesce(exit_code, 0) <> 0 OR coalesce(exit_signal, 0) <> 0 OR oom_killed OR host_stack IS NOT NULL)
ORDER BY end_ts NULLS LAST, node, rank NULLS LAST, pid, columns(*)

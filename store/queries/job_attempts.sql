-- job_attempts: What accounting says of each attempt of a job.
-- TABLES: slurm_job
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL
-- EMPTY: BIGINT, VARCHAR, VARCHAR, VARCHAR, VARCHAR, VARCHAR, VARCHAR, VARCHAR, BIGINT, BIGINT, BIGINT, BIGINT, BIGINT, TIMESTAMP, TIMESTAMP, TIMESTAMP, TIMESTAMP, DOUBLE, DOUBLE, DOUBLE, DOUBLE, DOUBLE, VARCHAR, BIGINT, VARCHAR, BIGINT, BIGINT, BIGINT, VARCHAR, VARCHAR, VARCHAR, VARCHAR, VARCHAR, VARCHAR, VARCHAR, VARCHAR
-- COLUMN attempt: 1 for the first run, one more for each requeue
-- COLUMN name: job's name
-- COLUMN user: Unix user
-- COLUMN partition: partition
-- COLUMN state: base state
-- COLUMN state_flags: further state words
-- COLUMN state_reason: Slurm's reason word
-- COLUMN cancelled_by: uid or user of 'CANCELLED by'
-- COLUMN exit_code: exit status of the batch script
-- COLUMN exit_signal: signal that ended the batch script, 0 for none
-- COLUMN derived_exit_code: highest exit status of any step
-- COLUMN derived_exit_signal: signal of the derived exit code
-- COLUMN restarts: times requeued
-- COLUMN submit_ts: submitted
-- COLUMN eligible_ts: eligible to run
-- COLUMN start_ts: started
-- COLUMN end_ts: ended
-- COLUMN wait_s [s]: from submission to start
-- COLUMN elapsed_s [s]: time running
-- COLUMN time_limit_s [s]: wall-clock limit
-- COLUMN limit_share [ratio]: time running over the limit
-- COLUMN suspended_s [s]: time suspended
-- COLUMN node_list: allocated nodes
-- COLUMN node_count: allocated nodes
-- COLUMN failed_node: node that Slurm names as failed
-- COLUMN cpus: allocated CPUs
-- COLUMN gpus: allocated GPUs
-- COLUMN memory_bytes [B]: memory of the whole job
-- COLUMN dependency: dependency expression
-- COLUMN submit_line: command that submitted the job
-- COLUMN work_dir: working directory
-- COLUMN stdout_path: standard output
-- COLUMN stderr_path: standard error
-- COLUMN comment: job's comment
-- COLUMN admin_comment: administrator's comment
-- COLUMN origin: where the row was read
-- CAVEAT: Accounting records how the batch script ended, not why; a requeued attempt is here only where duplicates were exported.
SELECT attempt, name, "user", "partition", state, state_flags, state_reason, cancelled_by, exit_code, exit_signal,
  derived_exit_code, derived_exit_signal, restarts, submit_ts, eligible_ts, start_ts, end_ts,
  epoch(start_ts - submit_ts) AS wait_s, elapsed_s, time_limit_s, elapsed_s / nullif(time_limit_s, 0) AS limit_share,
  suspended_s, node_list, node_count, failed_node, cpus, gpus, memory_bytes, dependency, submit_line, work_dir,
  stdout_path, stderr_path, comment, admin_comment, origin
FROM slurm_job
WHERE job_id = $job_id AND ($attempt IS NULL OR attempt = $attempt)
ORDER BY attempt NULLS LAST, start_ts NULLS LAST, origin

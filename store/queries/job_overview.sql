-- job_overview: What Slurm's accounting says about the job's attempt: how it ended, how long it ran, what it held.
-- TABLES: slurm_job
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL
-- EMPTY: VARCHAR, BIGINT, BIGINT, VARCHAR, VARCHAR, VARCHAR, VARCHAR, VARCHAR, VARCHAR, VARCHAR, BIGINT, BIGINT, BIGINT, BIGINT, BIGINT, TIMESTAMP, TIMESTAMP, TIMESTAMP, BIGINT, DOUBLE, DOUBLE, DOUBLE, DOUBLE, DOUBLE, BIGINT, VARCHAR, VARCHAR, BIGINT, BIGINT, DOUBLE, DOUBLE, VARCHAR, VARCHAR, VARCHAR, VARCHAR, VARCHAR
-- PRUNE: job_id
-- COLUMN job_id: job id as Slurm shows it
-- COLUMN attempt: attempt that is described, the last one unless asked otherwise
-- COLUMN attempts: attempts that accounting knows
-- COLUMN name: job's name
-- COLUMN user: Unix user
-- COLUMN partition: partition
-- COLUMN state: base state
-- COLUMN state_flags: further state words
-- COLUMN state_reason: Slurm's reason word
-- COLUMN cancelled_by: uid or user of 'CANCELLED by'
-- COLUMN exit_code: exit status of the batch script
-- COLUMN exit_signal: signal that ended the batch script
-- COLUMN derived_exit_code: highest exit status of any step
-- COLUMN derived_exit_signal: signal of the derived exit code
-- COLUMN restarts: times requeued
-- COLUMN submit_ts: submitted
-- COLUMN start_ts: started
-- COLUMN end_ts: ended
-- COLUMN wait_s [s]: from submission to start
-- COLUMN elapsed_s [s]: time running
-- COLUMN elapsed_min [min]: time running
-- COLUMN time_limit_s [s]: wall-clock limit
-- COLUMN time_limit_min [min]: wall-clock limit
-- COLUMN limit_used [ratio]: time running over the limit
-- COLUMN node_count: allocated nodes
-- COLUMN node_list: allocated nodes
-- COLUMN failed_node: node that Slurm names as failed
-- COLUMN gpus: allocated GPUs
-- COLUMN cpus: allocated CPUs
-- COLUMN gpu_hours_held [h]: GPUs times the time running
-- COLUMN memory_gib [GiB]: requested or allocated memory of the whole job
-- COLUMN dependency: dependency expression
-- COLUMN submit_line: command that submitted the job
-- COLUMN command: batch script or command
-- COLUMN work_dir: working directory
-- COLUMN uid: the user's numeric id
-- CAVEAT: Accounting records how the batch script ended, not why.
WITH j AS (
  SELECT * FROM slurm_job
  WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
),
n AS (SELECT count(DISTINCT coalesce(attempt, 1)) AS attempts FROM slurm_job WHERE job_id = $job_id)
SELECT
  job_id, attempt, n.attempts, name, "user", "partition", state, state_flags, state_reason, cancelled_by,
  exit_code, exit_signal, derived_exit_code, derived_exit_signal, restarts, submit_ts, start_ts, end_ts,
  date_diff('second', submit_ts, start_ts) AS wait_s,
  elapsed_s, round(elapsed_s / 60, 1) AS elapsed_min,
  time_limit_s, round(time_limit_s / 60, 1) AS time_limit_min,
  CASE WHEN time_limit_s > 0 THEN round(elapsed_s / time_limit_s, 3) END AS limit_used,
  node_count, node_list, failed_node, gpus, cpus,
  CASE WHEN gpus > 0 THEN round(gpus * elapsed_s / 3600, 2) END AS gpu_hours_held,
  round(memory_bytes / 1073741824.0, 1) AS memory_gib,
  dependency, submit_line, command, work_dir, uid
FROM j, n
ORDER BY attempt DESC NULLS LAST, end_ts DESC NULLS FIRST, start_ts DESC NULLS LAST, origin
LIMIT 1

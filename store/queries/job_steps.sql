-- job_steps: The steps of the job in Slurm's accounting.
-- TABLES: slurm_step
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL
-- PRUNE: job_id
-- COLUMN attempt: attempt
-- COLUMN step_id: 0, 1, batch, extern, interactive
-- COLUMN name: step's name
-- COLUMN state: base state
-- COLUMN cancelled_by: uid or user of 'CANCELLED by'
-- COLUMN exit_code: exit status
-- COLUMN exit_signal: signal that ended it
-- COLUMN start_ts: started
-- COLUMN end_ts: ended
-- COLUMN elapsed_s [s]: time running
-- COLUMN tasks: tasks
-- COLUMN max_rss_gib [GiB]: largest resident set of any task, as sampled
-- COLUMN max_rss_node: node of that task
-- COLUMN max_rss_task: index of that task
-- COLUMN node_list: nodes
-- CAVEAT: MaxRSS is sampled every few seconds; a quick peak can be missed.
SELECT
  attempt, step_id, name, state, cancelled_by, exit_code, exit_signal, start_ts, end_ts, elapsed_s, tasks,
  round(max_rss_bytes / 1073741824.0, 2) AS max_rss_gib, max_rss_node, max_rss_task, node_list
FROM slurm_step
WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
ORDER BY attempt NULLS LAST, start_ts NULLS LAST, step_id, origin

-- find_jobs: Attempts of jobs by owner, name, state, node, time or verdict, newest first.
-- TABLES: slurm_job, verdict
-- WITH: attempts_asked
-- PARAMS: job VARCHAR = NULL, user VARCHAR = NULL, name VARCHAR = NULL, state VARCHAR = NULL, partition VARCHAR = NULL, node VARCHAR = NULL, family VARCHAR = NULL, since TIMESTAMP = NULL, until TIMESTAMP = NULL
-- PRUNE: none
-- COLUMN job_id: job id as Slurm shows it
-- COLUMN attempt: 1 for the first run
-- COLUMN name: job's name
-- COLUMN user: Unix user
-- COLUMN partition: partition
-- COLUMN state: base state
-- COLUMN state_reason: why it waits, or Slurm's word on its end
-- COLUMN cancelled_by: user or user's number that Slurm says cancelled it
-- COLUMN exit_code: exit status of the batch script
-- COLUMN exit_signal: signal that ended the batch script
-- COLUMN start_ts: started
-- COLUMN end_ts: ended
-- COLUMN elapsed_s [s]: time running
-- COLUMN node_count: allocated nodes
-- COLUMN gpus: allocated GPUs
-- COLUMN node_list: allocated nodes
-- COLUMN family: family of the stored verdict
-- COLUMN attribution: attribution of the stored verdict
-- COLUMN blamed: true where that verdict sees a fault of the infrastructure at the node that is asked for: it names it, or the job had no other
-- COLUMN confidence [ratio]: confidence of the stored verdict
-- COLUMN gpu_hours_wasted [h]: GPU time wasted, as the stored verdict has it
-- CAVEAT: That a job ran on a node and failed does not say that the node made it fail; only its verdict does.
SELECT
  job_id, attempt, name, "user", partition, state, state_reason, cancelled_by, exit_code, exit_signal, start_ts, end_ts, elapsed_s,
  node_count, gpus, left(node_list, 200) AS node_list,
  v.family AS family, v.attribution AS attribution,
  CASE WHEN $node IS NOT NULL THEN coalesce(list_contains(blamed, $node), false) END AS blamed, v.confidence AS confidence, v.gpu_hours_wasted AS gpu_hours_wasted
FROM j
ORDER BY coalesce(j.end_ts, j.start_ts, j.submit_ts) DESC NULLS FIRST, job_id, j.attempt DESC

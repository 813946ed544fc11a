-- find_jobs: Attempts of jobs by owner, name, state, node, time or verdict, newest first.
-- TABLES: slurm_job, verdict
-- PARAMS: job VARCHAR = NULL, user VARCHAR = NULL, name VARCHAR = NULL, state VARCHAR = NULL, partition VARCHAR = NULL, node VARCHAR = NULL, family VARCHAR = NULL, since TIMESTAMP = NULL, until TIMESTAMP = NULL
-- PRUNE: none
-- COLUMN job_id: job id as Slurm shows it
-- COLUMN attempt: 1 for the first run
-- COLUMN name: job's name
-- COLUMN user: Unix user
-- COLUMN partition: partition
-- COLUMN state: base state
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
-- COLUMN confidence [ratio]: confidence of the stored verdict
-- COLUMN gpu_hours_wasted [h]: GPU time wasted, as the stored verdict has it
-- CAVEAT: That a job ran on a node and failed does not say that the node made it fail; only its verdict does.
WITH v AS (
  SELECT job_id, coalesce(attempt, 0) AS attempt, max_by(struct_pack(family, attribution, confidence, gpu_hours_wasted), ts) AS v
  FROM verdict GROUP BY job_id, coalesce(attempt, 0)
)
SELECT
  j.job_id, j.attempt, j.name, j."user", j.partition, j.state, j.cancelled_by, j.exit_code, j.exit_signal, j.start_ts, j.end_ts, j.elapsed_s,
  j.node_count, j.gpus, left(j.node_list, 200) AS node_list,
  coalesce(v.v, w.v).family AS family, coalesce(v.v, w.v).attribution AS attribution, coalesce(v.v, w.v).confidence AS confidence,
  coalesce(v.v, w.v).gpu_hours_wasted AS gpu_hours_wasted
FROM slurm_job j
LEFT JOIN v ON v.job_id = j.job_id AND v.attempt = coalesce(j.attempt, 0)
LEFT JOIN v AS w ON w.job_id = j.job_id AND w.attempt = 0
WHERE ($job IS NULL OR j.job_id = $job OR j.array_job_id = $job OR j.het_job_id = $job)
  AND ($user IS NULL OR j."user" = $user)
  AND ($name IS NULL OR regexp_matches(without_secrets(coalesce(j.name, '')), $name, 'i'))
  AND ($state IS NULL OR upper(j.state) = upper($state))
  AND ($partition IS NULL OR j.partition = $partition)
  AND ($node IS NULL OR list_contains(string_split(coalesce(j.node_list, ''), ','), $node))
  AND ($family IS NULL OR coalesce(v.v, w.v).family = upper($family))
  AND ($since IS NULL OR coalesce(j.end_ts, j.start_ts, j.submit_ts, j.ts) >= $since::TIMESTAMP)
  AND ($until IS NULL OR coalesce(j.start_ts, j.submit_ts, j.ts) <= $until::TIMESTAMP)
ORDER BY coalesce(j.end_ts, j.start_ts, j.submit_ts) DESC NULLS FIRST, j.job_id, j.attempt DESC

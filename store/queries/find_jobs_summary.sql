-- find_jobs_summary: The same jobs counted by state and verdict, with the GPU time that they wasted.
-- TABLES: slurm_job, verdict
-- WITH: attempts_asked
-- PARAMS: job VARCHAR = NULL, user VARCHAR = NULL, name VARCHAR = NULL, state VARCHAR = NULL, partition VARCHAR = NULL, node VARCHAR = NULL, family VARCHAR = NULL, since TIMESTAMP = NULL, until TIMESTAMP = NULL
-- PRUNE: none
-- COLUMN state: base state
-- COLUMN of_state: different jobs in that state, whatever their verdicts
-- COLUMN family: family of the stored verdict
-- COLUMN attribution: attribution of the stored verdict
-- COLUMN attempts: attempts of jobs
-- COLUMN jobs: different jobs
-- COLUMN users: different users
-- COLUMN first_ts: earliest start
-- COLUMN last_ts: latest end
-- COLUMN gpu_hours_wasted [h]: GPU time wasted, as the stored verdicts have it
-- CAVEAT: An attempt without a stored verdict has no family here; that says nothing about its health.
SELECT
  state, (SELECT count(DISTINCT o.job_id) FROM j o WHERE o.state IS NOT DISTINCT FROM j.state) AS of_state, v.family AS family, v.attribution AS attribution,
  count(*) AS attempts, count(DISTINCT job_id) AS jobs, count(DISTINCT "user") AS users,
  min(start_ts) AS first_ts, max(end_ts) AS last_ts,
  round(sum(v.gpu_hours_wasted), 2) AS gpu_hours_wasted
FROM j
GROUP BY ALL
ORDER BY attempts DESC, state, family, attribution

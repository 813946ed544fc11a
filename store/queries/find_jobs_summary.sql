-- find_jobs_summary: The same jobs counted by state and verdict, with the GPU time that they wasted.
-- TABLES: slurm_job, verdict
-- PARAMS: job VARCHAR = NULL, user VARCHAR = NULL, name VARCHAR = NULL, state VARCHAR = NULL, partition VARCHAR = NULL, node VARCHAR = NULL, family VARCHAR = NULL, since TIMESTAMP = NULL, until TIMESTAMP = NULL
-- PRUNE: none
-- COLUMN state: base state
-- COLUMN family: family of the stored verdict
-- COLUMN attribution: attribution of the stored verdict
-- COLUMN attempts: attempts of jobs
-- COLUMN jobs: different jobs
-- COLUMN users: different users
-- COLUMN first_ts: earliest start
-- COLUMN last_ts: latest end
-- COLUMN gpu_hours_wasted [h]: GPU time wasted, as the stored verdicts have it
-- CAVEAT: An attempt without a stored verdict has no family here; that says nothing about its health.
WITH v AS (
  SELECT job_id, coalesce(attempt, 0) AS attempt, max_by(struct_pack(family, attribution, gpu_hours_wasted), ts) AS v
  FROM verdict GROUP BY job_id, coalesce(attempt, 0)
)
SELECT
  j.state, coalesce(v.v, w.v).family AS family, coalesce(v.v, w.v).attribution AS attribution,
  count(*) AS attempts, count(DISTINCT j.job_id) AS jobs, count(DISTINCT j."user") AS users,
  min(j.start_ts) AS first_ts, max(j.end_ts) AS last_ts,
  round(sum(coalesce(v.v, w.v).gpu_hours_wasted), 2) AS gpu_hours_wasted
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
GROUP BY ALL
ORDER BY attempts DESC, j.state, family, attribution

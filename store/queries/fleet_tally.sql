-- fleet_tally: Attempts of jobs counted by user, node, partition, family, name, day or all together, with how they ended and what they wasted.
-- TABLES: slurm_job, verdict
-- PARAMS: by VARCHAR, job VARCHAR = NULL, user VARCHAR = NULL, name VARCHAR = NULL, state VARCHAR = NULL, partition VARCHAR = NULL, node VARCHAR = NULL, family VARCHAR = NULL, since TIMESTAMP = NULL, until TIMESTAMP = NULL
-- PRUNE: none
-- COLUMN value: the user, node, partition, family, name or day (UTC, of the end), or "all"; NULL where it is not known
-- COLUMN attempts: attempts of jobs
-- COLUMN jobs: different jobs
-- COLUMN failed: attempts that failed, timed out, ran out of memory or lost their node
-- COLUMN cancelled: attempts that were cancelled
-- COLUMN sent_back: attempts that were preempted or requeued
-- COLUMN examined: attempts with a stored verdict
-- COLUMN infrastructure: attempts whose stored verdict attributes them to the infrastructure
-- COLUMN gpu_hours_held [h]: GPU time that they held
-- COLUMN gpu_hours_wasted [h]: GPU time wasted, as the stored verdicts have it
-- CAVEAT: Anything else to count by has no row. What an attempt of several nodes wasted counts for each of them; that it ran there does not say that the node was at fault.
WITH v AS (
  SELECT job_id, coalesce(attempt, 0) AS attempt, max_by(struct_pack(family, attribution, gpu_hours_wasted), ts) AS v
  FROM verdict GROUP BY job_id, coalesce(attempt, 0)
), j AS (
  SELECT j.*, coalesce(v.v, w.v) AS v
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
), each_value AS (
  SELECT j.*, unnest(CASE lower($by)
    WHEN 'user' THEN [j."user"]
    WHEN 'node' THEN string_split(nullif(j.node_list, ''), ',')
    WHEN 'partition' THEN [j.partition]
    WHEN 'family' THEN [j.v.family]
    WHEN 'name' THEN [without_secrets(coalesce(j.name, ''))]
    WHEN 'all' THEN ['all']
    WHEN 'day' THEN [strftime(coalesce(j.end_ts, j.start_ts, j.submit_ts, j.ts), '%Y-%m-%d')]
    ELSE []::VARCHAR[] END) AS value
  FROM j
)
SELECT
  value, count(*) AS attempts, count(DISTINCT job_id) AS jobs,
  count(*) FILTER (state IN ('FAILED', 'TIMEOUT', 'OUT_OF_MEMORY', 'NODE_FAIL', 'BOOT_FAIL', 'DEADLINE')) AS failed,
  count(*) FILTER (state = 'CANCELLED') AS cancelled,
  count(*) FILTER (state IN ('PREEMPTED', 'REQUEUED')) AS sent_back,
  count(v.family) AS examined,
  count(*) FILTER (v.attribution = 'infrastructure') AS infrastructure,
  round(sum(elapsed_s * gpus) / 3600, 2) AS gpu_hours_held,
  round(sum(v.gpu_hours_wasted), 2) AS gpu_hours_wasted
FROM each_value
GROUP BY value
ORDER BY failed DESC, gpu_hours_wasted DESC NULLS LAST, attempts DESC, value

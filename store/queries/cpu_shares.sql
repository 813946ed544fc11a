-- cpu_shares: How many CPUs the job's cgroups kept busy on each of its nodes in the run, and how many those of other jobs there did.
-- TABLES: cgroup_sample
-- PARAMS: job_id VARCHAR, nodes VARCHAR = NULL, from_ts TIMESTAMP = NULL, to_ts TIMESTAMP = NULL
-- PRUNE: nodes, from_ts, to_ts
-- COLUMN node: node
-- COLUMN own_cpus: CPUs that the job kept busy, on average
-- COLUMN others_cpus: CPUs that other jobs kept busy there, on average
-- COLUMN other_jobs: how many other jobs those were
-- COLUMN samples: samples in the run
-- CAVEAT: Jobs alone: services of the node are in no cgroup of Slurm's. Of nested cgroups of a job the one that counts most is taken.
WITH c AS (
  SELECT node, job_id, cgroup, count(*) AS samples, min(ts) AS first_ts, max(ts) AS last_ts,
    (arg_max(cpu_usage_s, ts) - arg_min(cpu_usage_s, ts)) / nullif(epoch(max(ts) - min(ts)), 0) AS cpus
  FROM cgroup_sample
  WHERE list_contains(string_split($nodes, ','), coalesce(node, '')) AND job_id IS NOT NULL AND cpu_usage_s IS NOT NULL
    AND ts >= $from_ts::TIMESTAMP AND ts <= $to_ts::TIMESTAMP
  GROUP BY node, job_id, cgroup
  HAVING count(*) > 1
),
j AS (
  SELECT node, job_id = $job_id AS own, job_id, sum(samples) AS samples,
    -- one that was there for a part of the run counts for that part
    max(cpus * epoch(last_ts - first_ts)) / nullif(epoch($to_ts::TIMESTAMP - $from_ts::TIMESTAMP), 0) AS cpus
  FROM c
  GROUP BY node, job_id
)
SELECT
  node, round(sum(cpus) FILTER (WHERE own), 1) AS own_cpus, round(sum(cpus) FILTER (WHERE NOT own), 1) AS others_cpus,
  count(*) FILTER (WHERE NOT own) AS other_jobs, sum(samples)::BIGINT AS samples
FROM j
GROUP BY node
ORDER BY others_cpus DESC NULLS LAST, node

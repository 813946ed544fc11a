-- lone_nodes: Nodes whose own telemetry is held, where no other job is known that they could have worked for.
-- TABLES: slurm_job, source_health
-- PARAMS: job_id VARCHAR
-- PRUNE: none
-- ALONE: job_id
-- EMPTY: VARCHAR, TIMESTAMP, TIMESTAMP
-- NEEDS: source_health.covers = gpu_device | gpu_sample | gpu_event | link_sample | link_event | host_sample | host_event
-- COLUMN node: node; empty for telemetry that names none
-- COLUMN first_ts: first time that was looked at
-- COLUMN last_ts: last time that was looked at
-- CAVEAT: That the job ran there is an assumption: it rests on nothing but the files lying together.
WITH other AS (
  SELECT job_id FROM slurm_job WHERE job_id IS DISTINCT FROM $job_id
  UNION ALL
  SELECT job_id FROM source_health WHERE job_id IS NOT NULL AND job_id IS DISTINCT FROM $job_id
)
SELECT coalesce(node, '') AS node, min(ts) AS first_ts, max(end_ts) AS last_ts
FROM source_health
WHERE job_id IS NULL AND NOT EXISTS (SELECT 1 FROM other)
  AND covers IN ('gpu_device', 'gpu_sample', 'gpu_event', 'link_sample', 'link_event', 'host_sample', 'host_event')
GROUP BY ALL
ORDER BY node

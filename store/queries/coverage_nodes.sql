-- coverage_nodes: Which tables hold rows of the job's nodes in its time, and what their sources say of themselves.
-- TABLES: gpu_device, gpu_sample, gpu_event, link_sample, link_event, host_sample, host_event, slurm_node_state, slurm_node_sample, source_health
-- PARAMS: job_id VARCHAR, nodes VARCHAR = NULL, from_ts TIMESTAMP = NULL, to_ts TIMESTAMP = NULL
-- PRUNE: gpu_device(job_id, nodes), gpu_sample(job_id, nodes, from_ts, to_ts + 1 HOUR), gpu_event(job_id, nodes, from_ts, to_ts + 1 HOUR), link_sample(job_id, nodes, from_ts, to_ts + 1 HOUR), link_event(job_id, nodes, from_ts, to_ts + 1 HOUR), host_sample(nodes, from_ts, to_ts + 1 HOUR),
-- host_event(job_id, nodes, from_ts, to_ts + 1 HOUR), slurm_node_state(nodes), slurm_node_sample(nodes, from_ts, to_ts + 1 HOUR), source_health(job_id | nodes, from_ts - 1 HOUR, to_ts)
-- COLUMN table: table
-- COLUMN present: the table has rows of the job
-- COLUMN watched: a healthy source covered the table for this job or on one of its nodes
-- COLUMN failed: a source that would fill the table failed there
-- COLUMN message: what a failed source says
-- COLUMN lapsed_ts: up to when a healthy source covered it, where the last did so within the hour before the window
-- CAVEAT: A table without rows and without a watching source proves nothing when it is empty. What a Fabric Manager says of its switches is
-- no kernel's log: gpu_event is not covered by it.
WITH c AS (
  SELECT 'gpu_device' AS "table", EXISTS (SELECT 1 FROM gpu_device WHERE (job_id = $job_id OR (job_id IS NULL AND list_contains(string_split($nodes, ','), coalesce(node, ''))))) AS present
  UNION ALL
  SELECT 'gpu_sample', EXISTS (SELECT 1 FROM gpu_sample WHERE (job_id = $job_id OR (job_id IS NULL AND list_contains(string_split($nodes, ','), coalesce(node, '')))) AND ($from_ts IS NULL OR ts >= $from_ts::TIMESTAMP) AND ($to_ts IS NULL OR ts <= $to_ts::TIMESTAMP + INTERVAL 1 HOUR))
  UNION ALL
  SELECT 'gpu_event', EXISTS (SELECT 1 FROM gpu_event WHERE NOT coalesce(starts_with(message, 'nv-fabricmanager: ') OR event = 'fabric', false) AND (job_id = $job_id OR (job_id IS NULL AND list_contains(string_split($nodes, ','), coalesce(node, '')))) AND ($from_ts IS NULL OR ts >= $from_ts::TIMESTAMP) AND ($to_ts IS NULL OR ts <= $to_ts::TIMESTAMP + INTERVAL 1 HOUR))
  UNION ALL
  SELECT 'link_sample', EXISTS (SELECT 1 FROM link_sample WHERE (job_id = $job_id OR (job_id IS NULL AND list_contains(string_split($nodes, ','), coalesce(node, '')))) AND ($from_ts IS NULL OR ts >= $from_ts::TIMESTAMP) AND ($to_ts IS NULL OR ts <= $to_ts::TIMESTAMP + INTERVAL 1 HOUR))
  UNION ALL
  SELECT 'link_event', EXISTS (SELECT 1 FROM link_event WHERE (job_id = $job_id OR (job_id IS NULL AND list_contains(string_split($nodes, ','), coalesce(node, '')))) AND ($from_ts IS NULL OR ts >= $from_ts::TIMESTAMP) AND ($to_ts IS NULL OR ts <= $to_ts::TIMESTAMP + INTERVAL 1 HOUR))
  UNION ALL
  SELECT 'host_sample', EXISTS (SELECT 1 FROM host_sample WHERE list_contains(string_split($nodes, ','), coalesce(node, '')) AND ($from_ts IS NULL OR ts >= $from_ts::TIMESTAMP) AND ($to_ts IS NULL OR ts <= $to_ts::TIMESTAMP + INTERVAL 1 HOUR))
  UNION ALL
  SELECT 'host_event', EXISTS (SELECT 1 FROM host_event WHERE (job_id = $job_id OR (job_id IS NULL AND list_contains(string_split($nodes, ','), coalesce(node, '')))) AND ($from_ts IS NULL OR ts >= $from_ts::TIMESTAMP) AND ($to_ts IS NULL OR ts <= $to_ts::TIMESTAMP + INTERVAL 1 HOUR))
  UNION ALL
  SELECT 'slurm_node_state', EXISTS (SELECT 1 FROM slurm_node_state WHERE list_contains(string_split($nodes, ','), coalesce(node, '')))
  UNION ALL
  SELECT 'slurm_node_sample', EXISTS (SELECT 1 FROM slurm_node_sample WHERE list_contains(string_split($nodes, ','), coalesce(node, '')) AND ($from_ts IS NULL OR ts >= $from_ts::TIMESTAMP) AND ($to_ts IS NULL OR ts <= $to_ts::TIMESTAMP + INTERVAL 1 HOUR))
),
o AS (
  SELECT covers, ok, message, coalesce(end_ts, ts) AS until, ($from_ts IS NULL OR coalesce(end_ts, ts) >= $from_ts::TIMESTAMP) AS during
  FROM source_health
  WHERE (job_id = $job_id OR list_contains(string_split($nodes, ','), coalesce(node, ''))) AND source IS DISTINCT FROM 'fabric_manager'
    AND ($from_ts IS NULL OR coalesce(end_ts, ts) >= $from_ts::TIMESTAMP - INTERVAL 1 HOUR) AND ($to_ts IS NULL OR ts <= $to_ts::TIMESTAMP)
),
h AS (
  SELECT covers AS "table", coalesce(bool_or(ok AND during), false) AS watched, coalesce(bool_or(NOT ok AND during), false) AS failed,
    left(min(message) FILTER (WHERE NOT ok AND during), 200) AS message,
    CASE WHEN NOT bool_or(during) THEN max(until) FILTER (WHERE ok) END AS lapsed_ts
  FROM o GROUP BY covers
)
SELECT c."table", c.present, coalesce(h.watched, false) AS watched, coalesce(h.failed, false) AS failed, h.message,
  CASE WHEN NOT c.present THEN h.lapsed_ts END AS lapsed_ts
FROM c LEFT JOIN h USING ("table")
ORDER BY c."table"

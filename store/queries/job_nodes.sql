-- job_nodes: The nodes of the job: from accounting, from its processes, from what its logs name.
-- TABLES: slurm_job, process, log_event
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL
-- EMPTY: VARCHAR, BOOLEAN, BIGINT, BIGINT
-- PRUNE: job_id
-- COLUMN node: node
-- COLUMN accounted: accounting names it
-- COLUMN processes: processes of the job that were seen there
-- COLUMN ranks: ranks that were seen there
-- CAVEAT: Nodes that only a log names are not proof of an allocation.
WITH n AS (
  SELECT trim(unnest(string_split(node_list, ','))) AS node, true AS accounted, NULL::BIGINT AS pid, NULL::BIGINT AS rank
  FROM slurm_job
  WHERE job_id = $job_id AND node_list IS NOT NULL AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
  UNION ALL
  SELECT node, false, pid, rank FROM process
  WHERE job_id = $job_id AND node IS NOT NULL AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
  UNION ALL
  SELECT coalesce(node, host), false, NULL, rank FROM log_event
  WHERE job_id = $job_id AND coalesce(node, host) IS NOT NULL
    AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
)
SELECT node, bool_or(accounted) AS accounted, count(DISTINCT pid) AS processes, count(DISTINCT rank) AS ranks
FROM n
WHERE node <> ''
GROUP BY node
ORDER BY accounted DESC, node

-- job_nodes: The nodes of the job.
-- TABLES: slurm_job, process, log_line
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL
-- COLUMN node: node
-- COLUMN processes: processes of the job that were seen there
-- COLUMN ranks: ranks that were seen there
-- CAVEAT: Nodes that only a log names are not proof of an allocation.
WITH j AS (
  SELECT * FROM slurm_job
  WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
  ORDER BY attempt DESC NULLS LAST, end_ts DESC NULLS FIRST, start_ts DESC NULLS LAST LIMIT 1
),
hosts AS (
  SELECT trim(unnest(string_split(node_list, ','))) AS node FROM j WHERE node_list IS NOT NULL
  UNION
  SELECT node FROM process
  WHERE job_id = $job_id AND node IS NOT NULL AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
),
span AS (
  SELECT
    coalesce((SELECT start_ts FROM j), (SELECT min(ts) FROM log_line WHERE job_id = $job_id)) AS from_ts,
    coalesce((SELECT end_ts FROM j), CASE WHEN (SELECT count(*) FROM j) = 0 THEN
      (SELECT max(ts) FROM log_line WHERE job_id = $job_id) END, TIMESTAMP '9999-12-31') AS to_ts
),
p AS (
  SELECT node, count(*) AS processes, count(DISTINCT rank) AS ranks FROM process
  WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt) GROUP BY node
)
SELECT hosts.node, coalesce(p.processes, 0) AS processes, coalesce(p.ranks, 0) AS ranks
FROM hosts LEFT JOIN p USING (node)
ORDER BY hosts.node

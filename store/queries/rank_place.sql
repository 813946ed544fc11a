-- rank_place: On which node a rank of the job ran: as a source tells it, on the only node, or by the usual order of ranks.
-- TABLES: slurm_job, process, nccl_sample, cuda_sample, log_event
-- PARAMS: job_id VARCHAR, rank BIGINT, attempt BIGINT = NULL
-- EMPTY: BIGINT, VARCHAR, BIGINT, BIGINT, VARCHAR
-- PRUNE: job_id
-- COLUMN rank: rank
-- COLUMN node: node that it ran on
-- COLUMN local_rank: its number on that node
-- COLUMN per_node: ranks on each node, where their order is all that tells the node
-- COLUMN known_by: told (a source ties the rank to the node), only (the job had one node), order, or task (srun saw its task of that number on another node than the order says)
-- CAVEAT: By their order ranks lie node after node in the order of the allocation, one for each GPU. Launchers can order them otherwise. srun numbers its tasks: with a launcher on each node the numbers of `srun -l` are nodes and no ranks.
WITH j AS (
  SELECT node_list, gpus FROM slurm_job
  WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt) AND node_list IS NOT NULL
  ORDER BY attempt DESC NULLS LAST, end_ts DESC NULLS FIRST, origin LIMIT 1
),
n AS (SELECT string_split(node_list, ',') AS nodes, len(string_split(node_list, ',')) AS many, gpus FROM j),
t AS (
  SELECT node, local_rank FROM process
  WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt) AND rank = $rank
  UNION ALL SELECT node, local_rank FROM nccl_sample
  WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt) AND rank = $rank
  UNION ALL SELECT node, local_rank FROM cuda_sample
  WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt) AND rank = $rank
  UNION ALL SELECT host, local_rank FROM log_event
  WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt) AND rank = $rank
    AND kind = 'launcher_summary'
),
w AS (
  SELECT max(world) AS world FROM (
    SELECT max(comm_size) AS world FROM nccl_sample
    WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
    UNION ALL SELECT greatest(max(world_size), max(rank) + 1) FROM log_event
    WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
    UNION ALL SELECT max(world_size) FROM process
    WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
  )
),
s AS (
  SELECT split_part(host, '.', 1) AS node, unnest(string_split(json_extract_string(TRY_CAST(detail AS JSON), '$.tasks'), ',')) AS part
  FROM log_event
  WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
    AND kind = 'slurm' AND name = 'task_exit' AND host IS NOT NULL
),
k AS (
  SELECT min(node) AS node FROM s
  WHERE $rank BETWEEN TRY_CAST(split_part(part, '-', 1) AS BIGINT)
    AND TRY_CAST(coalesce(nullif(split_part(part, '-', 2), ''), split_part(part, '-', 1)) AS BIGINT)
  HAVING count(DISTINCT node) = 1
),
f AS (
  SELECT 1 AS place, node, max(local_rank) AS local_rank, NULL::BIGINT AS per_node, 'told' AS known_by FROM t
  WHERE node IS NOT NULL GROUP BY node
  UNION ALL SELECT 2, nodes[1], $rank, NULL, 'only' FROM n WHERE many = 1
  UNION ALL SELECT 4, nodes[1 + $rank // (gpus // many)], $rank % (gpus // many), gpus // many, 'order' FROM n, w
  WHERE many > 1 AND gpus >= many AND gpus % many = 0 AND $rank < gpus AND world = gpus
  UNION ALL SELECT 3, k.node, NULL, NULL, 'task' FROM n, w, k
  WHERE many > 1 AND gpus >= many AND gpus % many = 0 AND $rank < gpus AND world = gpus
    AND k.node <> split_part(nodes[1 + $rank // (gpus // many)], '.', 1)
)
SELECT $rank::BIGINT AS rank, node, local_rank, per_node, known_by FROM f
-- Two sources that disagree tell nothing.
WHERE (SELECT count(*) FROM f WHERE place = 1) <= 1
ORDER BY place LIMIT 1

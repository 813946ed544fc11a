-- gpus_given: GPUs that Slurm gave the job on a node, and whether another job with GPUs ran there meanwhile.
-- TABLES: slurm_job
-- PARAMS: job_id VARCHAR, node VARCHAR, attempt BIGINT = NULL
-- EMPTY: VARCHAR, BIGINT, VARCHAR, BOOLEAN
-- PRUNE: none
-- COLUMN node: node
-- COLUMN held: GPUs that the job held there; empty where accounting does not say, or where its nodes may have had unlike numbers
-- COLUMN indices: their indices, comma-separated, where scontrol -d or the controller's JSON tells them
-- COLUMN beside: another job with GPUs held the node for a minute or more of the time
-- CAVEAT: Slurm numbers GPUs in the order of its own configuration. Where an index is not told, which GPUs they were is not known.
WITH j AS (
  SELECT * FROM slurm_job
  WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
    AND list_contains(string_split(coalesce(node_list, ''), ','), $node)
  ORDER BY attempt DESC NULLS LAST
  LIMIT 1
),
i AS (
  SELECT DISTINCT TRY_CAST(split_part(x, '/', 2) AS BIGINT) AS gpu
  FROM (SELECT unnest(string_split(gpu_indices, ',')) AS x FROM j)
  WHERE split_part(x, '/', 1) = $node
)
SELECT
  $node AS node,
  -- A number for the whole job (--gpus, -G) or for each task is dealt out as the nodes have room; fewer than eight on each may then be unlike.
  coalesce(nullif((SELECT count(*) FROM i), 0), CASE WHEN j.node_count > 0 AND j.gpus % j.node_count = 0 AND (j.node_count = 1
    OR j.gpus // j.node_count >= 8 OR NOT coalesce(regexp_matches(j.submit_line, '\s(--gpus(-per-task|-per-socket)?[= ]|-G *)\S*\d'), false))
    THEN j.gpus // j.node_count END) AS held,
  (SELECT string_agg(gpu::VARCHAR, ',' ORDER BY gpu) FROM i) AS indices,
  EXISTS (
    SELECT 1 FROM slurm_job o
    WHERE o.job_id <> j.job_id AND coalesce(o.array_job_id, o.job_id) <> j.job_id AND o.gpus > 0
      AND list_contains(string_split(coalesce(o.node_list, ''), ','), $node)
      AND least(coalesce(o.end_ts, j.end_ts), j.end_ts) - greatest(o.start_ts, j.start_ts) >= INTERVAL 1 MINUTE
  ) AS beside
FROM j

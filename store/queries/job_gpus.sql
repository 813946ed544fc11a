-- job_gpus: GPUs that the job's processes saw or used, that an exporter labels with it, or that Slurm says it was given, by UUID, beside how many it held.
-- TABLES: process, cuda_sample, slurm_job, gpu_sample, gpu_minute
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL, nodes VARCHAR = NULL, from_ts TIMESTAMP = NULL, to_ts TIMESTAMP = NULL
-- NEEDS: process, cuda_sample, gpu_sample
-- EMPTY: BIGINT, BIGINT, VARCHAR, VARCHAR
-- PRUNE: job_id, nodes, from_ts, to_ts
-- COLUMN uuids_seen: GPUs with a UUID that its processes saw, an exporter labels, or Slurm names
-- COLUMN gpus_given: GPUs that accounting says it was given
-- COLUMN all_uuids: their UUIDs, comma-separated
-- COLUMN told_by: processes, exporter (its label of the job), or slurm (indices of scontrol -d, by the numbers of the exporter)
-- CAVEAT: A process may see more GPUs than its job was given where nothing confines it. Slurm numbers GPUs in the order of its own configuration.
WITH j AS (
  SELECT gpus, gpu_indices FROM slurm_job
  WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
),
i AS (
  SELECT DISTINCT split_part(x, '/', 1) AS node, TRY_CAST(split_part(x, '/', 2) AS BIGINT) AS gpu
  FROM (SELECT unnest(string_split(gpu_indices, ',')) AS x FROM j WHERE gpu_indices IS NOT NULL)
),
a AS (
  SELECT DISTINCT node, gpu, gpu_uuid FROM gpu_minute
  WHERE (SELECT count(*) FROM i) > 0 AND gpu_uuid IS NOT NULL AND gpu IS NOT NULL
    AND ts >= coalesce($from_ts::TIMESTAMP, '-infinity'::TIMESTAMP) AND ts <= coalesce($to_ts::TIMESTAMP, 'infinity'::TIMESTAMP)
    AND ($nodes IS NULL OR list_contains(string_split($nodes, ','), node))
),
l AS (
  SELECT DISTINCT gpu_uuid FROM gpu_minute
  WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
    AND ts >= coalesce(date_trunc('minute', $from_ts::TIMESTAMP), '-infinity'::TIMESTAMP)
    AND ts <= coalesce($to_ts::TIMESTAMP, 'infinity'::TIMESTAMP)
),
u AS (
  SELECT 'processes' AS told_by, trim(unnest(string_split(gpu_uuids, ','))) AS uuid FROM process
  WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
  UNION ALL
  SELECT 'processes', gpu_uuid FROM cuda_sample
  WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
  UNION ALL
  SELECT 'exporter', gpu_uuid FROM l
  UNION ALL
  -- Where the job held every GPU of its nodes, nothing has to be told apart.
  SELECT 'slurm', gpu_uuid FROM i JOIN a USING (node, gpu) WHERE (SELECT count(*) FROM a) > (SELECT count(*) FROM i)
),
s AS (
  SELECT
    count(DISTINCT uuid) AS uuids_seen, (SELECT max(gpus) FROM j) AS gpus_given,
    array_to_string(list_sort(list_distinct(list(uuid))), ',') AS all_uuids, told_by
  FROM u
  WHERE uuid LIKE 'GPU-%'
  GROUP BY told_by
)
SELECT * FROM s
ORDER BY uuids_seen = gpus_given DESC NULLS LAST, told_by

-- job_gpus: GPUs that the job's processes saw or used, by UUID, beside how many accounting says it held.
-- TABLES: process, cuda_sample, slurm_job
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL
-- NEEDS: process, cuda_sample
-- EMPTY: BIGINT, BIGINT, VARCHAR
-- PRUNE: job_id
-- COLUMN uuids_seen: GPUs with a UUID that its processes saw
-- COLUMN gpus_given: GPUs that accounting says it was given
-- COLUMN all_uuids: their UUIDs, comma-separated
-- CAVEAT: A process may see more GPUs than its job was given where nothing confines it.
WITH u AS (
  SELECT trim(unnest(string_split(gpu_uuids, ','))) AS uuid FROM process
  WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
  UNION ALL
  SELECT gpu_uuid FROM cuda_sample
  WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
)
SELECT
  count(DISTINCT uuid) AS uuids_seen,
  (SELECT max(gpus) FROM slurm_job WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt))
    AS gpus_given,
  array_to_string(list_sort(list_distinct(list(uuid))), ',') AS all_uuids
FROM u
WHERE uuid LIKE 'GPU-%'
HAVING count(*) > 0

-- rank_gpu: The one GPU that a rank of the job used, where a source ties it to the rank.
-- TABLES: process, cuda_sample
-- PARAMS: job_id VARCHAR, rank BIGINT, attempt BIGINT = NULL
-- NEEDS: process, cuda_sample
-- PRUNE: job_id
-- COLUMN rank: rank
-- COLUMN node: node that it ran on
-- COLUMN gpu_uuid: UUID of its GPU
-- CAVEAT: A process that sees several GPUs, or used several, is tied to none of them.
WITH t AS (
  SELECT node, gpu_uuid FROM cuda_sample
  WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt) AND rank = $rank AND gpu_uuid IS NOT NULL
  UNION ALL
  SELECT node, trim(unnest(string_split(gpu_uuids, ','))) FROM process
  WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt) AND rank = $rank AND gpu_uuids IS NOT NULL
)
SELECT $rank::BIGINT AS rank, any_value(node) AS node, any_value(gpu_uuid) AS gpu_uuid
FROM t
HAVING count(DISTINCT gpu_uuid) = 1

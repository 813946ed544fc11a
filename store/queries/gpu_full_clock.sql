-- gpu_full_clock: The highest SM clock that a GPU of the job can have, as the inventory of its node tells it.
-- TABLES: gpu_device
-- PARAMS: job_id VARCHAR, nodes VARCHAR = NULL, of_node VARCHAR = NULL, of_gpu BIGINT = NULL, of_uuid VARCHAR = NULL
-- PRUNE: job_id, nodes
-- EMPTY: VARCHAR, BIGINT, VARCHAR, DOUBLE
-- COLUMN node: node
-- COLUMN gpu: index on its node
-- COLUMN gpu_uuid: UUID
-- COLUMN clock_max_mhz [MHz]: its highest SM clock
-- CAVEAT: A card at full load stays below it by its power limit alone; a clock that somebody has set is lower too.
SELECT node, max(gpu) AS gpu, gpu_uuid, max(sm_clock_max_mhz) AS clock_max_mhz
FROM gpu_device
WHERE (job_id = $job_id OR (job_id IS NULL AND list_contains(string_split($nodes, ','), coalesce(node, ''))))
  AND node IS NOT DISTINCT FROM $of_node AND CASE WHEN $of_uuid IS NULL THEN gpu = $of_gpu ELSE gpu_uuid = $of_uuid END
GROUP BY node, gpu_uuid, CASE WHEN gpu_uuid IS NULL THEN gpu END
HAVING max(sm_clock_max_mhz) > 0
ORDER BY node, gpu, gpu_uuid

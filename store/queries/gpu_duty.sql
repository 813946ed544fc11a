-- gpu_duty: How busy each GPU of the job was in a window, the busiest first.
-- TABLES: gpu_sample, gpu_minute
-- PARAMS: job_id VARCHAR, nodes VARCHAR = NULL, gpus VARCHAR = NULL, from_ts TIMESTAMP = NULL, to_ts TIMESTAMP = NULL
-- EMPTY: VARCHAR, BIGINT, VARCHAR, HUGEINT, DOUBLE
-- PRUNE: job_id, nodes, from_ts, to_ts
-- COLUMN node: node
-- COLUMN gpu: index on its node
-- COLUMN gpu_uuid: UUID
-- COLUMN samples: samples of its activity in the window
-- COLUMN engine_mean [ratio]: mean engine activity
-- CAVEAT: Engine activity counts a spin as work.
WITH s AS (
  SELECT node, gpu, gpu_uuid, engine_n, engine_sum FROM gpu_window($from_ts, $to_ts)
  WHERE job_id = $job_id OR (job_id IS NULL AND list_contains(string_split($nodes, ','), coalesce(node, ''))
    AND ($gpus IS NULL OR gpu_uuid IS NULL OR list_contains(string_split($gpus, ','), gpu_uuid)))
)
SELECT
  node, max(gpu) AS gpu, gpu_uuid, sum(engine_n) AS samples, round(sum(engine_sum) / nullif(sum(engine_n), 0), 3) AS engine_mean
FROM s
GROUP BY node, gpu_uuid, CASE WHEN gpu_uuid IS NULL THEN s.gpu END
HAVING sum(engine_n) > 0
ORDER BY engine_mean DESC, node, gpu, gpu_uuid

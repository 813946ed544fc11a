-- gpu_throttle_reasons: Why a GPU of the job lowered its clocks: each reason of trouble that its driver named, and for how long.
-- TABLES: gpu_sample, gpu_minute
-- PARAMS: job_id VARCHAR, nodes VARCHAR = NULL, gpus VARCHAR = NULL, from_ts TIMESTAMP = NULL, to_ts TIMESTAMP = NULL, of_node VARCHAR = NULL, of_gpu BIGINT = NULL, of_uuid VARCHAR = NULL
-- EMPTY: VARCHAR, VARCHAR, BIGINT, BIGINT, TIMESTAMP, TIMESTAMP, BIGINT
-- PRUNE: job_id, nodes, from_ts, to_ts
-- COLUMN reason: the clock event reason, in NVML's words
-- COLUMN cause: heat, power, or heat or power: what the reason stands for
-- COLUMN minutes [min]: minutes of the GPU that have a sample with this reason
-- COLUMN watched_minutes [min]: minutes of the GPU that have samples of its reasons
-- COLUMN first_ts: first of the minutes with it
-- COLUMN last_ts: last sample in the last of them
-- COLUMN gpus_with: GPUs of the job that had this reason in a tenth of their minutes or more
-- CAVEAT: A minute counts whole. Where an exporter only has DCGM's running time of thermal violations, the software slowdown stands for heat.
WITH s AS (
  SELECT node, gpu, gpu_uuid, ts, max(last_ts) AS last_ts, bit_or(throttle_any) AS bits
  FROM gpu_window($from_ts, $to_ts)
  WHERE throttle_n > 0 AND (job_id = $job_id OR (job_id IS NULL AND list_contains(string_split($nodes, ','), coalesce(node, ''))
    AND ($gpus IS NULL OR gpu_uuid IS NULL OR list_contains(string_split($gpus, ','), gpu_uuid))))
  GROUP BY node, gpu_uuid, gpu, ts
),
r(bit, reason, cause, place) AS (
  VALUES (64, 'hardware thermal slowdown', 'heat', 1), (128, 'hardware power brake slowdown', 'power', 2),
    (32, 'software thermal slowdown', 'heat', 3), (8, 'hardware slowdown', 'heat or power', 4)
),
g AS (
  SELECT node, gpu_uuid, CASE WHEN gpu_uuid IS NULL THEN gpu END AS gpu, reason, cause, place,
    count(DISTINCT ts) FILTER (WHERE bits & bit <> 0) AS minutes, count(DISTINCT ts) AS watched,
    min(ts) FILTER (WHERE bits & bit <> 0) AS first_ts, max(last_ts) FILTER (WHERE bits & bit <> 0) AS last_ts
  FROM s, r
  GROUP BY ALL
),
w AS (SELECT *, count(*) FILTER (WHERE minutes > 0 AND minutes >= 0.1 * watched) OVER (PARTITION BY reason) AS gpus_with FROM g)
SELECT reason, cause, minutes, watched AS watched_minutes, first_ts, last_ts, gpus_with
FROM w
WHERE minutes > 0 AND node IS NOT DISTINCT FROM $of_node
  AND CASE WHEN $of_uuid IS NULL THEN gpu = $of_gpu ELSE gpu_uuid = $of_uuid END
ORDER BY place

-- gpu_metric: One measure of GPUs over time: count, minimum, mean, maximum and last value in each bucket.
-- TABLES: gpu_sample, gpu_detail
-- PARAMS: metric VARCHAR, job_id VARCHAR = NULL, nodes VARCHAR = NULL, gpu BIGINT = NULL, from_ts TIMESTAMP = NULL, to_ts TIMESTAMP = NULL, bucket_s BIGINT = 60, by_gpu BOOLEAN = true, detail BOOLEAN = false
-- PRUNE: job_id, nodes, from_ts, to_ts
-- COLUMN bucket_ts: start of the bucket
-- COLUMN node: node
-- COLUMN gpu: index on its node; empty where all GPUs are taken together
-- COLUMN gpus: GPUs in the bucket
-- COLUMN samples: samples with a value
-- COLUMN low [$metric]: lowest value
-- COLUMN mean [$metric]: mean value
-- COLUMN high [$metric]: highest value
-- COLUMN last [$metric]: last value
-- COLUMN rise [$metric]: last minus first value in the bucket, for running counters
-- COLUMN detail: samples of the minutes around an alarm, a second or less apart; with detail = true the other columns are of these
-- CAVEAT: What happened between two samples is not here. A card that is shared shows all of its users. Of what the driver sampled within a second the extremes were kept: no mean of it.
WITH t AS (
  SELECT *, false AS fine FROM gpu_sample
  UNION ALL BY NAME
  SELECT *, true AS fine FROM gpu_detail
),
s AS (
  SELECT node, gpu, ts, fine,
    CASE $metric
      WHEN 'fb_used_bytes' THEN fb_used_bytes::DOUBLE WHEN 'engine_active' THEN engine_active WHEN 'sm_active' THEN sm_active
      WHEN 'tensor_active' THEN tensor_active WHEN 'dram_active' THEN dram_active WHEN 'temp_c' THEN temp_c
      WHEN 'memory_temp_c' THEN memory_temp_c WHEN 'power_w' THEN power_w WHEN 'sm_clock_mhz' THEN sm_clock_mhz
      WHEN 'throttle_reasons' THEN throttle_reasons::DOUBLE WHEN 'ecc_sbe_total' THEN ecc_sbe_total::DOUBLE
      WHEN 'ecc_dbe_total' THEN ecc_dbe_total::DOUBLE WHEN 'nvlink_errors' THEN nvlink_errors::DOUBLE
      WHEN 'pcie_replays' THEN pcie_replays::DOUBLE WHEN 'pcie_tx_bytes_s' THEN pcie_tx_bytes_s
      WHEN 'pcie_rx_bytes_s' THEN pcie_rx_bytes_s END AS v
  FROM t
  WHERE (($job_id IS NULL AND $nodes IS NULL) OR job_id = $job_id
      OR (($job_id IS NULL OR job_id IS NULL) AND list_contains(string_split($nodes, ','), coalesce(node, ''))))
    AND ($gpu IS NULL OR gpu = $gpu)
    AND ($from_ts IS NULL OR ts >= $from_ts::TIMESTAMP) AND ($to_ts IS NULL OR ts <= $to_ts::TIMESTAMP)
),
w AS (SELECT *, fine = $detail AS wanted FROM s WHERE v IS NOT NULL)
SELECT
  time_bucket(to_seconds(greatest($bucket_s, 1)), ts, TIMESTAMP '2000-01-01') AS bucket_ts,
  CASE WHEN $by_gpu THEN node END AS node, CASE WHEN $by_gpu THEN gpu END AS gpu,
  count(DISTINCT (node, gpu)) AS gpus, count(*) FILTER (wanted) AS samples, round(min(v) FILTER (wanted), 4) AS low,
  round(avg(v) FILTER (wanted), 4) AS mean, round(max(v) FILTER (wanted), 4) AS high,
  round(arg_max(v, ts) FILTER (wanted), 4) AS last,
  round(arg_max(v, ts) FILTER (wanted) - arg_min(v, ts) FILTER (wanted), 4) AS rise, count(*) FILTER (fine) AS detail
FROM w
GROUP BY ALL
ORDER BY 1, 2, 3

-- host_metric: One measure of hosts over time: count, minimum, mean, maximum and last value in each bucket.
-- TABLES: host_sample
-- PARAMS: metric VARCHAR, nodes VARCHAR = NULL, from_ts TIMESTAMP = NULL, to_ts TIMESTAMP = NULL, bucket_s BIGINT = 60
-- PRUNE: none
-- COLUMN bucket_ts: start of the bucket
-- COLUMN node: node
-- COLUMN filesystem: mount point, for measures of a disk
-- COLUMN samples: samples with a value
-- COLUMN low [$metric]: lowest value
-- COLUMN mean [$metric]: mean value
-- COLUMN high [$metric]: highest value
-- COLUMN last [$metric]: last value
-- COLUMN rise [$metric]: last minus first value in the bucket, for running counters
-- CAVEAT: What happened between two samples is not here.
WITH s AS (
  SELECT node, filesystem, ts,
    CASE $metric
      WHEN 'load1' THEN load1 WHEN 'cpu_busy' THEN cpu_busy WHEN 'memory_available_bytes' THEN memory_available_bytes::DOUBLE
      WHEN 'swap_used_bytes' THEN swap_used_bytes::DOUBLE WHEN 'psi_cpu_some' THEN psi_cpu_some
      WHEN 'psi_memory_full' THEN psi_memory_full WHEN 'psi_io_full' THEN psi_io_full WHEN 'oom_kills' THEN oom_kills::DOUBLE
      WHEN 'disk_free_bytes' THEN disk_free_bytes::DOUBLE WHEN 'disk_read_bytes' THEN disk_read_bytes::DOUBLE
      WHEN 'disk_written_bytes' THEN disk_written_bytes::DOUBLE WHEN 'net_rx_bytes' THEN net_rx_bytes::DOUBLE
      WHEN 'net_tx_bytes' THEN net_tx_bytes::DOUBLE WHEN 'clock_offset_s' THEN clock_offset_s END AS v
  FROM host_sample
  WHERE ($nodes IS NULL OR list_contains(string_split($nodes, ','), coalesce(node, '')))
    AND ($from_ts IS NULL OR ts >= $from_ts::TIMESTAMP) AND ($to_ts IS NULL OR ts <= $to_ts::TIMESTAMP)
)
SELECT
  time_bucket(to_seconds(greatest($bucket_s, 1)), ts, TIMESTAMP '2000-01-01') AS bucket_ts, node, filesystem,
  count(*) AS samples, round(min(v), 4) AS low, round(avg(v), 4) AS mean, round(max(v), 4) AS high,
  round(arg_max(v, ts), 4) AS last, round(arg_max(v, ts) - arg_min(v, ts), 4) AS rise
FROM s WHERE v IS NOT NULL
GROUP BY ALL
ORDER BY 1, 2, 3

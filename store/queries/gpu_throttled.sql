-- gpu_throttled: How many of the job's GPUs lowered their clocks over a good part of the run, and on which nodes.
-- TABLES: gpu_sample, gpu_minute
-- PARAMS: job_id VARCHAR, nodes VARCHAR = NULL, gpus VARCHAR = NULL, from_ts TIMESTAMP = NULL, to_ts TIMESTAMP = NULL
-- EMPTY: BIGINT, BIGINT, BIGINT, BIGINT, VARCHAR, DOUBLE, DOUBLE, DOUBLE
-- PRUNE: job_id, nodes, from_ts, to_ts
-- COLUMN throttled: GPUs at work with hardware slowdown, thermal or power-brake bits in a tenth of their samples or more
-- COLUMN gpus_watched: GPUs with throttle bits recorded
-- COLUMN bad_nodes: nodes of the throttled ones
-- COLUMN all_nodes: nodes with GPUs
-- COLUMN named_nodes: the first eight of the nodes with throttled GPUs
-- COLUMN hottest_c [C]: highest temperature among the throttled ones
-- COLUMN clock_throttled_mhz [MHz]: median of their mean SM clock while they throttled
-- COLUMN clock_free_mhz [MHz]: median SM clock of the others at work
-- CAVEAT: Nodes that stand together in a list need not stand together in a room.
WITH g AS (
  SELECT node, gpu, gpu_uuid, severe_n / nullif(throttle_n, 0) AS share, temp_max_c AS temp_c,
    severe_clock_sum_mhz / nullif(severe_clock_n, 0) AS slow_mhz, free_clock_sum_mhz / nullif(free_clock_n, 0) AS free_mhz,
    engine_sum / nullif(engine_n, 0) AS engine
  FROM gpu_totals($job_id, $nodes, $gpus, $from_ts, $to_ts)
  WHERE throttle_n > 0
),
t AS (SELECT *, share >= 0.1 AND coalesce(engine, 1) > 0.1 AS bad FROM g)
SELECT
  count(*) FILTER (WHERE bad) AS throttled, count(*) AS gpus_watched, count(DISTINCT node) FILTER (WHERE bad) AS bad_nodes,
  count(DISTINCT node) AS all_nodes,
  array_to_string(list_sort(list_distinct(list(node) FILTER (WHERE bad)))[1:8], ', ') AS named_nodes,
  max(temp_c) FILTER (WHERE bad) AS hottest_c, round(median(slow_mhz) FILTER (WHERE bad)) AS clock_throttled_mhz,
  round(median(free_mhz) FILTER (WHERE NOT bad)) AS clock_free_mhz
FROM t
HAVING count(*) FILTER (WHERE bad) > 0

-- gpu_low_clocks: GPUs that were at work for minutes at far less than the clock of work, the worst first.
-- TABLES: gpu_sample, gpu_minute
-- PARAMS: job_id VARCHAR, nodes VARCHAR = NULL, gpus VARCHAR = NULL, from_ts TIMESTAMP = NULL, to_ts TIMESTAMP = NULL
-- EMPTY: VARCHAR, BIGINT, VARCHAR, BIGINT, BIGINT, DOUBLE, DOUBLE, DOUBLE, DOUBLE, BIGINT, BIGINT, BIGINT, BIGINT, VARCHAR
-- PRUNE: job_id, nodes, from_ts, to_ts
-- COLUMN node: node
-- COLUMN gpu: index on its node
-- COLUMN gpu_uuid: UUID
-- COLUMN busy_minutes: minutes in which it was at work and its clock was sampled
-- COLUMN low_minutes: of those, minutes with less than six tenths of the full clock
-- COLUMN low_share [ratio]: share of those
-- COLUMN clock_low_mhz [MHz]: median SM clock in them
-- COLUMN clock_full_mhz [MHz]: the full clock: its own in a good minute of work, or the median of all GPUs' where that is more
-- COLUMN temp_low_c [C]: median temperature in them
-- COLUMN slowed: GPUs with at least three such minutes, a tenth of their time at work
-- COLUMN gpus_watched: GPUs at work with clocks recorded
-- COLUMN bad_nodes: nodes of the slowed ones
-- COLUMN all_nodes: nodes of all of them
-- COLUMN named_nodes: the first eight of the nodes with slowed GPUs
-- CAVEAT: A clock does not say why it is low: heat, a power brake, a power limit, or a setting.
WITH m AS (
  SELECT node, max(gpu) AS gpu, gpu_uuid, sum(clock_sum_mhz) / nullif(sum(clock_n), 0) AS mhz,
    sum(engine_sum) / nullif(sum(engine_n), 0) AS engine, max(temp_max_c) AS temp
  FROM gpu_window($from_ts, $to_ts) s
  WHERE job_id = $job_id OR (job_id IS NULL AND list_contains(string_split($nodes, ','), coalesce(node, ''))
    AND ($gpus IS NULL OR gpu_uuid IS NULL OR list_contains(string_split($gpus, ','), gpu_uuid)))
  GROUP BY node, gpu_uuid, CASE WHEN gpu_uuid IS NULL THEN s.gpu END, ts
),
b AS (SELECT *, quantile_cont(mhz, 0.9) OVER (PARTITION BY node, gpu_uuid, gpu) AS own FROM m WHERE engine > 0.5 AND mhz > 0),
f AS (SELECT median(own) AS usual FROM (SELECT DISTINCT node, gpu_uuid, gpu, own FROM b)),
g AS (
  SELECT node, gpu, gpu_uuid, count(*) AS busy, count(*) FILTER (WHERE mhz < 0.6 * greatest(own, usual)) AS low,
    median(mhz) FILTER (WHERE mhz < 0.6 * greatest(own, usual)) AS clock_low, max(greatest(own, usual)) AS clock_full,
    median(temp) FILTER (WHERE mhz < 0.6 * greatest(own, usual)) AS temp_low
  FROM b, f GROUP BY node, gpu, gpu_uuid
),
r AS (SELECT *, low >= 3 AND low >= 0.1 * busy AS bad FROM g)
SELECT
  node, gpu, gpu_uuid, busy AS busy_minutes, low AS low_minutes, round(low / busy, 3) AS low_share, round(clock_low) AS clock_low_mhz,
  round(clock_full) AS clock_full_mhz, round(temp_low, 1) AS temp_low_c, count(*) FILTER (bad) OVER () AS slowed,
  count(*) OVER () AS gpus_watched, (SELECT count(DISTINCT node) FROM r WHERE bad) AS bad_nodes,
  (SELECT count(DISTINCT node) FROM r) AS all_nodes,
  (SELECT array_to_string(list_sort(list_distinct(list(node)))[1:8], ', ') FROM r WHERE bad) AS named_nodes
FROM r
QUALIFY bad
ORDER BY temp_low_c DESC NULLS LAST, low_share DESC, node, gpu, gpu_uuid

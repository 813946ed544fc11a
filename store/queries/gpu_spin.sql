-- gpu_spin: Where SM activity is not measured: GPUs whose engine is busy while memory and tensor cores (else power) rest, to the end or against others.
-- TABLES: gpu_sample, gpu_minute
-- PARAMS: job_id VARCHAR, nodes VARCHAR = NULL, gpus VARCHAR = NULL, from_ts TIMESTAMP = NULL, to_ts TIMESTAMP = NULL
-- EMPTY: BIGINT, BIGINT, BIGINT, BIGINT, DOUBLE, DOUBLE, DOUBLE, DOUBLE, DOUBLE, DOUBLE, DOUBLE, BIGINT, VARCHAR, BIGINT, VARCHAR, VARCHAR, BIGINT, VARCHAR, DOUBLE, BIGINT, DOUBLE, DOUBLE, DOUBLE, DOUBLE
-- PRUNE: job_id, nodes, from_ts, to_ts
-- COLUMN gpus: GPUs with engine activity, and memory activity or power, and no SM activity
-- COLUMN used: of those, GPUs that were used at all: what is said of the others, and of all, is said of these
-- COLUMN working: of those, GPUs whose memory was half as busy in the last ten minutes as in busy minutes, or more
-- COLUMN spinning: of those, GPUs that only spun in the last ten minutes, and had worked before
-- COLUMN spin_engine [ratio]: median engine activity of the spinning ones in the last ten minutes
-- COLUMN spin_dram [ratio]: median of their memory activity in them
-- COLUMN spin_tensor [ratio]: median of their tensor cores' activity in them
-- COLUMN spin_power_w [W]: median of their power in them
-- COLUMN busy_dram [ratio]: median of their memory activity in a busy minute (nine tenths of the minutes had less)
-- COLUMN busy_tensor [ratio]: median of their tensor cores' activity in a busy minute
-- COLUMN busy_power_w [W]: median of their power in a busy minute
-- COLUMN cold: GPUs whose engine did nothing in the last ten minutes
-- COLUMN cold_node: node of the first of them
-- COLUMN cold_gpu: its index
-- COLUMN cold_uuid: its UUID
-- COLUMN node: node of the GPU whose mean memory activity is highest
-- COLUMN gpu: its index
-- COLUMN gpu_uuid: its UUID
-- COLUMN dram_max [ratio]: its mean memory activity
-- COLUMN high: GPUs with more than 0.8 of that
-- COLUMN rest_dram_median [ratio]: median of the mean memory activity of the others
-- COLUMN rest_engine_median [ratio]: median of their mean engine activity
-- COLUMN all_engine_min [ratio]: lowest mean engine activity of all GPUs
-- COLUMN all_tensor_max [ratio]: highest mean activity of tensor cores
-- CAVEAT: Memory activity may be a share of time (nvidia-smi) or of bandwidth (DCGM): it is held against the same GPU's only.
WITH g AS (
  SELECT node, gpu, gpu_uuid, engine_late_sum / nullif(engine_late_n, 0) AS engine, dram_late_sum / nullif(dram_late_n, 0) AS dram,
    tensor_late_sum / nullif(tensor_late_n, 0) AS tensor, power_late_w AS power, dram_busy, tensor_busy, power_busy_w,
    round(dram_mean, 9) AS dram_mean, tensor_mean, engine_sum / nullif(engine_n, 0) AS engine_mean,
    NOT unused OR bool_and(unused) OVER () AS used
  FROM gpu_totals($job_id, $nodes, $gpus, $from_ts, $to_ts)
  WHERE coalesce(sm_n, 0) = 0 AND engine_n > 0 AND (dram_busy IS NOT NULL OR power_busy_w > 0)
),
s AS (
  -- An exporter's default counters have no memory activity: then only a fall to little more than half of the power tells.
  SELECT *, CASE WHEN dram_busy IS NULL THEN coalesce(engine > 0.9 AND power < 0.55 * power_busy_w, false) ELSE
    coalesce(engine > 0.9 AND dram < 0.03 AND coalesce(tensor, 0) < 0.02 AND dram_busy > greatest(0.1, 5 * dram)
      AND coalesce(power / nullif(power_busy_w, 0), 0) < 0.75, false) END AS spins,
    coalesce(engine < 0.02, false) AS idle, coalesce(used AND dram_mean > 0.8 * max(dram_mean) OVER (), false) AS high,
    row_number() OVER (ORDER BY dram_mean DESC, node, gpu, gpu_uuid) AS first,
    row_number() OVER (ORDER BY node, gpu, gpu_uuid) AS place
  FROM g
)
SELECT
  count(*) AS gpus, count(*) FILTER (WHERE used) AS used, count(*) FILTER (WHERE engine > 0.3 AND dram >= 0.5 * dram_busy AND dram_busy > 0) AS working,
  count(*) FILTER (WHERE spins) AS spinning, round(median(engine) FILTER (WHERE spins), 3) AS spin_engine,
  round(median(dram) FILTER (WHERE spins), 3) AS spin_dram, round(median(tensor) FILTER (WHERE spins), 3) AS spin_tensor,
  round(median(power) FILTER (WHERE spins), 1) AS spin_power_w, round(median(dram_busy) FILTER (WHERE spins), 3) AS busy_dram,
  round(median(tensor_busy) FILTER (WHERE spins), 3) AS busy_tensor, round(median(power_busy_w) FILTER (WHERE spins), 1) AS busy_power_w,
  count(*) FILTER (WHERE idle) AS cold, arg_min(node, place) FILTER (WHERE idle) AS cold_node,
  arg_min(gpu, place) FILTER (WHERE idle) AS cold_gpu, arg_min(gpu_uuid, place) FILTER (WHERE idle) AS cold_uuid,
  arg_min(node, first) AS node, arg_min(gpu, first) AS gpu, arg_min(gpu_uuid, first) AS gpu_uuid, round(max(dram_mean), 3) AS dram_max,
  count(*) FILTER (WHERE high) AS high, round(median(dram_mean) FILTER (WHERE used AND NOT high), 3) AS rest_dram_median,
  round(median(engine_mean) FILTER (WHERE used AND NOT high), 3) AS rest_engine_median, round(min(engine_mean) FILTER (WHERE used), 3) AS all_engine_min,
  round(max(tensor_mean), 3) AS all_tensor_max
FROM s
HAVING count(*) > 0

-- gpu_counter_rises: Error counters of the job's GPUs: what they stood at before, and what they rose by in the run.
-- TABLES: gpu_sample, gpu_minute
-- PARAMS: job_id VARCHAR, nodes VARCHAR = NULL, from_ts TIMESTAMP = NULL, to_ts TIMESTAMP = NULL
-- PRUNE: job_id, nodes, from_ts, to_ts
-- COLUMN node: node
-- COLUMN gpu: index on its node
-- COLUMN gpu_uuid: UUID
-- COLUMN counter: counter
-- COLUMN serious: uncorrected errors, failed or pending remaps, retired pages
-- COLUMN first_value: first value in the run
-- COLUMN last_value: last value in the run
-- COLUMN rise: last minus first
-- COLUMN risen_ts: when it rose first
-- COLUMN before_end_s [s]: seconds from the rise to the job's end
-- CAVEAT: A counter that was not sampled before the fault can show no rise.
WITH s AS (
  SELECT * FROM gpu_window($from_ts, $to_ts)
  WHERE job_id = $job_id OR (job_id IS NULL AND list_contains(string_split($nodes, ','), node))
),
-- Most GPUs count nothing: only those with a counter above zero are taken apart.
g AS (
  SELECT node, gpu, gpu_uuid, mig FROM s GROUP BY ALL
  HAVING greatest(max(ecc_dbe_total_max), max(remapped_uncorrectable_max), max(remap_failure_max), max(remap_pending_max),
    max(retired_pages_max), max(ecc_sbe_total_max), max(remapped_correctable_max), max(nvlink_errors_max),
    max(pcie_replays_max)) > 0
),
c AS (
  SELECT s.node, s.gpu, s.gpu_uuid, s.mig, s.first_ts, s.rose_ts, unnest([
    {'counter': 'ecc_dbe_total', 'low': ecc_dbe_total_min, 'high': ecc_dbe_total_max, 'serious': true},
    {'counter': 'remapped_uncorrectable', 'low': remapped_uncorrectable_min, 'high': remapped_uncorrectable_max, 'serious': true},
    {'counter': 'remap_failure', 'low': remap_failure_min, 'high': remap_failure_max, 'serious': true},
    {'counter': 'remap_pending', 'low': remap_pending_min, 'high': remap_pending_max, 'serious': true},
    {'counter': 'retired_pages', 'low': retired_pages_min, 'high': retired_pages_max, 'serious': true},
    {'counter': 'ecc_sbe_total', 'low': ecc_sbe_total_min, 'high': ecc_sbe_total_max, 'serious': false},
    {'counter': 'remapped_correctable', 'low': remapped_correctable_min, 'high': remapped_correctable_max, 'serious': false},
    {'counter': 'nvlink_errors', 'low': nvlink_errors_min, 'high': nvlink_errors_max, 'serious': false},
    {'counter': 'pcie_replays', 'low': pcie_replays_min, 'high': pcie_replays_max, 'serious': false}
  ], recursive := true)
  FROM s JOIN g ON s.node IS NOT DISTINCT FROM g.node AND s.gpu IS NOT DISTINCT FROM g.gpu
    AND s.gpu_uuid IS NOT DISTINCT FROM g.gpu_uuid AND s.mig IS NOT DISTINCT FROM g.mig
),
v AS (
  SELECT *, lag(high) OVER (PARTITION BY node, gpu, gpu_uuid, mig, counter ORDER BY first_ts) AS before
  FROM c WHERE high IS NOT NULL
),
r AS (
  SELECT *, CASE WHEN low > before THEN first_ts WHEN high > low AND high > coalesce(before, low) THEN coalesce(rose_ts, first_ts) END AS risen
  FROM v
)
SELECT
  node, gpu, gpu_uuid, counter, serious, arg_min(low, first_ts) AS first_value, arg_max(high, first_ts) AS last_value,
  arg_max(high, first_ts) - arg_min(low, first_ts) AS rise, min(risen) AS risen_ts,
  date_diff('second', min(risen), $to_ts::TIMESTAMP) AS before_end_s
FROM r
GROUP BY node, gpu, gpu_uuid, counter, serious
HAVING max(high) > 0
ORDER BY serious DESC, rise DESC, node, gpu, gpu_uuid, counter

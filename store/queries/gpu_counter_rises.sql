-- gpu_counter_rises: Error counters of the job's GPUs: what they stood at before, and what they rose by in the run.
-- TABLES: gpu_sample
-- PARAMS: job_id VARCHAR, nodes VARCHAR = NULL, from_ts TIMESTAMP = NULL, to_ts TIMESTAMP = NULL
-- PRUNE: from_ts, to_ts
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
  SELECT node, gpu, gpu_uuid, mig, ts, unnest([
    {'counter': 'ecc_dbe_total', 'value': ecc_dbe_total, 'serious': true},
    {'counter': 'remapped_uncorrectable', 'value': remapped_uncorrectable, 'serious': true},
    {'counter': 'remap_failure', 'value': remap_failure::BIGINT, 'serious': true},
    {'counter': 'remap_pending', 'value': remap_pending::BIGINT, 'serious': true},
    {'counter': 'retired_pages', 'value': retired_pages, 'serious': true},
    {'counter': 'ecc_sbe_total', 'value': ecc_sbe_total, 'serious': false},
    {'counter': 'remapped_correctable', 'value': remapped_correctable, 'serious': false},
    {'counter': 'nvlink_errors', 'value': nvlink_errors, 'serious': false},
    {'counter': 'pcie_replays', 'value': pcie_replays, 'serious': false}
  ]) AS c
  FROM gpu_sample
  WHERE (job_id = $job_id OR (job_id IS NULL AND list_contains(string_split($nodes, ','), node)))
    AND ($from_ts IS NULL OR ts >= $from_ts::TIMESTAMP) AND ($to_ts IS NULL OR ts <= $to_ts::TIMESTAMP)
),
v AS (
  SELECT node, gpu, gpu_uuid, c.counter AS counter, c.serious AS serious, c.value AS value, ts,
    lag(c.value) OVER (PARTITION BY node, gpu, gpu_uuid, mig, c.counter ORDER BY ts) AS before
  FROM s WHERE c.value IS NOT NULL
)
SELECT
  v.node, v.gpu, v.gpu_uuid, v.counter, v.serious, arg_min(v.value, v.ts) AS first_value,
  arg_max(v.value, v.ts) AS last_value, arg_max(v.value, v.ts) - arg_min(v.value, v.ts) AS rise,
  min(v.ts) FILTER (WHERE v.value > v.before) AS risen_ts,
  date_diff('second', min(v.ts) FILTER (WHERE v.value > v.before), $to_ts::TIMESTAMP) AS before_end_s
FROM v
GROUP BY v.node, v.gpu, v.gpu_uuid, v.counter, v.serious
HAVING max(v.value) > 0
ORDER BY v.serious DESC, rise DESC, v.node, v.gpu, v.gpu_uuid, v.counter

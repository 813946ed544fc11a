-- gpu_counter_rises: Error counters of the job's GPUs: what they stood at before, and what they rose by in the run.
-- TABLES: gpu_sample, gpu_minute
-- PARAMS: job_id VARCHAR, nodes VARCHAR = NULL, gpus VARCHAR = NULL, from_ts TIMESTAMP = NULL, to_ts TIMESTAMP = NULL, end_ts TIMESTAMP = NULL
-- NONE: error counter rise, error counter rose, counter rise, counter rose
-- EMPTY: VARCHAR, BIGINT, VARCHAR, VARCHAR, BOOLEAN, BIGINT, BIGINT, BIGINT, TIMESTAMP, BIGINT
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
-- COLUMN before_end_s [s]: seconds from the rise to the job's end (end_ts, else to_ts); negative where it was first seen after it
-- CAVEAT: A counter that was not sampled before the fault can show no rise.
WITH s AS NOT MATERIALIZED (
  SELECT node, gpu, gpu_uuid, first_ts, rose_ts,
    ecc_dbe_total_min, ecc_dbe_total_max,
    remapped_uncorrectable_min, remapped_uncorrectable_max,
    remap_failure_min, remap_failure_max,
    remap_pending_min, remap_pending_max,
    retired_pages_min, retired_pages_max,
    ecc_sbe_total_min, ecc_sbe_total_max,
    remapped_correctable_min, remapped_correctable_max,
    nvlink_errors_min, nvlink_errors_max,
    pcie_replays_min, pcie_replays_max
  FROM gpu_window($from_ts, $to_ts)
  WHERE job_id = $job_id OR (job_id IS NULL AND list_contains(string_split($nodes, ','), coalesce(node, ''))
    AND ($gpus IS NULL OR gpu_uuid IS NULL OR list_contains(string_split($gpus, ','), gpu_uuid)))
),
g AS MATERIALIZED (
  SELECT node, gpu, gpu_uuid,
    ecc_dbe_total_first, ecc_dbe_total_last, ecc_dbe_total_high,
    remapped_uncorrectable_first, remapped_uncorrectable_last, remapped_uncorrectable_high,
    remap_failure_first, remap_failure_last, remap_failure_high,
    remap_pending_first, remap_pending_last, remap_pending_high,
    retired_pages_first, retired_pages_last, retired_pages_high,
    ecc_sbe_total_first, ecc_sbe_total_last, ecc_sbe_total_high,
    remapped_correctable_first, remapped_correctable_last, remapped_correctable_high,
    nvlink_errors_first, nvlink_errors_last, nvlink_errors_high,
    pcie_replays_first, pcie_replays_last, pcie_replays_high
  FROM gpu_totals($job_id, $nodes, $gpus, $from_ts, $to_ts)
),
-- When it rose is asked only of the GPUs on which something did.
t AS (
  SELECT g.node, g.gpu, g.gpu_uuid,
    min(CASE WHEN s.ecc_dbe_total_min > g.ecc_dbe_total_first THEN s.first_ts WHEN s.ecc_dbe_total_max > g.ecc_dbe_total_first THEN coalesce(s.rose_ts, s.first_ts) END)
      AS ecc_dbe_total_risen,
    min(CASE WHEN s.remapped_uncorrectable_min > g.remapped_uncorrectable_first THEN s.first_ts WHEN s.remapped_uncorrectable_max > g.remapped_uncorrectable_first THEN coalesce(s.rose_ts, s.first_ts) END)
      AS remapped_uncorrectable_risen,
    min(CASE WHEN s.remap_failure_min > g.remap_failure_first THEN s.first_ts WHEN s.remap_failure_max > g.remap_failure_first THEN coalesce(s.rose_ts, s.first_ts) END)
      AS remap_failure_risen,
    min(CASE WHEN s.remap_pending_min > g.remap_pending_first THEN s.first_ts WHEN s.remap_pending_max > g.remap_pending_first THEN coalesce(s.rose_ts, s.first_ts) END)
      AS remap_pending_risen,
    min(CASE WHEN s.retired_pages_min > g.retired_pages_first THEN s.first_ts WHEN s.retired_pages_max > g.retired_pages_first THEN coalesce(s.rose_ts, s.first_ts) END)
      AS retired_pages_risen,
    min(CASE WHEN s.ecc_sbe_total_min > g.ecc_sbe_total_first THEN s.first_ts WHEN s.ecc_sbe_total_max > g.ecc_sbe_total_first THEN coalesce(s.rose_ts, s.first_ts) END)
      AS ecc_sbe_total_risen,
    min(CASE WHEN s.remapped_correctable_min > g.remapped_correctable_first THEN s.first_ts WHEN s.remapped_correctable_max > g.remapped_correctable_first THEN coalesce(s.rose_ts, s.first_ts) END)
      AS remapped_correctable_risen,
    min(CASE WHEN s.nvlink_errors_min > g.nvlink_errors_first THEN s.first_ts WHEN s.nvlink_errors_max > g.nvlink_errors_first THEN coalesce(s.rose_ts, s.first_ts) END)
      AS nvlink_errors_risen,
    min(CASE WHEN s.pcie_replays_min > g.pcie_replays_first THEN s.first_ts WHEN s.pcie_replays_max > g.pcie_replays_first THEN coalesce(s.rose_ts, s.first_ts) END)
      AS pcie_replays_risen
  FROM s JOIN g ON s.node IS NOT DISTINCT FROM g.node AND s.gpu_uuid IS NOT DISTINCT FROM g.gpu_uuid
    AND (s.gpu_uuid IS NOT NULL OR s.gpu IS NOT DISTINCT FROM g.gpu)
  WHERE ecc_dbe_total_high > ecc_dbe_total_first
      OR remapped_uncorrectable_high > remapped_uncorrectable_first
      OR remap_failure_high > remap_failure_first
      OR remap_pending_high > remap_pending_first
      OR retired_pages_high > retired_pages_first
      OR ecc_sbe_total_high > ecc_sbe_total_first
      OR remapped_correctable_high > remapped_correctable_first
      OR nvlink_errors_high > nvlink_errors_first
      OR pcie_replays_high > pcie_replays_first
  GROUP BY g.node, g.gpu, g.gpu_uuid
),
c AS (
  SELECT g.node, g.gpu, g.gpu_uuid, unnest([
    {'counter': 'ecc_dbe_total', 'serious': true, 'first': ecc_dbe_total_first, 'last': ecc_dbe_total_last, 'high': ecc_dbe_total_high, 'risen': ecc_dbe_total_risen},
    {'counter': 'remapped_uncorrectable', 'serious': true, 'first': remapped_uncorrectable_first, 'last': remapped_uncorrectable_last, 'high': remapped_uncorrectable_high, 'risen': remapped_uncorrectable_risen},
    {'counter': 'remap_failure', 'serious': true, 'first': remap_failure_first, 'last': remap_failure_last, 'high': remap_failure_high, 'risen': remap_failure_risen},
    {'counter': 'remap_pending', 'serious': true, 'first': remap_pending_first, 'last': remap_pending_last, 'high': remap_pending_high, 'risen': remap_pending_risen},
    {'counter': 'retired_pages', 'serious': true, 'first': retired_pages_first, 'last': retired_pages_last, 'high': retired_pages_high, 'risen': retired_pages_risen},
    {'counter': 'ecc_sbe_total', 'serious': false, 'first': ecc_sbe_total_first, 'last': ecc_sbe_total_last, 'high': ecc_sbe_total_high, 'risen': ecc_sbe_total_risen},
    {'counter': 'remapped_correctable', 'serious': false, 'first': remapped_correctable_first, 'last': remapped_correctable_last, 'high': remapped_correctable_high, 'risen': remapped_correctable_risen},
    {'counter': 'nvlink_errors', 'serious': false, 'first': nvlink_errors_first, 'last': nvlink_errors_last, 'high': nvlink_errors_high, 'risen': nvlink_errors_risen},
    {'counter': 'pcie_replays', 'serious': false, 'first': pcie_replays_first, 'last': pcie_replays_last, 'high': pcie_replays_high, 'risen': pcie_replays_risen}
  ], recursive := true)
  FROM g LEFT JOIN t ON t.node IS NOT DISTINCT FROM g.node AND t.gpu IS NOT DISTINCT FROM g.gpu
    AND t.gpu_uuid IS NOT DISTINCT FROM g.gpu_uuid
)
SELECT
  node, gpu, gpu_uuid, counter, serious, first AS first_value, last AS last_value, last - first AS rise, risen AS risen_ts,
  date_diff('second', risen, coalesce($end_ts, $to_ts)::TIMESTAMP) AS before_end_s
FROM c
WHERE high > 0
ORDER BY serious DESC, rise DESC, node, gpu, gpu_uuid, counter

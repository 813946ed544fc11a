-- gpu_counter_rises: Error counters of the job's GPUs: what they stood at before, and what they rose by in the run.
-- TABLES: gpu_sample, slurm_job, process, log_line
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL
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
WITH j AS (
  SELECT * FROM slurm_job
  WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
  ORDER BY attempt DESC NULLS LAST, end_ts DESC NULLS FIRST, start_ts DESC NULLS LAST LIMIT 1
),
hosts AS (
  SELECT trim(unnest(string_split(node_list, ','))) AS node FROM j WHERE node_list IS NOT NULL
  UNION
  SELECT node FROM process
  WHERE job_id = $job_id AND node IS NOT NULL AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
),
span AS (
  SELECT
    coalesce((SELECT start_ts FROM j), (SELECT min(ts) FROM log_line WHERE job_id = $job_id)) AS from_ts,
    coalesce((SELECT end_ts FROM j), CASE WHEN (SELECT count(*) FROM j) = 0 THEN
      (SELECT max(ts) FROM log_line WHERE job_id = $job_id) END, TIMESTAMP '9999-12-31') AS to_ts
),
s AS (
  SELECT g.node, g.gpu, g.gpu_uuid, g.mig, g.ts, unnest([
    {'counter': 'ecc_dbe_total', 'value': g.ecc_dbe_total, 'serious': true},
    {'counter': 'remapped_uncorrectable', 'value': g.remapped_uncorrectable, 'serious': true},
    {'counter': 'remap_failure', 'value': g.remap_failure::BIGINT, 'serious': true},
    {'counter': 'remap_pending', 'value': g.remap_pending::BIGINT, 'serious': true},
    {'counter': 'retired_pages', 'value': g.retired_pages, 'serious': true},
    {'counter': 'ecc_sbe_total', 'value': g.ecc_sbe_total, 'serious': false},
    {'counter': 'remapped_correctable', 'value': g.remapped_correctable, 'serious': false},
    {'counter': 'nvlink_errors', 'value': g.nvlink_errors, 'serious': false},
    {'counter': 'pcie_replays', 'value': g.pcie_replays, 'serious': false}
  ]) AS c
  FROM gpu_sample g, span
  WHERE (g.job_id = $job_id AND ($attempt IS NULL OR g.attempt IS NULL OR g.attempt = $attempt))
     OR (g.job_id IS NULL AND g.node IN (SELECT node FROM hosts) AND g.ts BETWEEN span.from_ts AND span.to_ts)
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
  CASE WHEN max(span.to_ts) < TIMESTAMP '9999-01-01'
       THEN date_diff('second', min(v.ts) FILTER (WHERE v.value > v.before), max(span.to_ts)) END AS before_end_s
FROM v, span
GROUP BY v.node, v.gpu, v.gpu_uuid, v.counter, v.serious
HAVING max(v.value) > 0
ORDER BY v.serious DESC, rise DESC, v.node, v.gpu, v.gpu_uuid, v.counter

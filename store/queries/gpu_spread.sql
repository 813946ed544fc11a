-- gpu_spread: The GPU of the job that works most against the others: SM activity, and what the others do meanwhile.
-- TABLES: gpu_sample, gpu_minute
-- PARAMS: job_id VARCHAR, nodes VARCHAR = NULL, gpus VARCHAR = NULL, from_ts TIMESTAMP = NULL, to_ts TIMESTAMP = NULL
-- EMPTY: VARCHAR, BIGINT, VARCHAR, DOUBLE, DOUBLE, BIGINT, BIGINT, DOUBLE, DOUBLE, DOUBLE, DOUBLE, DOUBLE, DOUBLE, DOUBLE, DOUBLE, DOUBLE, BIGINT, DOUBLE, DOUBLE, BIGINT, VARCHAR, BIGINT, VARCHAR, BIGINT, VARCHAR, BIGINT, VARCHAR, DOUBLE, DOUBLE, DOUBLE
-- PRUNE: job_id, nodes, from_ts, to_ts
-- COLUMN node: node of the GPU whose SM activity is highest
-- COLUMN gpu: its index
-- COLUMN gpu_uuid: its UUID
-- COLUMN sm_mean [ratio]: its mean SM activity
-- COLUMN engine_mean [ratio]: its mean engine activity
-- COLUMN gpus: GPUs with samples
-- COLUMN used: of those, GPUs that were used at all: all figures but those of spinning and cold GPUs are of them
-- COLUMN peer_sm_median [ratio]: median of the others' mean SM activity
-- COLUMN peer_sm_max [ratio]: highest of the others' mean SM activity
-- COLUMN peer_engine_median [ratio]: median of the others' mean engine activity
-- COLUMN times_peers: its SM activity over the others' median
-- COLUMN all_engine_median [ratio]: median engine activity of all GPUs
-- COLUMN all_sm_median [ratio]: median SM activity of all GPUs
-- COLUMN all_engine_min [ratio]: lowest mean engine activity of all GPUs
-- COLUMN all_sm_min [ratio]: lowest mean SM activity of all GPUs
-- COLUMN all_sm_max [ratio]: highest mean SM activity of all GPUs
-- COLUMN spinning: GPUs that spun in the last ten minutes: engine activity above 0.9, SM activity below 0.12 (below 0.2 where that is no half of the GPU's own mean)
-- COLUMN spin_engine [ratio]: their median engine activity in the last ten minutes
-- COLUMN spin_sm [ratio]: their median SM activity in the last ten minutes
-- COLUMN cold: GPUs whose engine did nothing in the last ten minutes
-- COLUMN cold_node: node of the first of them
-- COLUMN cold_gpu: its index
-- COLUMN cold_uuid: its UUID
-- COLUMN high: GPUs with more than 0.8 of the highest mean SM activity
-- COLUMN second_node: node of the GPU whose SM activity is second
-- COLUMN second_gpu: its index
-- COLUMN second_uuid: its UUID
-- COLUMN rest_sm_median [ratio]: median of the mean SM activity of the GPUs that are not high
-- COLUMN rest_sm_max [ratio]: highest of theirs
-- COLUMN rest_engine_median [ratio]: median of their mean engine activity
-- CAVEAT: Engine activity counts a spin as work; only SM activity tells waiting from computing.
WITH a AS (
  SELECT node, gpu, gpu_uuid, engine_sum, engine_n, sm_sum, sm_n, engine_late_sum, engine_late_n, sm_late_sum, sm_late_n,
    NOT unused OR bool_and(unused) OVER () AS used
  FROM gpu_totals($job_id, $nodes, $gpus, $from_ts, $to_ts) WHERE sm_n > 0
),
g AS (
  -- Sums of threads differ in their last bits from one run to the next: rounded, they cannot decide which GPU comes first.
  SELECT node, gpu, gpu_uuid, used, round(engine_sum / nullif(engine_n, 0), 9) AS engine, round(sm_sum / nullif(sm_n, 0), 9) AS sm,
    round(engine_late_sum / nullif(engine_late_n, 0), 9) AS engine_late, round(sm_late_sum / nullif(sm_late_n, 0), 9) AS sm_late
  FROM a
),
r AS (
  SELECT *, row_number() OVER (ORDER BY used DESC, sm DESC, node, gpu, gpu_uuid) AS place, used AND sm > 0.8 * max(sm) OVER () AS high,
    -- How many SMs a waiting collective holds depends on the card and its channels.
    engine_late > 0.9 AND sm_late < greatest(0.12, least(0.2, 0.5 * sm)) AS spins
  FROM g
)
SELECT
  arg_min(node, place) AS node, arg_min(gpu, place) AS gpu, arg_min(gpu_uuid, place) AS gpu_uuid, round(max(sm), 3) AS sm_mean,
  round(arg_min(engine, place), 3) AS engine_mean, count(*) AS gpus, count(*) FILTER (WHERE used) AS used,
  round(median(sm) FILTER (WHERE used AND place > 1), 3) AS peer_sm_median, round(max(sm) FILTER (WHERE used AND place > 1), 3) AS peer_sm_max,
  round(median(engine) FILTER (WHERE used AND place > 1), 3) AS peer_engine_median,
  round(max(sm) / nullif(median(sm) FILTER (WHERE used AND place > 1), 0), 1) AS times_peers,
  round(median(engine) FILTER (WHERE used), 3) AS all_engine_median, round(median(sm) FILTER (WHERE used), 3) AS all_sm_median,
  round(min(engine) FILTER (WHERE used), 3) AS all_engine_min,
  round(min(sm) FILTER (WHERE used), 3) AS all_sm_min, round(max(sm), 3) AS all_sm_max,
  count(*) FILTER (WHERE spins) AS spinning,
  round(median(engine_late) FILTER (WHERE spins), 3) AS spin_engine,
  round(median(sm_late) FILTER (WHERE spins), 3) AS spin_sm,
  count(*) FILTER (WHERE engine_late < 0.02) AS cold,
  arg_min(node, place) FILTER (WHERE engine_late < 0.02) AS cold_node,
  arg_min(gpu, place) FILTER (WHERE engine_late < 0.02) AS cold_gpu,
  arg_min(gpu_uuid, place) FILTER (WHERE engine_late < 0.02) AS cold_uuid,
  count(*) FILTER (WHERE high) AS high,
  arg_min(node, place) FILTER (WHERE used AND place = 2) AS second_node, arg_min(gpu, place) FILTER (WHERE used AND place = 2) AS second_gpu,
  arg_min(gpu_uuid, place) FILTER (WHERE used AND place = 2) AS second_uuid,
  round(median(sm) FILTER (WHERE used AND NOT high), 3) AS rest_sm_median, round(max(sm) FILTER (WHERE used AND NOT high), 3) AS rest_sm_max,
  round(median(engine) FILTER (WHERE used AND NOT high), 3) AS rest_engine_median
FROM r
HAVING count(*) > 0

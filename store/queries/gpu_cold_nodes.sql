-- gpu_cold_nodes: Nodes of which no GPU did anything in the last ten minutes, and what the GPUs of the other nodes did meanwhile.
-- TABLES: gpu_sample, gpu_minute
-- PARAMS: job_id VARCHAR, nodes VARCHAR = NULL, gpus VARCHAR = NULL, from_ts TIMESTAMP = NULL, to_ts TIMESTAMP = NULL
-- EMPTY: VARCHAR, BIGINT, BIGINT, BIGINT, BIGINT, DOUBLE, DOUBLE
-- PRUNE: job_id, nodes, from_ts, to_ts
-- COLUMN node: node
-- COLUMN cold: its GPUs, all of which did nothing
-- COLUMN cold_nodes: nodes of which that holds
-- COLUMN others: GPUs of the other nodes
-- COLUMN spinning: of those, GPUs that spun: engine activity above 0.9, SM activity below 0.12 (below 0.2 where that is no half of the GPU's own mean)
-- COLUMN spin_engine [ratio]: median engine activity of those that spun, in the last ten minutes
-- COLUMN spin_sm [ratio]: their median SM activity
-- CAVEAT: GPUs that did nothing in the whole run are left out: they were not used.
WITH g AS (
  SELECT node, sm_sum / nullif(sm_n, 0) AS sm, engine_late_sum / nullif(engine_late_n, 0) AS engine_late,
    sm_late_sum / nullif(sm_late_n, 0) AS sm_late
  FROM gpu_totals($job_id, $nodes, $gpus, $from_ts, $to_ts) WHERE sm_n > 0 AND NOT unused
),
s AS (SELECT *, engine_late > 0.9 AND sm_late < greatest(0.12, least(0.2, 0.5 * sm)) AS spins FROM g),
n AS (SELECT node, count(*) AS gpus, bool_and(engine_late < 0.02) AS is_cold FROM s GROUP BY node),
o AS (
  SELECT count(*) AS others, count(*) FILTER (WHERE spins) AS spinning,
    round(median(engine_late) FILTER (WHERE spins), 3) AS spin_engine, round(median(sm_late) FILTER (WHERE spins), 3) AS spin_sm
  FROM s SEMI JOIN (SELECT node FROM n WHERE NOT coalesce(is_cold, false)) AS w USING (node)
)
SELECT node, gpus AS cold, count(*) OVER () AS cold_nodes, others, spinning, spin_engine, spin_sm
FROM n, o WHERE is_cold
ORDER BY node

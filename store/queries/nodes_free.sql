-- nodes_free: What is free on each node as Slurm saw it last, those with the most free GPUs first.
-- TABLES: slurm_node_sample, slurm_node_state
-- PARAMS: node VARCHAR = NULL
-- PRUNE: node
-- COLUMN node: node
-- COLUMN state: base state, as far as it is recorded
-- COLUMN state_flags: flags
-- COLUMN usable: it is neither down nor drained, failing, reserved for maintenance or silent
-- COLUMN gpus: GPUs
-- COLUMN gpus_free: GPUs that no job holds; none where the node is not usable
-- COLUMN cpus: CPUs
-- COLUMN cpus_free: likewise
-- COLUMN seen_ts: when it was looked at last
-- COLUMN all_gpus: GPUs of all these nodes
-- COLUMN all_free: free GPUs of all these nodes
-- COLUMN nodes_free: nodes on which every GPU (or CPU, where it has no GPU) is free
-- CAVEAT: As old as seen_ts says; a reservation or a limit can keep a job from what is free.
WITH a AS (SELECT * FROM slurm_node_sample WHERE $node IS NULL OR node = $node QUALIFY row_number() OVER (PARTITION BY node ORDER BY ts DESC, origin) = 1),
s AS (
  SELECT node, max_by(state, ts) AS state, max_by(coalesce(state_flags, ''), ts) AS state_flags
  FROM slurm_node_state WHERE end_ts IS NULL GROUP BY node
), b AS (
  SELECT a.*, s.state, nullif(s.state_flags, '') AS state_flags,
    NOT coalesce(regexp_matches(concat_ws(',', s.state, s.state_flags), '(?i)DOWN|DRAIN|FAIL|NOT_RESP|MAINT|REBOOT|POWER|UNKNOWN'), false) AS usable
  FROM a LEFT JOIN s ON s.node = a.node
), c AS (
  SELECT *, CASE WHEN usable THEN greatest(coalesce(gpus, 0) - coalesce(gpus_alloc, 0), 0) ELSE 0 END AS gpus_free,
    CASE WHEN usable THEN greatest(coalesce(cpus, 0) - coalesce(cpus_alloc, 0), 0) ELSE 0 END AS cpus_free
  FROM b
)
SELECT
  node, state, state_flags, usable, gpus, gpus_free, cpus, cpus_free, ts AS seen_ts,
  (sum(coalesce(gpus, 0)) OVER ())::BIGINT AS all_gpus, (sum(gpus_free) OVER ())::BIGINT AS all_free,
  count(*) FILTER (usable AND CASE WHEN coalesce(gpus, 0) > 0 THEN gpus_free = gpus ELSE cpus_free = cpus AND cpus > 0 END) OVER () AS nodes_free
FROM c
ORDER BY gpus_free DESC, cpus_free DESC, node

-- nodes_in_trouble: Nodes that were down, failed, drained or silent in a time, those that still are first.
-- TABLES: slurm_node_state
-- PARAMS: node VARCHAR = NULL, since TIMESTAMP = NULL, until TIMESTAMP = NULL
-- PRUNE: node
-- COLUMN node: node
-- COLUMN state: base state
-- COLUMN state_flags: flags
-- COLUMN reason: reason as an operator or Slurm wrote it
-- COLUMN reason_user: who set the reason
-- COLUMN begin_ts: when the state began
-- COLUMN until_ts: when it ended, or when another state of the node was recorded
-- COLUMN still: no end of it, and no later state of the node, is recorded
-- COLUMN lost: down, failed or not responding
-- COLUMN observed: true for a snapshot, false for accounting
-- COLUMN nodes_still: how many nodes of the whole answer still are
-- CAVEAT: What was recorded last may be old; a node of which nothing was recorded has no row.
WITH s AS (
  SELECT *, coalesce(end_ts, lead(ts) OVER (PARTITION BY node ORDER BY ts, end_ts NULLS LAST, state)) AS until_ts
  FROM slurm_node_state
  WHERE $node IS NULL OR node = $node
)
SELECT
  node, state, state_flags, reason, reason_user, ts AS begin_ts, until_ts, until_ts IS NULL AS still,
  regexp_matches(concat_ws(',', state, state_flags), '(?i)DOWN|FAIL|NOT_RESP') AS lost, observed,
  count(DISTINCT node) FILTER (until_ts IS NULL) OVER () AS nodes_still
FROM s
WHERE regexp_matches(concat_ws(',', state, state_flags), '(?i)DOWN|FAIL|NOT_RESP|DRAIN')
  AND ($until IS NULL OR ts <= $until::TIMESTAMP)
  AND ($since IS NULL OR until_ts IS NULL OR until_ts >= $since::TIMESTAMP)
ORDER BY still DESC, lost DESC, begin_ts DESC, node, state

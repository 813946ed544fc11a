-- sources_last: When each source last looked, over all nodes: the newest look, and the node whose own last one is oldest.
-- TABLES: source_health
-- PARAMS: node VARCHAR = NULL
-- PRUNE: node
-- COLUMN source: source
-- COLUMN nodes: nodes on which it ever looked
-- COLUMN last_ts: end of its newest window on any of them
-- COLUMN oldest_node: node on which its last window ended first
-- COLUMN oldest_ts: end of that window
-- COLUMN behind_s [s]: from there to the newest window of all sources
-- COLUMN failing: nodes on which it could not look in its last window
-- COLUMN failing_node: the first of them
-- CAVEAT: A source that stopped for good looks the same as one on a node that was switched off.
WITH l AS (
  SELECT source, node, max(coalesce(end_ts, ts)) AS seen, arg_max(ok, coalesce(end_ts, ts)) AS well
  FROM source_health WHERE $node IS NULL OR node = $node
  GROUP BY source, node
)
SELECT
  source, count(DISTINCT node) AS nodes, max(seen) AS last_ts, arg_min(node, (seen, node)) AS oldest_node, min(seen) AS oldest_ts,
  date_diff('second', min(seen), (SELECT max(seen) FROM l)) AS behind_s, count(*) FILTER (NOT well) AS failing,
  min(node) FILTER (NOT well) AS failing_node
FROM l
GROUP BY source
ORDER BY failing DESC, behind_s DESC, source

-- sources_behind: The live sources on some nodes that were looking shortly before a moment and have not yet looked past it.
-- TABLES: source_health
-- PARAMS: nodes VARCHAR, end_ts TIMESTAMP, from_ts TIMESTAMP = NULL, to_ts TIMESTAMP = NULL
-- PRUNE: nodes, from_ts, to_ts
-- COLUMN node: node
-- COLUMN source: source
-- COLUMN looked_ts: end of its last window
-- COLUMN behind_s [s]: from there to the moment
-- CAVEAT: A source that stopped for good looks the same as one that is late: whoever waits must stop some time.
-- what the watcher looks up once about an end is no source that will look again
SELECT node, source, max(end_ts) AS looked_ts, epoch($end_ts::TIMESTAMP - max(end_ts)) AS behind_s
FROM source_health
WHERE job_id IS NULL AND node IS NOT NULL AND list_contains(string_split($nodes, ','), node) AND ok AND source <> 'watch'
  AND end_ts >= coalesce($from_ts::TIMESTAMP, end_ts) AND ts <= coalesce($to_ts::TIMESTAMP, ts)
GROUP BY node, source
HAVING max(end_ts) < $end_ts::TIMESTAMP
ORDER BY node, source

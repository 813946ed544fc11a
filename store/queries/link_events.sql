-- link_events: Flaps, failures and error bursts of the fabric and the interfaces on the job's nodes.
-- TABLES: link_event
-- PARAMS: job_id VARCHAR, nodes VARCHAR = NULL, from_ts TIMESTAMP = NULL, to_ts TIMESTAMP = NULL
-- PRUNE: job_id, nodes, from_ts, to_ts + 5 MINUTE
-- NONE: link event, link flap, link failure
-- COLUMN node: node
-- COLUMN fabric: infiniband, roce, nvlink, efa, ethernet
-- COLUMN device: device
-- COLUMN port: port
-- COLUMN event: flap, down, up, error_burst, speed_change
-- COLUMN event_ts: when it was noticed
-- COLUMN before_end_s [s]: seconds from it to the job's end; negative where it came after it
-- COLUMN count: how often it went down or recovered, how many errors
-- COLUMN message: what the counters or states say
-- CAVEAT: A flap is told by counters that moved between two looks: it came some seconds before, and lasted milliseconds or more.
SELECT
  node, fabric, device, port, event, ts AS event_ts, date_diff('second', ts, $to_ts::TIMESTAMP) AS before_end_s, count,
  left(message, 300) AS message
FROM link_event
WHERE (job_id = $job_id OR (job_id IS NULL AND list_contains(string_split($nodes, ','), coalesce(node, ''))))
  AND ($from_ts IS NULL OR ts >= $from_ts::TIMESTAMP)
  AND ($to_ts IS NULL OR ts <= $to_ts::TIMESTAMP + INTERVAL 5 MINUTE)
ORDER BY ts, node, fabric, device, port, event, count, message

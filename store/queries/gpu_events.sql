-- gpu_events: XIDs and other events of the job's GPUs, from the kernel log or the driver.
-- TABLES: gpu_event
-- PARAMS: job_id VARCHAR, nodes VARCHAR = NULL, from_ts TIMESTAMP = NULL, to_ts TIMESTAMP = NULL
-- PRUNE: from_ts
-- COLUMN node: node
-- COLUMN gpu: index on its node
-- COLUMN pci_bus_id: PCI address
-- COLUMN event: xid, sxid, fallen_off_bus, nvlink, row_remap, ...
-- COLUMN xid: XID code
-- COLUMN events: how many alike
-- COLUMN event_ts: first time
-- COLUMN last_ts: last time
-- COLUMN before_end_s [s]: seconds from the first one to the job's end; negative where it came after it
-- COLUMN pid: process that the driver names
-- COLUMN process_name: its name
-- COLUMN message: text of the first one
-- CAVEAT: Only nodes whose kernel log was read are here.
WITH e AS (
  SELECT * FROM gpu_event
  WHERE (job_id = $job_id OR (job_id IS NULL AND list_contains(string_split($nodes, ','), coalesce(node, ''))))
    AND ($from_ts IS NULL OR ts >= $from_ts::TIMESTAMP)
    AND ($to_ts IS NULL OR ts <= $to_ts::TIMESTAMP + INTERVAL 5 MINUTE)
)
SELECT
  e.node, e.gpu, e.pci_bus_id, e.event, e.xid, count(*) AS events, min(e.ts) AS event_ts, max(e.ts) AS last_ts,
  date_diff('second', min(e.ts), $to_ts::TIMESTAMP) AS before_end_s,
  first(e.pid ORDER BY e.ts) AS pid, first(e.process_name ORDER BY e.ts) AS process_name,
  first(left(e.message, 300) ORDER BY e.ts, e.message) AS message
FROM e
GROUP BY e.node, e.gpu, e.pci_bus_id, e.event, e.xid
ORDER BY event_ts, e.node, e.gpu, e.pci_bus_id, e.event, e.xid

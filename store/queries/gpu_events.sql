-- gpu_events: XIDs and other events of the job's GPUs, from the kernel log or the driver.
-- TABLES: gpu_event, gpu_device, gpu_sample, gpu_minute
-- PARAMS: job_id VARCHAR, nodes VARCHAR = NULL, gpus VARCHAR = NULL, from_ts TIMESTAMP = NULL, to_ts TIMESTAMP = NULL
-- PRUNE: gpu_event(from_ts - 10 MINUTE, to_ts + 6 MINUTE), gpu_device(nodes), gpu_sample(nodes, from_ts, to_ts + 1 MINUTE), gpu_minute(nodes, from_ts, to_ts)
-- NONE: XID, XIDs, GPU event
-- NEEDS: gpu_event
-- EMPTY: VARCHAR, BIGINT, VARCHAR, VARCHAR, VARCHAR, BIGINT, BIGINT, TIMESTAMP, TIMESTAMP, BIGINT, BIGINT, VARCHAR, VARCHAR
-- HIDES: pid, process_name, message
-- COLUMN node: node
-- COLUMN gpu: index on its node
-- COLUMN gpu_uuid: UUID, where the node's inventory knows the PCI address
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
WITH p AS (
  SELECT node, pci_bus_id, gpu, gpu_uuid FROM gpu_device
  WHERE pci_bus_id IS NOT NULL AND list_contains(string_split($nodes, ','), coalesce(node, ''))
  UNION ALL
  -- Some sources have no inventory, and tell the address with each sample.
  SELECT DISTINCT node, pci_bus_id, gpu, gpu_uuid FROM gpu_minute
  WHERE pci_bus_id IS NOT NULL AND list_contains(string_split($nodes, ','), coalesce(node, ''))
    AND ts >= coalesce($from_ts::TIMESTAMP, '-infinity'::TIMESTAMP) AND ts <= coalesce($to_ts::TIMESTAMP, 'infinity'::TIMESTAMP)
),
d AS (
  SELECT node, pci_bus_id, any_value(gpu) AS gpu, any_value(gpu_uuid) AS gpu_uuid FROM p
  GROUP BY node, pci_bus_id
  HAVING count(DISTINCT coalesce(gpu_uuid, gpu::VARCHAR)) = 1
),
-- Where every GPU of the job has a known address, an address that is none of theirs is another job's GPU.
o AS (SELECT count(*) = len(string_split($gpus, ',')) AS all_placed FROM d WHERE list_contains(string_split($gpus, ','), gpu_uuid)),
x AS (
  SELECT g.* REPLACE (coalesce(g.gpu, d.gpu) AS gpu, coalesce(g.gpu_uuid, d.gpu_uuid) AS gpu_uuid)
  FROM gpu_event g LEFT JOIN d ON d.node = g.node AND d.pci_bus_id = g.pci_bus_id
),
-- An exporter's last XID stands beside the kernel's own word of the same event from the next look on: that is no second one.
y AS (
  SELECT x.* FROM x ANTI JOIN (FROM x WHERE NOT starts_with(coalesce(message, ''), 'the exporter''s last XID')) AS k
    ON starts_with(coalesce(x.message, ''), 'the exporter''s last XID') AND k.node = x.node AND k.xid = x.xid
      AND (k.gpu_uuid = x.gpu_uuid OR k.pci_bus_id = x.pci_bus_id OR k.gpu = x.gpu)
      AND k.ts BETWEEN x.ts - INTERVAL 10 MINUTE AND x.ts + INTERVAL 1 MINUTE
),
e AS (
  SELECT * FROM y
  WHERE (job_id = $job_id OR (job_id IS NULL AND list_contains(string_split($nodes, ','), coalesce(node, ''))))
    AND ($gpus IS NULL OR list_contains(string_split($gpus, ','), gpu_uuid)
      -- A switch is no GPU's address, and serves them all.
      OR event = 'sxid' OR (gpu_uuid IS NULL AND (pci_bus_id IS NULL OR NOT coalesce((SELECT all_placed FROM o), false))))
    AND ($from_ts IS NULL OR ts >= $from_ts::TIMESTAMP)
    AND ($to_ts IS NULL OR ts <= $to_ts::TIMESTAMP + INTERVAL 5 MINUTE)
)
SELECT
  e.node, e.gpu, e.gpu_uuid, e.pci_bus_id, e.event, e.xid, count(*) AS events, min(e.ts) AS event_ts, max(e.ts) AS last_ts,
  date_diff('second', min(e.ts), $to_ts::TIMESTAMP) AS before_end_s,
  first(e.pid ORDER BY e.ts) AS pid, first(e.process_name ORDER BY e.ts) AS process_name,
  first(left(e.message, 300) ORDER BY e.ts, e.message) AS message,
  coalesce(first(e.job_id = $job_id ORDER BY e.ts), false) AS _own
FROM e
GROUP BY e.node, e.gpu, e.gpu_uuid, e.pci_bus_id, e.event, e.xid
-- Of what the driver says at one moment the line with a code comes first.
ORDER BY event_ts, e.node, e.gpu, e.pci_bus_id, e.xid IS NULL, e.event, e.xid

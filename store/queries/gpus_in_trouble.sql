-- gpus_in_trouble: XIDs and other events of any node's GPUs in a time, the GPUs with the newest first.
-- TABLES: gpu_event, gpu_device
-- PARAMS: node VARCHAR = NULL, since TIMESTAMP = NULL, until TIMESTAMP = NULL
-- PRUNE: gpu_event(node, since, until), gpu_device(node)
-- COLUMN node: node
-- COLUMN gpu: index on its node, where the row or the node's inventory has it
-- COLUMN gpu_uuid: UUID, likewise
-- COLUMN pci_bus_id: PCI address
-- COLUMN event: xid, sxid, fallen_off_bus, nvlink, row_remap, ...
-- COLUMN xid: XID code
-- COLUMN events: how many alike
-- COLUMN first_ts: first time
-- COLUMN last_ts: last time
-- COLUMN message: text of the first one
-- CAVEAT: Only nodes whose kernel log was read are here; an application can raise an XID too (13, 31, 43, 45, 94).
WITH d AS (
  SELECT node, pci_bus_id, any_value(gpu) AS gpu, any_value(gpu_uuid) AS gpu_uuid FROM gpu_device
  WHERE pci_bus_id IS NOT NULL
  GROUP BY node, pci_bus_id
  HAVING count(DISTINCT coalesce(gpu_uuid, gpu::VARCHAR)) = 1
)
SELECT
  g.node, coalesce(g.gpu, d.gpu) AS gpu, coalesce(g.gpu_uuid, d.gpu_uuid) AS gpu_uuid, g.pci_bus_id, g.event, g.xid,
  count(*) AS events, min(g.ts) AS first_ts, max(g.ts) AS last_ts, arg_min(left(g.message, 300), g.ts) AS message
FROM gpu_event g LEFT JOIN d ON d.node = g.node AND d.pci_bus_id = g.pci_bus_id
WHERE ($node IS NULL OR g.node = $node)
  AND ($since IS NULL OR g.ts >= $since::TIMESTAMP) AND ($until IS NULL OR g.ts <= $until::TIMESTAMP)
GROUP BY ALL
ORDER BY last_ts DESC, g.node, 2, g.pci_bus_id, g.event, g.xid

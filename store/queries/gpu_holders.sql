-- gpu_holders: The GPUs of a node that are known by inventory, samples or events, and whose the samples say that they were.
-- TABLES: gpu_device, gpu_event, gpu_sample, gpu_minute, slurm_node_sample
-- PARAMS: job_id VARCHAR, node VARCHAR, from_ts TIMESTAMP = NULL, to_ts TIMESTAMP = NULL
-- PRUNE: gpu_device(node), gpu_event(node), gpu_sample(node, from_ts - 1 MINUTE, to_ts), gpu_minute(node, from_ts - 1 MINUTE, to_ts), slurm_node_sample(node)
-- EMPTY: VARCHAR, BIGINT, VARCHAR, VARCHAR, HUGEINT, HUGEINT, BIGINT
-- COLUMN node: node
-- COLUMN gpu: index on its node
-- COLUMN gpu_uuid: UUID
-- COLUMN pci_bus_id: PCI address
-- COLUMN job_samples: samples in the run that name the job
-- COLUMN other_samples: samples in the run that name another job
-- COLUMN node_gpus: GPUs that the node has at least
-- CAVEAT: Only some exporters say whose a GPU is; a sample without a job says nothing of who held it.
WITH s AS (
  SELECT gpu, gpu_uuid, pci_bus_id, mig, job_id, sum(samples) AS n FROM gpu_minute
  WHERE node = $node AND ts >= coalesce(date_trunc('minute', $from_ts::TIMESTAMP), '-infinity'::TIMESTAMP)
    -- A minute in which the run ends can have a sample of the job that came next.
    AND ts + INTERVAL 1 MINUTE <= coalesce($to_ts::TIMESTAMP, 'infinity'::TIMESTAMP)
  GROUP BY ALL
),
r AS (
  SELECT gpu, gpu_uuid, pci_bus_id, mig, job_id, n FROM s
  UNION ALL
  SELECT gpu, gpu_uuid, pci_bus_id, mig, NULL, 0 FROM gpu_device WHERE node = $node
  UNION ALL
  -- An SXid is told of an NVSwitch, which has an address on the bus like a GPU's.
  SELECT gpu, gpu_uuid, pci_bus_id, mig, NULL, 0 FROM gpu_event WHERE node = $node AND event IN ('xid', 'fallen_off_bus')
),
bp AS (
  SELECT pci_bus_id, any_value(gpu_uuid) AS u, any_value(gpu) AS g FROM r WHERE pci_bus_id IS NOT NULL AND mig IS NULL
  GROUP BY pci_bus_id HAVING count(DISTINCT gpu_uuid) <= 1 AND count(DISTINCT gpu) <= 1
),
bg AS (
  SELECT gpu, any_value(gpu_uuid) AS u, any_value(pci_bus_id) AS p FROM r WHERE gpu IS NOT NULL AND mig IS NULL
  GROUP BY gpu HAVING count(DISTINCT gpu_uuid) <= 1 AND count(DISTINCT pci_bus_id) <= 1
),
x AS (
  SELECT coalesce(r.gpu_uuid, bp.u, bg.u) AS gpu_uuid, coalesce(r.gpu, bp.g) AS gpu, coalesce(r.pci_bus_id, bg.p) AS pci_bus_id, r.job_id, r.n
  FROM r LEFT JOIN bp USING (pci_bus_id) LEFT JOIN bg ON bg.gpu = coalesce(r.gpu, bp.g)
),
h AS (
  SELECT
    max(gpu) AS gpu, gpu_uuid, max(pci_bus_id) AS pci_bus_id,
    coalesce(sum(n) FILTER (WHERE job_id = $job_id), 0) AS job_samples,
    coalesce(sum(n) FILTER (WHERE job_id <> $job_id), 0) AS other_samples
  FROM x
  GROUP BY gpu_uuid, CASE WHEN gpu_uuid IS NULL THEN coalesce(gpu::VARCHAR, pci_bus_id) END
)
SELECT
  $node AS node, h.*,
  greatest(
    -- What was sampled in one run was there at one time; an inventory can also hold a card that was exchanged.
    (SELECT count(DISTINCT coalesce(gpu_uuid, gpu::VARCHAR, pci_bus_id)) FROM s WHERE mig IS NULL),
    (SELECT count(DISTINCT pci_bus_id) FROM r), (SELECT count(DISTINCT gpu) FROM r),
    coalesce((SELECT max(gpus) FROM slurm_node_sample WHERE node = $node), 0)
  ) AS node_gpus
FROM h
ORDER BY gpu, gpu_uuid, pci_bus_id

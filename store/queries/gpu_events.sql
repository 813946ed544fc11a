-- gpu_events: XIDs and other events of the job's GPUs, from the kernel log or the driver.
-- TABLES: gpu_event, slurm_job, process, log_line
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL
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
WITH j AS (
  SELECT * FROM slurm_job
  WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
  ORDER BY attempt DESC NULLS LAST, end_ts DESC NULLS FIRST, start_ts DESC NULLS LAST LIMIT 1
),
hosts AS (
  SELECT trim(unnest(string_split(node_list, ','))) AS node FROM j WHERE node_list IS NOT NULL
  UNION
  SELECT node FROM process
  WHERE job_id = $job_id AND node IS NOT NULL AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
),
span AS (
  SELECT
    coalesce((SELECT start_ts FROM j), (SELECT min(ts) FROM log_line WHERE job_id = $job_id)) AS from_ts,
    coalesce((SELECT end_ts FROM j), CASE WHEN (SELECT count(*) FROM j) = 0 THEN
      (SELECT max(ts) FROM log_line WHERE job_id = $job_id) END, TIMESTAMP '9999-12-31') AS to_ts
),
e AS (
  SELECT g.* FROM gpu_event g, span
  WHERE (g.job_id = $job_id AND ($attempt IS NULL OR g.attempt IS NULL OR g.attempt = $attempt))
     OR (g.job_id IS NULL AND g.node IN (SELECT node FROM hosts)
         AND g.ts BETWEEN span.from_ts AND span.to_ts + INTERVAL 5 MINUTE)
)
SELECT
  e.node, e.gpu, e.pci_bus_id, e.event, e.xid, count(*) AS events, min(e.ts) AS event_ts, max(e.ts) AS last_ts,
  CASE WHEN max(span.to_ts) < TIMESTAMP '9999-01-01' THEN date_diff('second', min(e.ts), max(span.to_ts)) END
    AS before_end_s,
  first(e.pid ORDER BY e.ts) AS pid, first(e.process_name ORDER BY e.ts) AS process_name,
  first(left(e.message, 300) ORDER BY e.ts, e.message) AS message
FROM e, span
GROUP BY e.node, e.gpu, e.pci_bus_id, e.event, e.xid
ORDER BY event_ts, e.node, e.gpu, e.pci_bus_id, e.event, e.xid

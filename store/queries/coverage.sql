-- coverage: Which sources looked at this job: rows that belong to it by table, and what the sources say of themselves.
-- TABLES: slurm_job, slurm_step, slurm_job_event, log_line, log_event, train_step, process, cgroup_sample, nccl_sample, cuda_sample, inference_sample, gpu_device, gpu_sample, gpu_event, link_sample, link_event, host_sample, host_event, slurm_node_state, slurm_node_sample, source_health
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL
-- COLUMN table: table
-- COLUMN rows: rows that belong to the job, by its id or by its nodes and time
-- COLUMN watched: a healthy source covered the table for this job or on one of its nodes
-- COLUMN failed: a source that would fill the table failed there
-- COLUMN first_ts: first row
-- COLUMN last_ts: last row
-- COLUMN message: what a failed source says
-- CAVEAT: A table without rows and without a watching source proves nothing when it is empty.
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
c AS (
  SELECT 'slurm_job' AS "table", count(*) AS n, min(ts) AS a, max(ts) AS b FROM slurm_job WHERE job_id = $job_id
  UNION ALL
  SELECT 'slurm_step' AS "table", count(*) AS n, min(ts) AS a, max(ts) AS b FROM slurm_step WHERE job_id = $job_id
  UNION ALL
  SELECT 'slurm_job_event' AS "table", count(*) AS n, min(ts) AS a, max(ts) AS b FROM slurm_job_event WHERE job_id = $job_id
  UNION ALL
  SELECT 'log_line' AS "table", count(*) AS n, min(ts) AS a, max(ts) AS b FROM log_line WHERE job_id = $job_id
  UNION ALL
  SELECT 'log_event' AS "table", count(*) AS n, min(ts) AS a, max(ts) AS b FROM log_event WHERE job_id = $job_id
  UNION ALL
  SELECT 'train_step' AS "table", count(*) AS n, min(ts) AS a, max(ts) AS b FROM train_step WHERE job_id = $job_id
  UNION ALL
  SELECT 'process' AS "table", count(*) AS n, min(ts) AS a, max(ts) AS b FROM process WHERE job_id = $job_id
  UNION ALL
  SELECT 'cgroup_sample' AS "table", count(*) AS n, min(ts) AS a, max(ts) AS b FROM cgroup_sample WHERE job_id = $job_id
  UNION ALL
  SELECT 'nccl_sample' AS "table", count(*) AS n, min(ts) AS a, max(ts) AS b FROM nccl_sample WHERE job_id = $job_id
  UNION ALL
  SELECT 'cuda_sample' AS "table", count(*) AS n, min(ts) AS a, max(ts) AS b FROM cuda_sample WHERE job_id = $job_id
  UNION ALL
  SELECT 'inference_sample' AS "table", count(*) AS n, min(ts) AS a, max(ts) AS b FROM inference_sample WHERE job_id = $job_id
  UNION ALL
  SELECT 'gpu_device', count(*), min(ts), max(ts) FROM gpu_device, span WHERE (job_id = $job_id OR (job_id IS NULL AND node IN (SELECT node FROM hosts) AND ts BETWEEN span.from_ts AND span.to_ts + INTERVAL 5 MINUTE))
  UNION ALL
  SELECT 'gpu_sample', count(*), min(ts), max(ts) FROM gpu_sample, span WHERE (job_id = $job_id OR (job_id IS NULL AND node IN (SELECT node FROM hosts) AND ts BETWEEN span.from_ts AND span.to_ts + INTERVAL 5 MINUTE))
  UNION ALL
  SELECT 'gpu_event', count(*), min(ts), max(ts) FROM gpu_event, span WHERE (job_id = $job_id OR (job_id IS NULL AND node IN (SELECT node FROM hosts) AND ts BETWEEN span.from_ts AND span.to_ts + INTERVAL 5 MINUTE))
  UNION ALL
  SELECT 'link_sample', count(*), min(ts), max(ts) FROM link_sample, span WHERE (job_id = $job_id OR (job_id IS NULL AND node IN (SELECT node FROM hosts) AND ts BETWEEN span.from_ts AND span.to_ts + INTERVAL 5 MINUTE))
  UNION ALL
  SELECT 'link_event', count(*), min(ts), max(ts) FROM link_event, span WHERE (job_id = $job_id OR (job_id IS NULL AND node IN (SELECT node FROM hosts) AND ts BETWEEN span.from_ts AND span.to_ts + INTERVAL 5 MINUTE))
  UNION ALL
  SELECT 'host_sample', count(*), min(ts), max(ts) FROM host_sample, span WHERE node IN (SELECT node FROM hosts) AND ts BETWEEN span.from_ts - INTERVAL 1 HOUR AND span.to_ts + INTERVAL 1 HOUR
  UNION ALL
  SELECT 'host_event', count(*), min(ts), max(ts) FROM host_event, span WHERE (job_id = $job_id OR (job_id IS NULL AND node IN (SELECT node FROM hosts) AND ts BETWEEN span.from_ts AND span.to_ts + INTERVAL 5 MINUTE))
  UNION ALL
  SELECT 'slurm_node_state', count(*), min(ts), max(ts) FROM slurm_node_state, span WHERE node IN (SELECT node FROM hosts) AND ts <= span.to_ts + INTERVAL 1 HOUR AND coalesce(end_ts, ts + INTERVAL 1 HOUR) >= span.from_ts - INTERVAL 1 HOUR
  UNION ALL
  SELECT 'slurm_node_sample', count(*), min(ts), max(ts) FROM slurm_node_sample, span WHERE node IN (SELECT node FROM hosts) AND ts BETWEEN span.from_ts - INTERVAL 1 HOUR AND span.to_ts + INTERVAL 1 HOUR
),
h AS (
  SELECT covers AS "table", bool_or(ok) AS watched, bool_or(NOT ok) AS failed,
    left(min(message) FILTER (WHERE NOT ok), 200) AS message
  FROM source_health, span
  WHERE job_id = $job_id OR (node IN (SELECT node FROM hosts)
    AND coalesce(end_ts, ts) >= span.from_ts AND ts <= span.to_ts)
  GROUP BY covers
)
SELECT c."table", c.n AS rows, coalesce(h.watched, false) AS watched, coalesce(h.failed, false) AS failed, c.a AS first_ts,
  c.b AS last_ts, h.message
FROM c LEFT JOIN h USING ("table")
ORDER BY c."table"

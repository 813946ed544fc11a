-- coverage: Which tables hold rows of this job, and what their sources say of themselves.
-- TABLES: slurm_job, slurm_step, slurm_job_event, log_line, log_event, train_step, process, cgroup_sample, nccl_sample, cuda_sample, inference_sample, source_health
-- PARAMS: job_id VARCHAR
-- PRUNE: job_id
-- COLUMN table: table
-- COLUMN present: the table has rows of the job; of log_event, rows that its log gave
-- COLUMN watched: a healthy source covered the table for this job
-- COLUMN failed: a source that would fill the table failed there
-- COLUMN message: what a failed source says
-- CAVEAT: A table without rows and without a watching source proves nothing when it is empty.
WITH c AS (
  SELECT 'slurm_job' AS "table", EXISTS (SELECT 1 FROM slurm_job WHERE job_id = $job_id) AS present
  UNION ALL
  SELECT 'slurm_step', EXISTS (SELECT 1 FROM slurm_step WHERE job_id = $job_id)
  UNION ALL
  SELECT 'slurm_job_event', EXISTS (SELECT 1 FROM slurm_job_event WHERE job_id = $job_id)
  UNION ALL
  SELECT 'log_line', EXISTS (SELECT 1 FROM log_line WHERE job_id = $job_id)
  UNION ALL
  SELECT 'log_event', EXISTS (SELECT 1 FROM log_event WHERE job_id = $job_id AND parser IS DISTINCT FROM 'hang_gauges')
  UNION ALL
  SELECT 'train_step', EXISTS (SELECT 1 FROM train_step WHERE job_id = $job_id)
  UNION ALL
  SELECT 'process', EXISTS (SELECT 1 FROM process WHERE job_id = $job_id)
  UNION ALL
  SELECT 'cgroup_sample', EXISTS (SELECT 1 FROM cgroup_sample WHERE job_id = $job_id)
  UNION ALL
  SELECT 'nccl_sample', EXISTS (SELECT 1 FROM nccl_sample WHERE job_id = $job_id)
  UNION ALL
  SELECT 'cuda_sample', EXISTS (SELECT 1 FROM cuda_sample WHERE job_id = $job_id)
  UNION ALL
  SELECT 'inference_sample', EXISTS (SELECT 1 FROM inference_sample WHERE job_id = $job_id)
),
h AS (
  SELECT covers AS "table", bool_or(ok) AS watched, bool_or(NOT ok) AS failed,
    left(min(message) FILTER (WHERE NOT ok), 200) AS message
  FROM source_health WHERE job_id = $job_id GROUP BY covers
)
SELECT c."table", c.present, coalesce(h.watched, false) AS watched, coalesce(h.failed, false) AS failed, h.message
FROM c LEFT JOIN h USING ("table")
ORDER BY c."table"

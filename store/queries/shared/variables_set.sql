-- variables_set: Where a job's variables are set, if anywhere: its submit lines, its processes' commands, the ends of its logs.
v AS (
  SELECT 'submit line' AS source, submit_line AS text, NULL::VARCHAR AS node, NULL::VARCHAR AS file, NULL::BIGINT AS line_no
  FROM slurm_job
  WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
  UNION ALL
  SELECT 'process', command, node, NULL, NULL FROM process
  WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
  UNION ALL
  SELECT 'log', text, NULL, file, line_no FROM (
    SELECT *, row_number() OVER (PARTITION BY file ORDER BY line_no DESC) AS back FROM log_line
    WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
  )
  WHERE back <= 5000 OR line_no <= 3000
)

-- launch_blocking: Where the job's environment, command or log shows that kernel launches were serialised.
-- TABLES: slurm_job, process, log_line
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL
-- EMPTY: VARCHAR, VARCHAR, VARCHAR, VARCHAR, BIGINT
-- PRUNE: job_id
-- COLUMN source: submit line, process or log
-- COLUMN text: what shows it
-- COLUMN node: node
-- COLUMN file: log file
-- COLUMN line_no: line in it
-- CAVEAT: The advice to set the variable, which CUDA's error texts give, is no evidence and is left out.
WITH l AS (
  SELECT *, row_number() OVER (PARTITION BY file ORDER BY line_no DESC) AS back FROM log_line
  WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
)
SELECT 'submit line' AS source, left(submit_line, 300) AS text, NULL::VARCHAR AS node, NULL::VARCHAR AS file,
  NULL::BIGINT AS line_no
FROM slurm_job
WHERE contains(submit_line, 'CUDA_LAUNCH_BLOCKING=1') AND job_id = $job_id
  AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
UNION ALL
SELECT 'process', left(command, 300), node, NULL, NULL FROM process
WHERE contains(command, 'CUDA_LAUNCH_BLOCKING=1') AND job_id = $job_id
  AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
UNION ALL
SELECT 'log', left(text, 300), node, file, line_no FROM l
WHERE (back <= 5000 OR line_no <= 3000)
  AND regexp_matches(text, '^\s*(?:\++ *)?(?:export +|declare -x +|env +)?CUDA_LAUNCH_BLOCKING="?1')
ORDER BY source, node, file, line_no
LIMIT 20

-- launch_blocking: Where the job's environment, command or log shows that kernel launches were serialised.
-- TABLES: slurm_job, slurm_step, process, log_line
-- WITH: variables_set
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL
-- EMPTY: VARCHAR, VARCHAR, VARCHAR, VARCHAR, BIGINT
-- NEEDS: slurm_job.submit_line ~ CUDA_LAUNCH_BLOCKING, slurm_step.submit_line ~ CUDA_LAUNCH_BLOCKING, process.command ~ CUDA_LAUNCH_BLOCKING, log_line.text ~ CUDA_LAUNCH_BLOCKING
-- PRUNE: job_id
-- COLUMN source: submit line, process or log
-- COLUMN text: what shows it
-- COLUMN node: node
-- COLUMN file: log file
-- COLUMN line_no: line in it
-- CAVEAT: The advice to set the variable, which CUDA's error texts give, is no evidence and is left out.
SELECT source, left(text, 300) AS text, node, file, line_no FROM v
WHERE CASE source WHEN 'log' THEN regexp_matches(text, '^\s*(?:\++ *)?(?:export +|declare -x +|env +)?CUDA_LAUNCH_BLOCKING="?1')
    OR (traced AND regexp_matches(text, '[ ,=]CUDA_LAUNCH_BLOCKING="?1\b'))
  ELSE contains(text, 'CUDA_LAUNCH_BLOCKING=1') END
ORDER BY source, node, file, line_no
LIMIT 20

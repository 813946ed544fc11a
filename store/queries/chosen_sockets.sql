-- chosen_sockets: Where the job itself keeps NCCL off the fast network: a variable in its script, its environment or NCCL's own words.
-- TABLES: slurm_job, process, log_line
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL
-- EMPTY: VARCHAR, VARCHAR, VARCHAR, VARCHAR, BIGINT
-- PRUNE: job_id
-- COLUMN source: submit line, process or log
-- COLUMN text: what shows it
-- COLUMN node: node
-- COLUMN file: log file
-- COLUMN line_no: line in it
-- CAVEAT: Advice to set such a variable is no evidence and is left out; so is a setting that the log does not show.
WITH l AS (
  SELECT *, row_number() OVER (PARTITION BY file ORDER BY line_no DESC) AS back FROM log_line
  WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
)
SELECT 'submit line' AS source, left(submit_line, 300) AS text, NULL::VARCHAR AS node, NULL::VARCHAR AS file,
  NULL::BIGINT AS line_no
FROM slurm_job
WHERE regexp_matches(submit_line, 'NCCL_(?:IB_DISABLE=1|NET="?Socket)') AND job_id = $job_id
  AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
UNION ALL
SELECT 'process', left(command, 300), node, NULL, NULL FROM process
WHERE regexp_matches(command, 'NCCL_(?:IB_DISABLE=1|NET="?Socket)') AND job_id = $job_id
  AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
UNION ALL
SELECT 'log', left(text, 300), node, file, line_no FROM l
WHERE (back <= 5000 OR line_no <= 3000)
  AND (
    regexp_matches(text, '^\s*(?:\++ *)?(?:export +|declare -x +|env +)?NCCL_(?:IB_DISABLE="?1\b|NET="?Socket)')
    OR regexp_matches(text, 'NCCL INFO NCCL_(?:IB_DISABLE set by \w+ ?\w* to 1\b|NET set by \w+ ?\w* to Socket)')
  )
ORDER BY source, node, file, line_no
LIMIT 20

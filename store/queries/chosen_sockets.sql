-- chosen_sockets: Where the job itself keeps NCCL off the fast network: a variable in its script, its environment or NCCL's own words.
-- TABLES: slurm_job, slurm_step, process, log_line
-- WITH: variables_set
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL
-- EMPTY: VARCHAR, VARCHAR, VARCHAR, VARCHAR, BIGINT
-- PRUNE: job_id
-- COLUMN source: submit line, process or log
-- COLUMN text: what shows it
-- COLUMN node: node
-- COLUMN file: log file
-- COLUMN line_no: line in it
-- CAVEAT: Advice to set such a variable is no evidence and is left out; so is a setting that the log does not show.
SELECT source, left(text, 300) AS text, node, file, line_no FROM v
WHERE CASE source WHEN 'log' THEN regexp_matches(text, '^\s*(?:\++ *)?(?:export +|declare -x +|env +)?NCCL_(?:IB_DISABLE="?1\b|NET="?Socket)')
    OR (traced AND regexp_matches(text, '[ ,=]NCCL_(?:IB_DISABLE="?1\b|NET="?Socket)'))
    OR regexp_matches(text, 'NCCL INFO NCCL_(?:IB_DISABLE set by \w+ ?\w* to 1\b|NET set by \w+ ?\w* to Socket)')
  ELSE regexp_matches(text, 'NCCL_(?:IB_DISABLE=1|NET="?Socket)') END
ORDER BY source, node, file, line_no
LIMIT 20

-- cuda_errors: What the CUDA runtime told the program: errors of running kernels, and setups that do not work.
-- TABLES: log_event
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL
-- NEEDS: log_event.kind = warning
-- EMPTY: VARCHAR, VARCHAR, BIGINT, BIGINT, BIGINT, VARCHAR, BIGINT, TIMESTAMP, VARCHAR, BIGINT, VARCHAR, VARCHAR
-- PRUNE: job_id
-- COLUMN name: cuda_error, cuda_setup, device_assert, or on_cpu for words that the work goes on without a GPU
-- COLUMN code: which error
-- COLUMN events: how many
-- COLUMN ranks: ranks that printed it, where ranks are told apart
-- COLUMN rank: rank of the first one
-- COLUMN node: node of the first one
-- COLUMN gpu: GPU that is named
-- COLUMN error_ts: first time
-- COLUMN file: file of the first one
-- COLUMN line_no: line of the first one
-- COLUMN message: text of the first one
-- COLUMN or_later: name of the time, where it is that of an earlier line: it came then or later
-- CAVEAT: CUDA reports errors late: the call that raises one is often not the one that caused it.
SELECT
  name, json_extract_string(TRY_CAST(detail AS JSON), '$.code') AS code, count(*) AS events, count(DISTINCT rank) AS ranks,
  first(rank ORDER BY ts NULLS LAST, file, line_no) AS rank,
  first(coalesce(node, host) ORDER BY ts NULLS LAST, file, line_no) AS node,
  first(gpu ORDER BY ts NULLS LAST, file, line_no) AS gpu, min(ts) FILTER (WHERE ts_kind IS DISTINCT FROM 'file') AS error_ts,
  first(file ORDER BY ts NULLS LAST, file, line_no) AS file,
  first(line_no ORDER BY ts NULLS LAST, file, line_no) AS line_no,
  first(left(message, 300) ORDER BY ts NULLS LAST, file, line_no) AS message,
  CASE WHEN arg_min(coalesce(ts_kind, '') = 'carried', (ts, coalesce(ts_kind, '') = 'carried')) FILTER (WHERE ts IS NOT NULL AND ts_kind IS DISTINCT FROM 'file') THEN 'error_ts' END AS or_later
FROM log_event
WHERE name IN ('cuda_error', 'cuda_setup', 'device_assert', 'on_cpu') AND kind = 'warning'
  AND job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
GROUP BY name, code
ORDER BY error_ts NULLS LAST, file, line_no, name, code

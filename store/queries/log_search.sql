-- log_search: Lines of the job's logs that match a regular expression (RE2, case ignored), in time and file order.
-- TABLES: log_line
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL, pattern VARCHAR
-- PRUNE: job_id
-- COLUMN file: file
-- COLUMN line_no: line in the file, from 1
-- COLUMN ts: time that the line says itself
-- COLUMN rank: global rank
-- COLUMN node: node
-- COLUMN text: the line
-- CAVEAT: A line without a time of its own stands where an earlier line has it. A secret in a line is not searched.
SELECT file, line_no, CASE WHEN coalesce(ts_kind, '') NOT IN ('carried', 'file') THEN ts END AS ts, rank, node, text
FROM log_line
WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
  AND regexp_matches(without_secrets(text), $pattern, 'i')
ORDER BY log_line.ts NULLS LAST, file, line_no, rank, node, text

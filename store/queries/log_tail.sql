-- log_tail: The last lines that the job printed.
-- TABLES: log_line
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL, lines BIGINT = 40
-- EMPTY: VARCHAR, BIGINT, TIMESTAMP, BIGINT, VARCHAR, VARCHAR
-- PRUNE: job_id
-- COLUMN file: file
-- COLUMN line_no: line
-- COLUMN line_ts: time of the line
-- COLUMN rank: rank
-- COLUMN text: the line, its first 300 characters
-- COLUMN or_later: name of the time, where it is that of an earlier line: it came then or later
-- CAVEAT: Standard error and standard output are buffered apart; the last line need not be the last event.
WITH l AS (
  SELECT file, line_no, ts, ts_kind, rank, text, row_number() OVER (PARTITION BY file ORDER BY line_no DESC, ts DESC, rank DESC, text DESC) AS back
  FROM log_line
  WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
    AND trim(coalesce(text, '')) <> ''
)
SELECT file, line_no, CASE WHEN ts_kind IS DISTINCT FROM 'file' THEN ts END AS line_ts, rank, left(text, 300) AS text,
  CASE WHEN ts_kind = 'carried' THEN 'line_ts' END AS or_later
FROM l
WHERE back <= $lines
ORDER BY file, line_no, l.ts, rank, l.text

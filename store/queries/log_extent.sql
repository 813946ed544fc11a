-- log_extent: Which log files there are of the job, how long they are, and how they end.
-- TABLES: log_line
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL
-- EMPTY: VARCHAR, VARCHAR, BIGINT, BIGINT, TIMESTAMP, TIMESTAMP, DOUBLE, BIGINT, VARCHAR, BIGINT
-- PRUNE: job_id
-- COLUMN file: file
-- COLUMN stream: out, err, or nothing where both are in one file
-- COLUMN lines: lines
-- COLUMN ranks: ranks that are told apart
-- COLUMN first_ts: first time known, of lines or else of the file
-- COLUMN last_ts: last time known, likewise
-- COLUMN span_min [min]: from the first to the last time of lines
-- COLUMN last_line: number of the last line
-- COLUMN last_text: text of the last line that is not empty
-- COLUMN timed: lines with a time of their own or of an earlier line
-- CAVEAT: Of very large logs only lines around events, head, tail and a sample are kept.
SELECT
  file, max(stream) AS stream, count(*) AS lines, count(DISTINCT rank) AS ranks, min(ts) AS first_ts, max(ts) AS last_ts,
  round(date_diff('second', min(ts) FILTER (WHERE ts_kind IS DISTINCT FROM 'file'), max(ts) FILTER (WHERE ts_kind IS DISTINCT FROM 'file')) / 60.0, 1) AS span_min, max(line_no) AS last_line,
  left(arg_max(text, (line_no, text)) FILTER (WHERE trim(coalesce(text, '')) <> ''), 300) AS last_text,
  count(*) FILTER (WHERE ts IS NOT NULL AND ts_kind IS DISTINCT FROM 'file') AS timed
FROM log_line
WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
GROUP BY file
ORDER BY file

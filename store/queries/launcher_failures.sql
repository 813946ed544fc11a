-- launcher_failures: What the launcher said about failed children: its summary, and its words while they ran.
-- TABLES: log_event
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL
-- NEEDS: log_event.kind = launcher_summary | launcher_event
-- EMPTY: VARCHAR, VARCHAR, BIGINT, BIGINT, VARCHAR, BIGINT, BIGINT, BIGINT, TIMESTAMP, TIMESTAMP, VARCHAR, VARCHAR, BIGINT, VARCHAR, VARCHAR, VARCHAR
-- PRUNE: job_id
-- COLUMN kind: launcher_summary or launcher_event
-- COLUMN name: short name of the message
-- COLUMN rank: rank that is named
-- COLUMN local_rank: local rank that is named
-- COLUMN host: host that is named
-- COLUMN pid: process that is named
-- COLUMN exit_code: exit status that is named
-- COLUMN signal: signal that is named
-- COLUMN failed_ts: when it failed, as the message says
-- COLUMN printed_ts: when it was printed
-- COLUMN framework: launcher
-- COLUMN file: file
-- COLUMN line_no: line
-- COLUMN message: text
-- COLUMN detail: further fields
-- COLUMN or_later: name of the time, where it is that of an earlier line: it came then or later
-- CAVEAT: The root cause of a launcher's summary is only the first child that was seen to die: in a hang it is a victim.
SELECT
  kind, name, rank, local_rank, coalesce(host, node) AS host, pid, exit_code, signal, happened_ts AS failed_ts,
  CASE WHEN ts_kind IS DISTINCT FROM 'file' THEN ts END AS printed_ts, framework, file, line_no, left(message, 400) AS message, detail,
  CASE WHEN ts_kind = 'carried' THEN 'printed_ts' END AS or_later
FROM log_event
WHERE kind IN ('launcher_summary', 'launcher_event')
  AND job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
ORDER BY coalesce(happened_ts, ts) NULLS LAST, file, line_no, rank

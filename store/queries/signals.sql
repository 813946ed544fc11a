-- signals: Processes of the job that a signal ended, or that say which signal they got.
-- TABLES: log_event
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL
-- NEEDS: log_event.kind = signal | interrupt | host_oom
-- EMPTY: VARCHAR, VARCHAR, BIGINT, BIGINT, VARCHAR, BIGINT, BIGINT, TIMESTAMP, VARCHAR, VARCHAR, BIGINT, VARCHAR, VARCHAR
-- PRUNE: job_id
-- COLUMN kind: signal, interrupt or host_oom
-- COLUMN name: short name of the message
-- COLUMN signal: signal that is named
-- COLUMN rank: rank that is named
-- COLUMN host: host that is named
-- COLUMN pid: process that is named
-- COLUMN exit_code: exit status that is named
-- COLUMN signal_ts: when
-- COLUMN framework: who spoke
-- COLUMN file: file
-- COLUMN line_no: line
-- COLUMN message: text
-- COLUMN or_later: name of the time, where it is that of an earlier line: it came then or later
-- CAVEAT: A signal that is named does not say who sent it.
SELECT
  kind, name, signal, rank, coalesce(host, node) AS host, pid, exit_code, coalesce(happened_ts, CASE WHEN ts_kind IS DISTINCT FROM 'file' THEN ts END) AS signal_ts,
  framework, file, line_no, left(message, 400) AS message, CASE WHEN happened_ts IS NULL AND ts_kind = 'carried' THEN 'signal_ts' END AS or_later
FROM log_event
WHERE kind IN ('signal', 'interrupt', 'host_oom')
  AND job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
ORDER BY signal_ts NULLS LAST, file, line_no, rank

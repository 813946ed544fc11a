-- log_summary: What parsers recognised in the job's logs: how often, where first and where last.
-- TABLES: log_event
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL
-- PRUNE: job_id
-- COLUMN kind: kind of event
-- COLUMN name: its name
-- COLUMN events: how many
-- COLUMN ranks: ranks that printed it, where ranks are told apart
-- COLUMN first_line: first line
-- COLUMN last_line: last line
-- COLUMN first_ts: first time
-- COLUMN last_ts: last time
-- COLUMN severity: worst severity
-- COLUMN or_later: names of the times that are an earlier line's: it came then or later
-- CAVEAT: A parser that did not recognise a message says nothing about its absence.
SELECT
  kind, name, count(*) AS events, count(DISTINCT rank) AS ranks, min(line_no) AS first_line, max(line_end) AS last_line,
  min(ts) FILTER (WHERE ts_kind IS DISTINCT FROM 'file') AS first_ts, max(ts) FILTER (WHERE ts_kind IS DISTINCT FROM 'file') AS last_ts,
  CASE WHEN bool_or(severity = 'fatal') THEN 'fatal' WHEN bool_or(severity = 'error') THEN 'error'
       WHEN bool_or(severity = 'warning') THEN 'warning' WHEN bool_or(severity = 'info') THEN 'info' END AS severity,
  nullif(concat_ws(' ', CASE WHEN arg_min(coalesce(ts_kind, '') = 'carried', (ts, coalesce(ts_kind, '') = 'carried')) FILTER (WHERE ts IS NOT NULL AND ts_kind IS DISTINCT FROM 'file') THEN 'first_ts' END,
    CASE WHEN arg_max(coalesce(ts_kind, '') = 'carried', (ts, coalesce(ts_kind, '') = 'carried')) FILTER (WHERE ts IS NOT NULL AND ts_kind IS DISTINCT FROM 'file') THEN 'last_ts' END), '') AS or_later
FROM log_event
WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
GROUP BY kind, name
ORDER BY kind, events DESC, name

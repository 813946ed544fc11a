-- log_events: What the parsers recognised in the job's logs, worst and earliest first within a kind.
-- TABLES: log_event
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL, kind VARCHAR = NULL, pattern VARCHAR = NULL
-- PRUNE: job_id
-- COLUMN kind: what kind of event
-- COLUMN name: exception's type or the event's short name
-- COLUMN severity: fatal, error, warning, info
-- COLUMN ts: first time that its lines say themselves
-- COLUMN last_ts: last time that they say
-- COLUMN times: how often it was seen
-- COLUMN ranks: ranks that saw it
-- COLUMN rank: first rank that saw it
-- COLUMN node: node of that rank
-- COLUMN file: file of the first
-- COLUMN line_no: line of the first
-- COLUMN message: text of the first
-- CAVEAT: The first to print is not always the first to fail.
SELECT kind, name, severity, min(ts) FILTER (WHERE coalesce(ts_kind, '') NOT IN ('carried', 'file')) AS ts, max(ts) FILTER (WHERE coalesce(ts_kind, '') NOT IN ('carried', 'file')) AS last_ts, count(*) AS times, count(DISTINCT rank) AS ranks,
  arg_min(rank, (coalesce(ts, TIMESTAMP '9999-12-31'), line_no, coalesce(file, ''), coalesce(rank, -1), coalesce(node, ''), coalesce(message, ''))) AS rank,
  arg_min(node, (coalesce(ts, TIMESTAMP '9999-12-31'), line_no, coalesce(file, ''), coalesce(rank, -1), coalesce(node, ''), coalesce(message, ''))) AS node,
  arg_min(file, (coalesce(ts, TIMESTAMP '9999-12-31'), line_no, coalesce(file, ''), coalesce(rank, -1), coalesce(node, ''), coalesce(message, ''))) AS file,
  arg_min(line_no, (coalesce(ts, TIMESTAMP '9999-12-31'), line_no, coalesce(file, ''), coalesce(rank, -1), coalesce(node, ''), coalesce(message, ''))) AS line_no,
  arg_min(message, (coalesce(ts, TIMESTAMP '9999-12-31'), line_no, coalesce(file, ''), coalesce(rank, -1), coalesce(node, ''), coalesce(message, ''))) AS message
FROM log_event
WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
  AND ($kind IS NULL OR kind = $kind)
  AND ($pattern IS NULL OR regexp_matches(without_secrets(concat_ws(' ', name, message)), $pattern, 'i'))
GROUP BY kind, name, severity, left(message, 120)
ORDER BY CASE severity WHEN 'fatal' THEN 0 WHEN 'error' THEN 1 WHEN 'warning' THEN 2 ELSE 3 END,
  min(log_event.ts) NULLS LAST, kind, name, min(line_no), left(message, 120), severity

-- other_events: Storage, network, interrupt, throttle and XID-like messages in the job's logs, alike ones in one row.
-- TABLES: log_event
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL
-- NEEDS: log_event.kind = storage | network | interrupt | throttle | xid | warning
-- EMPTY: VARCHAR, VARCHAR, BIGINT, BIGINT, BIGINT, VARCHAR, TIMESTAMP, VARCHAR, BIGINT, BIGINT, BIGINT, VARCHAR, VARCHAR, VARCHAR
-- PRUNE: job_id
-- COLUMN kind: kind of event
-- COLUMN name: short name
-- COLUMN events: how many alike
-- COLUMN ranks: ranks that printed it, where ranks are told apart
-- COLUMN rank: rank of the first one
-- COLUMN severity: severity of the first one
-- COLUMN first_ts: first time
-- COLUMN file: file of the first one
-- COLUMN line_no: line of the first one
-- COLUMN last_line: line of the last one
-- COLUMN xid: XID that is named
-- COLUMN peer: address or file that is named
-- COLUMN message: text of the first one
-- COLUMN or_later: name of the time, where it is that of an earlier line: it came then or later
-- CAVEAT: What a job prints about hardware is hearsay: only the kernel's or the driver's word counts.
WITH e AS (
  SELECT *, left(regexp_replace(coalesce(message, ''), '[0-9]+', '#', 'g'), 160) AS shape
  FROM log_event
  WHERE kind IN ('storage', 'network', 'interrupt', 'throttle', 'xid', 'warning')
    AND job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
)
SELECT
  kind, name, count(*) AS events, count(DISTINCT rank) AS ranks,
  first(rank ORDER BY ts NULLS LAST, file, line_no) AS rank,
  first(severity ORDER BY ts NULLS LAST, file, line_no) AS severity, min(ts) FILTER (WHERE ts_kind IS DISTINCT FROM 'file') AS first_ts,
  first(file ORDER BY ts NULLS LAST, file, line_no) AS file,
  first(line_no ORDER BY ts NULLS LAST, file, line_no) AS line_no, max(line_no) AS last_line,
  first(xid ORDER BY ts NULLS LAST, file, line_no) AS xid,
  first(peer ORDER BY ts NULLS LAST, file, line_no) AS peer,
  first(left(message, 400) ORDER BY ts NULLS LAST, file, line_no) AS message,
  CASE WHEN arg_min(coalesce(ts_kind, '') = 'carried', (ts, coalesce(ts_kind, '') = 'carried')) FILTER (WHERE ts IS NOT NULL AND ts_kind IS DISTINCT FROM 'file') THEN 'first_ts' END AS or_later
FROM e
GROUP BY kind, name, shape
ORDER BY first_ts NULLS LAST, file, line_no, kind, name

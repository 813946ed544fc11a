-- rendezvous_events: How the ranks tried to find each other: waiting, retries, time-outs, refusals, addresses in use.
-- TABLES: log_event
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL
-- NEEDS: log_event.kind = rendezvous
-- EMPTY: VARCHAR, BIGINT, BIGINT, BIGINT, VARCHAR, VARCHAR, VARCHAR, DOUBLE, BIGINT, BIGINT, TIMESTAMP, TIMESTAMP, VARCHAR, BIGINT, BIGINT, VARCHAR, VARCHAR
-- PRUNE: job_id
-- COLUMN name: short name
-- COLUMN events: how many
-- COLUMN ranks: ranks that printed it, where ranks are told apart
-- COLUMN rank: rank of the first one
-- COLUMN host: host of the first one
-- COLUMN severity: severity of the first one
-- COLUMN peer: address that was tried
-- COLUMN timeout_s [s]: limit that was hit
-- COLUMN world_size: world size that is named
-- COLUMN joined: how many had joined
-- COLUMN first_ts: first time
-- COLUMN last_ts: last time
-- COLUMN file: file of the first one
-- COLUMN line_no: line of the first one
-- COLUMN last_line: line of the last one
-- COLUMN message: text of the first one
-- COLUMN or_later: names of the times that are an earlier line's: it came then or later
-- CAVEAT: A warning that is followed by success is a retry and not a failure.
WITH e AS (
  SELECT * FROM log_event
  WHERE kind = 'rendezvous' AND job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
)
SELECT
  name, count(*) AS events, count(DISTINCT rank) AS ranks,
  first(rank ORDER BY ts NULLS LAST, file, line_no) AS rank,
  first(coalesce(host, node) ORDER BY ts NULLS LAST, file, line_no) AS host,
  first(severity ORDER BY ts NULLS LAST, file, line_no) AS severity,
  first(peer ORDER BY (peer IS NULL), ts NULLS LAST, file, line_no) AS peer,
  round(max(timeout_ms) / 1000.0, 1) AS timeout_s, max(world_size) AS world_size, max(joined) AS joined,
  min(ts) FILTER (WHERE ts_kind IS DISTINCT FROM 'file') AS first_ts, max(ts) FILTER (WHERE ts_kind IS DISTINCT FROM 'file') AS last_ts,
  first(file ORDER BY ts NULLS LAST, file, line_no) AS file,
  first(line_no ORDER BY ts NULLS LAST, file, line_no) AS line_no, max(line_no) AS last_line,
  first(left(message, 400) ORDER BY ts NULLS LAST, file, line_no) AS message,
  nullif(concat_ws(' ', CASE WHEN arg_min(coalesce(ts_kind, '') = 'carried', (ts, coalesce(ts_kind, '') = 'carried')) FILTER (WHERE ts IS NOT NULL AND ts_kind IS DISTINCT FROM 'file') THEN 'first_ts' END,
    CASE WHEN arg_max(coalesce(ts_kind, '') = 'carried', (ts, coalesce(ts_kind, '') = 'carried')) FILTER (WHERE ts IS NOT NULL AND ts_kind IS DISTINCT FROM 'file') THEN 'last_ts' END), '') AS or_later
FROM e
GROUP BY name
ORDER BY first_ts NULLS LAST, file, line_no, name

-- nccl_setup: How NCCL or the process group described itself: version, transport, communicators.
-- TABLES: log_event
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL
-- NEEDS: log_event.kind = nccl_info
-- EMPTY: VARCHAR, BIGINT, BIGINT, BIGINT, TIMESTAMP, VARCHAR, BIGINT, VARCHAR, VARCHAR
-- PRUNE: job_id
-- COLUMN name: short name
-- COLUMN events: how many
-- COLUMN ranks: ranks that printed it, where ranks are told apart
-- COLUMN world_size: world size that is named
-- COLUMN first_ts: first time
-- COLUMN file: file of the first one
-- COLUMN line_no: line of the first one
-- COLUMN message: text of the first one
-- COLUMN or_later: name of the time, where it is that of an earlier line: it came then or later
-- CAVEAT: NCCL describes itself only with NCCL_DEBUG=INFO.
SELECT
  name, count(*) AS events, count(DISTINCT rank) AS ranks, max(world_size) AS world_size, min(ts) FILTER (WHERE ts_kind IS DISTINCT FROM 'file') AS first_ts,
  first(file ORDER BY ts NULLS LAST, file, line_no) AS file,
  first(line_no ORDER BY ts NULLS LAST, file, line_no) AS line_no,
  first(left(message, 300) ORDER BY ts NULLS LAST, file, line_no) AS message,
  CASE WHEN arg_min(coalesce(ts_kind, '') = 'carried', (ts, coalesce(ts_kind, '') = 'carried')) FILTER (WHERE ts IS NOT NULL AND ts_kind IS DISTINCT FROM 'file') THEN 'first_ts' END AS or_later
FROM log_event
WHERE kind = 'nccl_info' AND job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
GROUP BY name
ORDER BY first_ts NULLS LAST, file, line_no, name

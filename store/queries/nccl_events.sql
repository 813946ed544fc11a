-- nccl_events: What the process group and its watchdog reported, alike ones of one rank in one row.
-- TABLES: log_event
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL
-- NEEDS: log_event.kind = nccl_watchdog | nccl_error
-- EMPTY: VARCHAR, VARCHAR, BIGINT, BIGINT, VARCHAR, BIGINT, BIGINT, BIGINT, DOUBLE, DOUBLE, TIMESTAMP, VARCHAR, BIGINT, BIGINT, VARCHAR, VARCHAR, VARCHAR, VARCHAR, VARCHAR, VARCHAR
-- PRUNE: job_id
-- COLUMN kind: nccl_watchdog or nccl_error
-- COLUMN name: short name
-- COLUMN rank: rank that reports
-- COLUMN events: how many
-- COLUMN collective: collective that is named
-- COLUMN seq: its sequence number
-- COLUMN last_enqueued_seq: last enqueued, as the watchdog prints it
-- COLUMN last_completed_seq: last completed, as the watchdog prints it
-- COLUMN elapsed_s [s]: how long it ran
-- COLUMN timeout_s [s]: limit that was hit
-- COLUMN first_ts: first time
-- COLUMN file: file of the first one
-- COLUMN line_no: line of the first one
-- COLUMN last_line: line of the last one
-- COLUMN peer: other end that is named
-- COLUMN host: host that is named
-- COLUMN severity: severity of the first one
-- COLUMN message: text of the first one
-- COLUMN missing_ranks: ranks that Horovod's stall inspector misses, in the first one
-- COLUMN or_later: name of the time, where it is that of an earlier line: it came then or later
-- CAVEAT: The first rank to report is not the rank that caused it.
WITH e AS (
  SELECT * FROM log_event
  WHERE kind IN ('nccl_watchdog', 'nccl_error')
    AND job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
)
SELECT
  kind, name, rank, count(*) AS events,
  first(collective ORDER BY (collective IS NULL), ts NULLS LAST, file, line_no) AS collective,
  first(seq ORDER BY (seq IS NULL), ts NULLS LAST, file, line_no) AS seq,
  max(last_enqueued_seq) AS last_enqueued_seq, max(last_completed_seq) AS last_completed_seq,
  round(max(elapsed_ms) / 1000.0, 1) AS elapsed_s, round(max(timeout_ms) / 1000.0, 1) AS timeout_s, min(ts) FILTER (WHERE ts_kind IS DISTINCT FROM 'file') AS first_ts,
  first(file ORDER BY ts NULLS LAST, file, line_no) AS file,
  first(line_no ORDER BY ts NULLS LAST, file, line_no) AS line_no, max(line_no) AS last_line,
  first(peer ORDER BY (peer IS NULL), ts NULLS LAST, file, line_no) AS peer,
  first(coalesce(host, node) ORDER BY ts NULLS LAST, file, line_no) AS host,
  first(severity ORDER BY ts NULLS LAST, file, line_no) AS severity,
  first(left(message, 500) ORDER BY ts NULLS LAST, file, line_no) AS message,
  first(json_extract_string(TRY_CAST(detail AS JSON), '$.missing') ORDER BY ts NULLS LAST, file, line_no) AS missing_ranks,
  CASE WHEN arg_min(coalesce(ts_kind, '') = 'carried', (ts, coalesce(ts_kind, '') = 'carried')) FILTER (WHERE ts IS NOT NULL AND ts_kind IS DISTINCT FROM 'file') THEN 'first_ts' END AS or_later
FROM e
GROUP BY kind, name, rank
ORDER BY first_ts NULLS LAST, file, line_no, kind, name, rank

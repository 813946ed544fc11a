-- nccl_ranks: What each rank said of its process group when a collective hung: how far it was, and whether it timed out itself.
-- TABLES: log_event
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL
-- PRUNE: job_id
-- COLUMN pg: process group
-- COLUMN rank: rank
-- COLUMN timed_out: it reported the time-out of a collective of its own
-- COLUMN collective: collective that it waited in
-- COLUMN seq: sequence number of that
-- COLUMN last_enqueued_seq: last enqueued
-- COLUMN last_completed_seq: last completed
-- COLUMN furthest_seq: last enqueued of the furthest rank of the group
-- COLUMN never_entered: everything that it enqueued was completed, while another rank had enqueued more
-- COLUMN elapsed_s [s]: how long the collective ran
-- COLUMN timeout_s [s]: limit
-- COLUMN first_ts: first time
-- COLUMN file: file
-- COLUMN line_no: line
-- COLUMN or_later: name of the time, where it is that of an earlier line: it came then or later
-- CAVEAT: A rank that printed nothing is missing here, and may be the one that hung.
WITH e AS (
  SELECT *, coalesce(json_extract_string(TRY_CAST(detail AS JSON), '$.pg'), '0') AS pg FROM log_event
  WHERE kind = 'nccl_watchdog' AND name IN ('collective_timeout', 'timeout_state', 'dump_signal')
    AND job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
),
r AS (
  SELECT
    pg, rank, bool_or(name = 'collective_timeout') AS timed_out,
    first(collective ORDER BY (collective IS NULL), ts NULLS LAST, line_no) AS collective,
    min(seq) FILTER (WHERE name = 'collective_timeout') AS seq, max(last_enqueued_seq) AS last_enqueued_seq,
    max(last_completed_seq) AS last_completed_seq, round(max(elapsed_ms) / 1000.0, 1) AS elapsed_s,
    round(max(timeout_ms) / 1000.0, 1) AS timeout_s, min(ts) FILTER (WHERE ts_kind IS DISTINCT FROM 'file') AS first_ts,
    first(file ORDER BY ts NULLS LAST, file, line_no) AS file, min(line_no) AS line_no,
    CASE WHEN arg_min(coalesce(ts_kind, '') = 'carried', (ts, coalesce(ts_kind, '') = 'carried')) FILTER (WHERE ts IS NOT NULL AND ts_kind IS DISTINCT FROM 'file') THEN 'first_ts' END AS or_later
  FROM e
  GROUP BY pg, rank
)
SELECT
  pg, rank, timed_out, collective, seq, last_enqueued_seq, last_completed_seq,
  max(last_enqueued_seq) OVER (PARTITION BY pg) AS furthest_seq,
  last_enqueued_seq = last_completed_seq AND last_enqueued_seq < max(last_enqueued_seq) OVER (PARTITION BY pg)
    AS never_entered,
  elapsed_s, timeout_s, first_ts, file, line_no, or_later
FROM r
ORDER BY never_entered DESC NULLS LAST, timed_out DESC, first_ts NULLS LAST, pg, rank

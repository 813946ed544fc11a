-- oom_events: CUDA out of memory as the job printed it: what was asked for and what there was.
-- TABLES: log_event, train_step
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL
-- NEEDS: log_event.kind = cuda_oom
-- EMPTY: BIGINT, BIGINT, BIGINT, VARCHAR, BIGINT, DOUBLE, DOUBLE, DOUBLE, DOUBLE, BIGINT, DOUBLE, BOOLEAN, TIMESTAMP, VARCHAR, BIGINT, BIGINT, BIGINT, VARCHAR, VARCHAR, VARCHAR, VARCHAR, DOUBLE
-- PRUNE: job_id
-- COLUMN events: how many alike
-- COLUMN ranks: ranks that raised it, where ranks are told apart
-- COLUMN rank: rank of the first one
-- COLUMN node: node of the first one
-- COLUMN gpu: GPU as the process numbers it
-- COLUMN requested_gib [GiB]: size of the request
-- COLUMN total_gib [GiB]: what the card has
-- COLUMN free_gib [GiB]: what was free
-- COLUMN allocated_gib [GiB]: what the process had allocated
-- COLUMN other_processes: further processes on the card
-- COLUMN other_gib [GiB]: memory that further processes hold
-- COLUMN over_capacity: the request is larger than the whole card
-- COLUMN oom_ts: when the first one was printed
-- COLUMN file: file of the first one
-- COLUMN line_no: line of the first one
-- COLUMN last_line: line of the last one
-- COLUMN steps_after: training steps that the same file reports after the last one
-- COLUMN name: its name
-- COLUMN severity: worst severity; warning where the program tells of it as of something that it caught
-- COLUMN message: text of the first one
-- COLUMN or_later: name of the time, where it is that of an earlier line: it came then or later
-- COLUMN unaccounted_gib [GiB]: what was in use on the card beyond all that PyTorch had reserved in this process, where no process is listed
-- CAVEAT: Sizes are as the allocator printed them; a sampled memory curve can miss a peak.
WITH e AS (
  SELECT *,
    from_json(json_extract(TRY_CAST(detail AS JSON), '$.other_processes'), '[{"pid":"BIGINT","bytes":"BIGINT"}]') AS listed,
    json_extract(TRY_CAST(detail AS JSON), '$.in_use_bytes') IS NOT NULL AS names_itself,
    json_extract_string(TRY_CAST(detail AS JSON), '$.reserved') = 'total' AS reserved_total
  FROM log_event
  WHERE kind = 'cuda_oom' AND job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
),
b AS (
  SELECT *, [x.bytes for x in listed] AS sizes FROM e
),
-- Where the message does not speak of "this process", one of the processes that it lists is the one that ran out.
o AS (
  SELECT *,
    CASE WHEN names_itself THEN len(sizes) ELSE len(sizes) - 1 END AS others,
    CASE WHEN names_itself THEN list_sum(sizes)
         WHEN len(sizes) > 1 THEN list_sum(sizes)
           - coalesce(list_min([x for x in sizes if x >= allocated_bytes]), list_max(sizes)) END AS other_bytes
  FROM b
),
g AS (
  SELECT
    count(*) AS events, count(DISTINCT rank) AS ranks,
    first(rank ORDER BY ts NULLS LAST, file, line_no) AS rank,
    first(coalesce(node, host) ORDER BY ts NULLS LAST, file, line_no) AS node,
    first(gpu ORDER BY ts NULLS LAST, file, line_no) AS gpu,
    requested_bytes, max(total_bytes) AS total_bytes, min(free_bytes) AS free_bytes, max(allocated_bytes) AS allocated_bytes,
    max(others) AS others, max(other_bytes) AS other_bytes,
    min(total_bytes - free_bytes - reserved_bytes) FILTER (WHERE reserved_total AND NOT names_itself AND listed IS NULL) AS unaccounted_bytes, min(ts) FILTER (WHERE ts_kind IS DISTINCT FROM 'file') AS oom_ts,
    CASE WHEN arg_min(coalesce(ts_kind, '') = 'carried', (ts, coalesce(ts_kind, '') = 'carried')) FILTER (WHERE ts IS NOT NULL AND ts_kind IS DISTINCT FROM 'file') THEN 'oom_ts' END AS or_later,
    first(file ORDER BY ts NULLS LAST, file, line_no) AS file,
    first(line_no ORDER BY ts NULLS LAST, file, line_no) AS line_no, max(line_end) AS last_line,
    first(name ORDER BY ts NULLS LAST, file, line_no) AS name, bool_or(severity = 'fatal') AS raised,
    bool_and(severity = 'warning') AS caught,
    first(left(message, 600) ORDER BY ts NULLS LAST, file, line_no) AS message
  FROM o
  GROUP BY requested_bytes
),
s AS (
  SELECT g.requested_bytes, g.name, count(*) AS steps_after
  FROM g JOIN train_step t ON t.file IS NOT DISTINCT FROM g.file AND t.line_no > g.last_line
  WHERE t.job_id = $job_id AND ($attempt IS NULL OR t.attempt IS NULL OR t.attempt = $attempt)
  GROUP BY g.requested_bytes, g.name
)
SELECT
  g.events, g.ranks, g.rank, g.node, g.gpu, round(g.requested_bytes / 1073741824.0, 2) AS requested_gib,
  round(g.total_bytes / 1073741824.0, 2) AS total_gib, round(g.free_bytes / 1073741824.0, 2) AS free_gib,
  round(g.allocated_bytes / 1073741824.0, 2) AS allocated_gib, nullif(greatest(g.others, 0), 0) AS other_processes,
  round(g.other_bytes / 1073741824.0, 2) AS other_gib, g.requested_bytes > g.total_bytes AS over_capacity, g.oom_ts, g.file,
  g.line_no, g.last_line, coalesce(s.steps_after, 0) AS steps_after, g.name,
  CASE WHEN g.raised THEN 'fatal' WHEN g.caught THEN 'warning' ELSE 'error' END AS severity, g.message, g.or_later,
  round(g.unaccounted_bytes / 1073741824.0, 2) AS unaccounted_gib
FROM g LEFT JOIN s ON s.requested_bytes IS NOT DISTINCT FROM g.requested_bytes AND s.name = g.name
ORDER BY g.oom_ts NULLS LAST, g.file, g.line_no, g.requested_bytes

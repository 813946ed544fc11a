-- oom_events: CUDA out of memory as the job printed it: what was asked for and what there was.
-- TABLES: log_event
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL
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
-- COLUMN reserved_gib [GiB]: what the process had reserved
-- COLUMN other_gib [GiB]: memory that is in use and not this process's own reservation
-- COLUMN over_capacity: the request is larger than the whole card
-- COLUMN oom_ts: when the first one was printed
-- COLUMN file: file of the first one
-- COLUMN line_no: line of the first one
-- COLUMN name: its name
-- COLUMN message: text of the first one
-- COLUMN user_frame: innermost frame outside installed packages
-- CAVEAT: Sizes are as the allocator printed them; a sampled memory curve can miss a peak.
WITH e AS (
  SELECT * FROM log_event
  WHERE kind = 'cuda_oom' AND job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
)
SELECT
  count(*) AS events, count(DISTINCT rank) AS ranks,
  first(rank ORDER BY ts NULLS LAST, file, line_no) AS rank,
  first(coalesce(node, host) ORDER BY ts NULLS LAST, file, line_no) AS node,
  first(gpu ORDER BY ts NULLS LAST, file, line_no) AS gpu,
  round(requested_bytes / 1073741824.0, 2) AS requested_gib,
  round(max(total_bytes) / 1073741824.0, 2) AS total_gib,
  round(min(free_bytes) / 1073741824.0, 2) AS free_gib,
  round(max(allocated_bytes) / 1073741824.0, 2) AS allocated_gib,
  round(max(reserved_bytes) / 1073741824.0, 2) AS reserved_gib,
  round((max(total_bytes) - min(free_bytes) - max(coalesce(reserved_bytes, allocated_bytes))) / 1073741824.0, 2)
    AS other_gib,
  requested_bytes > max(total_bytes) AS over_capacity,
  min(ts) AS oom_ts,
  first(file ORDER BY ts NULLS LAST, file, line_no) AS file,
  first(line_no ORDER BY ts NULLS LAST, file, line_no) AS line_no,
  first(name ORDER BY ts NULLS LAST, file, line_no) AS name,
  first(left(message, 600) ORDER BY ts NULLS LAST, file, line_no) AS message,
  first(user_frame ORDER BY ts NULLS LAST, file, line_no) AS user_frame
FROM e
GROUP BY requested_bytes
ORDER BY oom_ts NULLS LAST, file, line_no, requested_bytes

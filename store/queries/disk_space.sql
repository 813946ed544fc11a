-- disk_space: How much room the file system that a path lies on had on the job's nodes: before the run, at its least, and at its end.
-- TABLES: host_sample
-- PARAMS: job_id VARCHAR, path VARCHAR, nodes VARCHAR = NULL, from_ts TIMESTAMP = NULL, to_ts TIMESTAMP = NULL
-- PRUNE: nodes, from_ts - 1 HOUR, to_ts
-- COLUMN node: node
-- COLUMN filesystem: mount point, the longest one that the path begins with
-- COLUMN total_gib [GiB]: its size
-- COLUMN before_gib [GiB]: free when the run began: the last sample before it or, without one, the first within two minutes after it
-- COLUMN before_share [ratio]: of its size
-- COLUMN before_ts: when that was
-- COLUMN least_gib [GiB]: least that was free in the run
-- COLUMN least_share [ratio]: of its size
-- COLUMN least_ts: when that was
-- COLUMN samples: samples from an hour before the run to its end
-- CAVEAT: Of everybody who writes there. A folder of a container may lie on another file system than its path says.
WITH h AS (
  SELECT node, ts, filesystem, disk_free_bytes AS free, disk_total_bytes AS total,
    max(length(rtrim(filesystem, '/'))) OVER (PARTITION BY node) AS longest
  FROM host_sample
  -- a host belongs to no job: the job's number is only what the answer is about
  WHERE $job_id IS NOT NULL AND list_contains(string_split($nodes, ','), coalesce(node, ''))
    AND filesystem IS NOT NULL AND disk_free_bytes IS NOT NULL AND starts_with($path || '/', rtrim(filesystem, '/') || '/')
    AND ts >= $from_ts::TIMESTAMP - INTERVAL 1 HOUR AND ts <= $to_ts::TIMESTAMP
),
m AS (SELECT * FROM h WHERE length(rtrim(filesystem, '/')) = longest),
s AS (
  SELECT node, filesystem, max(total) AS total, count(*) AS samples,
    coalesce(arg_max(free, ts) FILTER (WHERE ts <= $from_ts::TIMESTAMP), arg_min(free, ts) FILTER (WHERE ts <= $from_ts::TIMESTAMP + INTERVAL 2 MINUTE)) AS before,
    coalesce(max(ts) FILTER (WHERE ts <= $from_ts::TIMESTAMP), min(ts) FILTER (WHERE ts <= $from_ts::TIMESTAMP + INTERVAL 2 MINUTE)) AS before_ts,
    min(free) FILTER (WHERE ts > $from_ts::TIMESTAMP) AS least, arg_min(ts, free) FILTER (WHERE ts > $from_ts::TIMESTAMP) AS least_ts
  FROM m
  GROUP BY node, filesystem
)
SELECT
  node, filesystem, round(total / 1073741824.0, 2) AS total_gib, round(before / 1073741824.0, 2) AS before_gib,
  round(before / nullif(total, 0)::DOUBLE, 3) AS before_share, before_ts, round(least / 1073741824.0, 2) AS least_gib,
  round(least / nullif(total, 0)::DOUBLE, 3) AS least_share, least_ts, samples
FROM s
ORDER BY least_share NULLS LAST, node, filesystem

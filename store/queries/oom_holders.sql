-- oom_holders: Who held most memory on a node as its kernel killed for the whole host, by the kernel's own list of tasks.
-- TABLES: host_event
-- PARAMS: job_id VARCHAR, nodes VARCHAR = NULL, from_ts TIMESTAMP = NULL, to_ts TIMESTAMP = NULL
-- PRUNE: job_id, nodes, from_ts, to_ts + 5 MINUTE
-- EMPTY: VARCHAR, TIMESTAMP, VARCHAR, DOUBLE, VARCHAR, BOOLEAN, DOUBLE, VARCHAR, BOOLEAN
-- HIDES: process_name, message, killed
-- COLUMN node: node
-- COLUMN killed_ts: when the kernel killed
-- COLUMN process_name: name of the tasks
-- COLUMN held_gib [GiB]: what they held together
-- COLUMN message: how many tasks, of which user
-- COLUMN same_user: they are of the user whose process was killed
-- COLUMN user_gib [GiB]: what the largest tasks of that user held, where they are among the three largest groups
-- COLUMN killed: name of the process that was killed
-- COLUMN hidden: true where it is not the job's, or other jobs were there too: names are left out
-- CAVEAT: The three largest groups by name and user; memory of files and of the kernel itself is in none of them.
WITH e AS (
  SELECT *, regexp_extract(message, 'UID:(\d+)', 1) AS uid FROM host_event
  WHERE (job_id = $job_id OR (job_id IS NULL AND list_contains(string_split($nodes, ','), coalesce(node, ''))))
    AND event IN ('oom_kill', 'oom_task')
    AND ($from_ts IS NULL OR ts >= $from_ts::TIMESTAMP) AND ($to_ts IS NULL OR ts <= $to_ts::TIMESTAMP + INTERVAL 5 MINUTE)
),
k AS (SELECT node, ts, any_value(uid) AS uid, any_value(process_name) AS name FROM e WHERE event = 'oom_kill' GROUP BY node, ts),
h AS (
  SELECT e.node, e.ts, e.process_name, e.rss_bytes, e.message, k.name AS killed,
    CASE WHEN k.uid <> '' THEN contains(e.message, ' of user ' || k.uid || ':') END AS same_user
  FROM e JOIN k ON e.node = k.node AND e.ts BETWEEN k.ts - INTERVAL 5 SECOND AND k.ts + INTERVAL 5 SECOND
  WHERE e.event = 'oom_task'
)
SELECT
  node, ts AS killed_ts, process_name, round(rss_bytes / 1073741824.0, 1) AS held_gib, left(message, 300) AS message, same_user,
  round(sum(rss_bytes) FILTER (WHERE same_user) OVER (PARTITION BY node, ts) / 1073741824.0, 1) AS user_gib, killed,
  NULL::BOOLEAN AS hidden, same_user AS _own
FROM h
ORDER BY ts, node, held_gib DESC, process_name, message, columns(*)

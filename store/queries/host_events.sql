-- host_events: OOM kills, segfaults, hung tasks, storage stalls and panics of the job's nodes, from their kernel logs.
-- TABLES: host_event, process
-- PARAMS: job_id VARCHAR, nodes VARCHAR = NULL, from_ts TIMESTAMP = NULL, to_ts TIMESTAMP = NULL
-- NONE: segfault, hung task, kernel panic, kernel OOM kill
-- EMPTY: VARCHAR, VARCHAR, TIMESTAMP, BIGINT, BIGINT, VARCHAR, BOOLEAN, VARCHAR, VARCHAR, DOUBLE, VARCHAR
-- PRUNE: none
-- COLUMN node: node
-- COLUMN event: oom_kill, segfault, trap, hung_task, mce, storage, filesystem, panic, boot, link, thermal
-- COLUMN event_ts: when
-- COLUMN before_end_s [s]: seconds from it to the job's end; negative where it came after it
-- COLUMN pid: process that is named
-- COLUMN process_name: its name
-- COLUMN of_job: the process or the cgroup is this job's
-- COLUMN cgroup: cgroup that is named
-- COLUMN limit_kind: CONSTRAINT_MEMCG for a cgroup's limit, CONSTRAINT_NONE for the whole host
-- COLUMN rss_gib [GiB]: victim's resident memory
-- COLUMN message: text as printed
-- CAVEAT: Only nodes whose kernel log was read are here.
WITH p AS (SELECT DISTINCT node, pid FROM process WHERE job_id = $job_id AND pid IS NOT NULL)
SELECT
  h.node, h.event, h.ts AS event_ts,
  date_diff('second', h.ts, $to_ts::TIMESTAMP) AS before_end_s,
  h.pid, h.process_name,
  h.job_id IS NOT DISTINCT FROM $job_id OR p.pid IS NOT NULL
    OR coalesce(contains(h.cgroup || '/', '/job_' || $job_id || '/'), false) AS of_job,
  h.cgroup, h."constraint" AS limit_kind, round(h.rss_bytes / 1073741824.0, 2) AS rss_gib,
  left(h.message, 300) AS message
FROM host_event h LEFT JOIN p ON p.node = h.node AND p.pid = h.pid
WHERE (h.job_id = $job_id OR (h.job_id IS NULL AND list_contains(string_split($nodes, ','), coalesce(h.node, ''))))
  AND ($from_ts IS NULL OR h.ts >= $from_ts::TIMESTAMP)
  AND ($to_ts IS NULL OR h.ts <= $to_ts::TIMESTAMP + INTERVAL 5 MINUTE)
ORDER BY of_job DESC, h.ts, h.node, h.pid, h.event

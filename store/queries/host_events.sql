-- host_events: OOM kills, segfaults, hung tasks, storage stalls and panics of the job's nodes, from their kernel logs.
-- TABLES: host_event, process
-- PARAMS: job_id VARCHAR, nodes VARCHAR = NULL, from_ts TIMESTAMP = NULL, to_ts TIMESTAMP = NULL
-- PRUNE: process(job_id), host_event(job_id, nodes, from_ts, to_ts + 5 MINUTE)
-- NONE: segfault, hung task, kernel panic, kernel OOM kill
-- NEEDS: host_event
-- EMPTY: VARCHAR, VARCHAR, TIMESTAMP, BIGINT, BIGINT, VARCHAR, BOOLEAN, VARCHAR, VARCHAR, DOUBLE, VARCHAR, BOOLEAN
-- HIDES: pid, process_name, cgroup, message
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
-- COLUMN hidden: true where it is not the job's, or other jobs were there too: names are left out
-- CAVEAT: Only nodes whose kernel log was read are here.
WITH p AS (SELECT node, pid, ts, end_ts FROM process WHERE job_id = $job_id AND pid IS NOT NULL),
h AS (
  SELECT
    *,
    coalesce(job_id = $job_id, false)
      -- Numbers of processes are used again.
      OR EXISTS (
        SELECT 1 FROM p WHERE p.node = e.node AND p.pid = e.pid
          AND coalesce(p.ts <= e.ts + INTERVAL 1 MINUTE, true) AND coalesce(p.end_ts >= e.ts - INTERVAL 10 MINUTE, true)
      )
      OR coalesce(contains(cgroup || '/', '/job_' || $job_id || '/'), false) AS of_job
  FROM host_event e
  WHERE event IS DISTINCT FROM 'oom_task' AND (job_id = $job_id OR (job_id IS NULL AND list_contains(string_split($nodes, ','), coalesce(node, ''))))
    AND ($from_ts IS NULL OR ts >= $from_ts::TIMESTAMP)
    AND ($to_ts IS NULL OR ts <= $to_ts::TIMESTAMP + INTERVAL 5 MINUTE)
)
SELECT
  node, event, ts AS event_ts, date_diff('second', ts, $to_ts::TIMESTAMP) AS before_end_s, pid, process_name, of_job, cgroup,
  "constraint" AS limit_kind, round(rss_bytes / 1073741824.0, 2) AS rss_gib, left(message, 300) AS message,
  NULL::BOOLEAN AS hidden, of_job AS _own
FROM h
ORDER BY of_job DESC, ts, node, pid, event, columns(*)

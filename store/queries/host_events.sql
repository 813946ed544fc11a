-- host_events: OOM kills, segfaults, hung tasks, storage stalls and panics of the job's nodes, from their kernel logs.
-- TABLES: host_event, slurm_job, process, log_line
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL
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
WITH j AS (
  SELECT * FROM slurm_job
  WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
  ORDER BY attempt DESC NULLS LAST, end_ts DESC NULLS FIRST, start_ts DESC NULLS LAST LIMIT 1
),
hosts AS (
  SELECT trim(unnest(string_split(node_list, ','))) AS node FROM j WHERE node_list IS NOT NULL
  UNION
  SELECT node FROM process
  WHERE job_id = $job_id AND node IS NOT NULL AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
),
span AS (
  SELECT
    coalesce((SELECT start_ts FROM j), (SELECT min(ts) FROM log_line WHERE job_id = $job_id)) AS from_ts,
    coalesce((SELECT end_ts FROM j), CASE WHEN (SELECT count(*) FROM j) = 0 THEN
      (SELECT max(ts) FROM log_line WHERE job_id = $job_id) END, TIMESTAMP '9999-12-31') AS to_ts
),
p AS (SELECT DISTINCT node, pid FROM process WHERE job_id = $job_id AND pid IS NOT NULL)
SELECT
  h.node, h.event, h.ts AS event_ts,
  CASE WHEN span.to_ts < TIMESTAMP '9999-01-01' THEN date_diff('second', h.ts, span.to_ts) END AS before_end_s,
  h.pid, h.process_name,
  h.job_id IS NOT DISTINCT FROM $job_id OR p.pid IS NOT NULL
    OR coalesce(contains(h.cgroup, 'job_' || $job_id || '/'), false) OR coalesce(h.cgroup LIKE '%job\_' || $job_id ESCAPE '\', false)
    AS of_job,
  h.cgroup, h."constraint" AS limit_kind, round(h.rss_bytes / 1073741824.0, 2) AS rss_gib,
  left(h.message, 300) AS message
FROM host_event h LEFT JOIN p ON p.node = h.node AND p.pid = h.pid, span
WHERE h.job_id = $job_id
   OR (h.job_id IS NULL AND h.node IN (SELECT node FROM hosts)
       AND h.ts BETWEEN span.from_ts AND span.to_ts + INTERVAL 5 MINUTE)
ORDER BY of_job DESC, h.ts, h.node, h.pid, h.event

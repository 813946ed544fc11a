-- job_timeline: What happened to the job and its nodes and GPUs, from every store, in order of time.
-- TABLES: slurm_job, slurm_job_event, slurm_node_state, log_event, gpu_event, link_event, host_event
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL
-- PRUNE: slurm_job(job_id), slurm_job_event(job_id), log_event(job_id), slurm_node_state(nodes), gpu_event(job_id, nodes), link_event(job_id, nodes), host_event(job_id, nodes)
-- FIRST: nodes_of_job
-- HIDES: message
-- COLUMN ts: when
-- COLUMN store: who says so
-- COLUMN what: kind of event
-- COLUMN node: node
-- COLUMN rank: rank
-- COLUMN times: how often in that second
-- COLUMN message: text
-- COLUMN or_later: name of the time, where it is that of an earlier line: it came then or later
-- CAVEAT: Clocks of different nodes may differ by seconds; log lines without a time of their own are left out, but for those of the last two minutes, which have the time of an earlier one.
WITH job AS (
  SELECT min(start_ts) AS from_ts, max(coalesce(end_ts, start_ts)) AS to_ts FROM slurm_job
  WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
),
hosts AS (
  SELECT DISTINCT trim(unnest(string_split(node_list, ','))) AS node FROM slurm_job
  WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
),
seen AS (
  SELECT submit_ts AS ts, 'slurm' AS store, 'submitted' AS what, NULL AS node, NULL AS rank, name AS message,
    true AS own, NULL::BIGINT AS pid, NULL AS cgroup, false AS lent
  FROM slurm_job WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
  UNION ALL
  SELECT start_ts, 'slurm', 'started', node_list, NULL, NULL, true, NULL, NULL, false
  FROM slurm_job WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
  UNION ALL
  SELECT end_ts, 'slurm', 'ended', NULL, NULL, state, true, NULL, NULL, false
  FROM slurm_job WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
  UNION ALL
  SELECT ts, 'slurm', event, node, NULL, concat_ws(' ', state, reason, message), true, NULL, NULL, false
  FROM slurm_job_event WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
  UNION ALL
  SELECT ts, 'log', concat_ws(' ', kind, name), node, rank, left(message, 300), true, NULL, NULL,
    coalesce(ts_kind, '') = 'carried'
  FROM log_event
  WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt) AND ts IS NOT NULL
    AND (coalesce(ts_kind, '') NOT IN ('carried', 'file') OR (ts_kind = 'carried' AND ts + INTERVAL 2 MINUTE >= (SELECT to_ts FROM job)))
    AND (severity IN ('fatal', 'error') OR kind IN ('checkpoint', 'train_begin', 'train_end', 'signal', 'slurm'))
  UNION ALL
  SELECT s.ts, 'node', concat_ws(' ', state, state_flags), s.node, NULL, reason, true, NULL, NULL, false
  FROM slurm_node_state s, job
  WHERE s.node IN (SELECT node FROM hosts) AND s.ts BETWEEN from_ts - INTERVAL 1 HOUR AND to_ts + INTERVAL 1 HOUR
  UNION ALL
  SELECT g.ts, 'gpu', g.event, g.node, NULL, g.message, coalesce(g.job_id = $job_id, false), g.pid, NULL, false
  FROM gpu_event g, job
  WHERE g.job_id = $job_id
    OR (g.job_id IS NULL AND g.node IN (SELECT node FROM hosts) AND g.ts BETWEEN from_ts AND to_ts + INTERVAL 5 MINUTE)
  UNION ALL
  SELECT l.ts, 'fabric', l.event, l.node, NULL, l.message, true, NULL, NULL, false
  FROM link_event l, job
  WHERE l.job_id = $job_id
    OR (l.job_id IS NULL AND l.node IN (SELECT node FROM hosts) AND l.ts BETWEEN from_ts AND to_ts + INTERVAL 5 MINUTE)
  UNION ALL
  SELECT h.ts, 'host', h.event, h.node, NULL, left(h.message, 300), coalesce(h.job_id = $job_id, false), h.pid, h.cgroup, false
  FROM host_event h, job
  WHERE h.job_id = $job_id
    OR (h.job_id IS NULL AND h.node IN (SELECT node FROM hosts) AND h.ts BETWEEN from_ts AND to_ts + INTERVAL 5 MINUTE)
)
SELECT date_trunc('second', ts) AS ts, store, what, min(node) AS node, min(rank) AS rank, count(*) AS times,
  min(message) AS message, CASE WHEN bool_and(lent) THEN 'ts' END AS or_later, own AS _own, pid AS _pid, cgroup AS _cgroup
FROM (SELECT * REPLACE (CASE WHEN NOT own THEN pid END AS pid, CASE WHEN NOT own THEN cgroup END AS cgroup) FROM seen)
WHERE ts IS NOT NULL
GROUP BY date_trunc('second', ts), store, what, own, pid, cgroup, CASE WHEN NOT own THEN node END
ORDER BY ts, store, what, own DESC, min(node), pid, cgroup

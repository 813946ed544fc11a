-- job_timeline: What happened to the job and its nodes and GPUs, from every store, in order of time.
-- TABLES: slurm_job, slurm_job_event, slurm_node_state, log_event, gpu_event, link_event, host_event
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL
-- COLUMN ts: when
-- COLUMN store: who says so
-- COLUMN what: kind of event
-- COLUMN node: node
-- COLUMN rank: rank
-- COLUMN times: how often in that second
-- COLUMN message: text
-- CAVEAT: Clocks of different nodes may differ by seconds; log lines without a time of their own are left out.
WITH job AS (
  SELECT min(start_ts) AS from_ts, max(coalesce(end_ts, start_ts)) AS to_ts FROM slurm_job
  WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
),
hosts AS (
  SELECT DISTINCT trim(unnest(string_split(node_list, ','))) AS node FROM slurm_job
  WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
),
seen AS (
  SELECT submit_ts AS ts, 'slurm' AS store, 'submitted' AS what, NULL AS node, NULL AS rank, name AS message
  FROM slurm_job WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
  UNION ALL
  SELECT start_ts, 'slurm', 'started', node_list, NULL, NULL
  FROM slurm_job WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
  UNION ALL
  SELECT end_ts, 'slurm', 'ended', NULL, NULL, state
  FROM slurm_job WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
  UNION ALL
  SELECT ts, 'slurm', event, node, NULL, concat_ws(' ', state, reason, message)
  FROM slurm_job_event WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
  UNION ALL
  SELECT ts, 'log', concat_ws(' ', kind, name), node, rank, left(message, 300)
  FROM log_event
  WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt) AND ts IS NOT NULL
    AND ts_kind IS DISTINCT FROM 'file'
    AND (severity IN ('fatal', 'error') OR kind IN ('checkpoint', 'train_begin', 'train_end', 'signal', 'slurm'))
  UNION ALL
  SELECT s.ts, 'node', concat_ws(' ', state, state_flags), s.node, NULL, reason
  FROM slurm_node_state s, job
  WHERE s.node IN (SELECT node FROM hosts) AND s.ts BETWEEN from_ts - INTERVAL 1 HOUR AND to_ts + INTERVAL 1 HOUR
  UNION ALL
  SELECT g.ts, 'gpu', g.event, g.node, NULL, g.message
  FROM gpu_event g, job
  WHERE g.job_id = $job_id
    OR (g.node IN (SELECT node FROM hosts) AND g.ts BETWEEN from_ts AND to_ts + INTERVAL 5 MINUTE)
  UNION ALL
  SELECT l.ts, 'fabric', l.event, l.node, NULL, l.message
  FROM link_event l, job
  WHERE l.job_id = $job_id
    OR (l.node IN (SELECT node FROM hosts) AND l.ts BETWEEN from_ts AND to_ts + INTERVAL 5 MINUTE)
  UNION ALL
  SELECT h.ts, 'host', h.event, h.node, NULL, left(h.message, 300)
  FROM host_event h, job
  WHERE h.job_id = $job_id
    OR (h.node IN (SELECT node FROM hosts) AND h.ts BETWEEN from_ts AND to_ts + INTERVAL 5 MINUTE)
)
SELECT date_trunc('second', ts) AS ts, store, what, min(node) AS node, min(rank) AS rank, count(*) AS times,
  min(message) AS message
FROM seen WHERE ts IS NOT NULL
GROUP BY date_trunc('second', ts), store, what
ORDER BY ts, store, what

-- cuda_activity: What each process asked of CUDA: kernel launches in all and lately, time in the API, longest gap.
-- TABLES: cuda_sample
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL
-- EMPTY: VARCHAR, BIGINT, BIGINT, BOOLEAN, BIGINT, BIGINT, DOUBLE, DOUBLE, DOUBLE, DOUBLE, DOUBLE, TIMESTAMP, TIMESTAMP
-- PRUNE: job_id
-- COLUMN node: node
-- COLUMN rank: rank
-- COLUMN pid: process
-- COLUMN attached: the process has had a CUDA context
-- COLUMN launches: kernels launched in the run
-- COLUMN launches_late: kernels launched in the last ten minutes of samples
-- COLUMN covered_s [s]: time that the samples cover
-- COLUMN api_share [ratio]: time inside API calls over the time covered
-- COLUMN sync_share [ratio]: time inside synchronising calls over the time covered
-- COLUMN max_gap_s [s]: longest time between two launches
-- COLUMN stalled_share [ratio]: share of the samples with launches in which two launches lay two seconds or more apart
-- COLUMN launched_ts: last sample in which it launched one
-- COLUMN last_ts: last sample
-- CAVEAT: A launch is counted when it is enqueued, not when the GPU runs it.
WITH s AS (
  SELECT * FROM cuda_sample
  WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
),
e AS (SELECT max(ts) AS last_ts FROM s)
SELECT
  node, rank, pid, bool_or(attached) AS attached,
  sum(coalesce(launches, 0) + coalesce(graph_launches, 0))::BIGINT AS launches,
  sum(coalesce(launches, 0) + coalesce(graph_launches, 0)) FILTER (WHERE ts > e.last_ts - INTERVAL 10 MINUTE)::BIGINT
    AS launches_late,
  round(sum(interval_s), 1) AS covered_s, round(sum(api_time_s) / sum(interval_s), 3) AS api_share,
  round(sum(sync_time_s) / sum(interval_s), 3) AS sync_share, round(max(max_launch_gap_s), 1) AS max_gap_s,
  round(count(*) FILTER (WHERE max_launch_gap_s >= 2 AND coalesce(launches, 0) + coalesce(graph_launches, 0) > 0)
    / nullif(count(*) FILTER (WHERE max_launch_gap_s IS NOT NULL AND coalesce(launches, 0) + coalesce(graph_launches, 0) > 0), 0), 3)
    AS stalled_share,
  max(ts) FILTER (WHERE coalesce(launches, 0) + coalesce(graph_launches, 0) > 0) AS launched_ts, max(ts) AS last_ts
FROM s, e
GROUP BY node, rank, pid
ORDER BY rank NULLS LAST, node, pid

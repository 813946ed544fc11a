-- rank_compare: A job's ranks side by side, the one that differs most first: launches, waits, collectives, last sign of life.
-- TABLES: cuda_sample, nccl_sample, process
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL
-- PRUNE: job_id
-- COLUMN rank: global rank
-- COLUMN node: node
-- COLUMN gpu_uuids: visible GPUs, else the one that its launches went to
-- COLUMN launches: kernels launched
-- COLUMN launches_of_median [ratio]: its launches over the ranks' median
-- COLUMN sync_s [s]: time in synchronising calls
-- COLUMN sync_of_median [ratio]: its synchronising time over the ranks' median; a straggler waits least
-- COLUMN max_gap_s [s]: longest time between two launches
-- COLUMN enqueued: collectives enqueued
-- COLUMN completed: collectives completed
-- COLUMN behind: collectives completed fewer than by the furthest rank
-- COLUMN in_flight: enqueued and not completed at the last sample
-- COLUMN last_launch_ts: end of the last interval with a launch
-- COLUMN last_ts: last sample
-- COLUMN exit_code: exit status of its process
-- COLUMN exit_signal: signal that ended its process
-- CAVEAT: A rank that nobody watched is not here.
WITH c AS (
  SELECT rank, min(node) AS node, sum(launches) AS launches, sum(sync_time_s) AS sync_s, max(max_launch_gap_s) AS max_gap_s,
    max(ts) FILTER (WHERE launches > 0) AS last_launch_ts, max(ts) AS last_ts, max(gpu_uuid) AS gpu_uuid
  FROM cuda_sample
  WHERE job_id = $job_id AND rank IS NOT NULL AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
  GROUP BY rank
), n AS (
  SELECT rank, min(node) AS node, sum(enqueued) AS enqueued, sum(completed) AS completed, arg_max(in_flight, (ts, in_flight)) AS in_flight,
    max(ts) AS last_ts
  FROM nccl_sample
  WHERE job_id = $job_id AND rank IS NOT NULL AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
  GROUP BY rank
), p AS (
  SELECT rank, min(node) AS node, max(gpu_uuids) AS gpu_uuids, max(exit_code) AS exit_code, max(exit_signal) AS exit_signal
  FROM process
  WHERE job_id = $job_id AND rank IS NOT NULL AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
  GROUP BY rank
), r AS (SELECT rank FROM c UNION SELECT rank FROM n UNION SELECT rank FROM p),
a AS (
  SELECT r.rank, coalesce(c.node, n.node, p.node) AS node, coalesce(p.gpu_uuids, c.gpu_uuid) AS gpu_uuids, c.launches,
    round(c.launches / nullif(median(c.launches) OVER (), 0), 3) AS launches_of_median,
    round(c.sync_s, 2) AS sync_s, round(c.sync_s / nullif(median(c.sync_s) OVER (), 0), 3) AS sync_of_median,
    round(c.max_gap_s, 2) AS max_gap_s, n.enqueued, n.completed, max(n.completed) OVER () - n.completed AS behind, n.in_flight,
    c.last_launch_ts, greatest(c.last_ts, n.last_ts) AS last_ts, p.exit_code, p.exit_signal
  FROM r LEFT JOIN c USING (rank) LEFT JOIN n USING (rank) LEFT JOIN p USING (rank)
)
SELECT * FROM a
ORDER BY coalesce(behind, 0) DESC, abs(coalesce(launches_of_median, 1) - 1) + abs(coalesce(sync_of_median, 1) - 1) DESC, rank

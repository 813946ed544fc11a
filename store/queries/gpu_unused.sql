-- gpu_unused: GPUs that the job held and never used, and what that cost, where others of its GPUs worked or all of them lay idle.
-- TABLES: gpu_sample, gpu_minute
-- PARAMS: job_id VARCHAR, nodes VARCHAR = NULL, gpus VARCHAR = NULL, from_ts TIMESTAMP = NULL, to_ts TIMESTAMP = NULL
-- EMPTY: BIGINT, BIGINT, VARCHAR, DOUBLE, DOUBLE, DOUBLE
-- PRUNE: job_id, nodes, from_ts, to_ts
-- COLUMN unused: GPUs whose engine did nothing in any sample and whose memory held next to nothing
-- COLUMN gpus_watched: GPUs with samples of their activity
-- COLUMN named_gpus: the unused ones of the first eight nodes, as node: index, index (UUIDs where the indices are not known)
-- COLUMN peak_gib [GiB]: highest memory in use on any of them
-- COLUMN watched_min [min]: from the first to the last sample, of the one that was watched for the shortest time
-- COLUMN gpu_hours_idle [h]: their number times the length of the run
-- CAVEAT: Only GPUs that were watched for ten minutes and six tenths of the run or more are counted.
WITH g AS (
  SELECT node, gpu, gpu_uuid, unused, fb_used_max_bytes, epoch(last_ts) - epoch(first_ts) AS watched_s,
    epoch(coalesce($to_ts::TIMESTAMP, max(last_ts) OVER ())) - epoch(coalesce($from_ts::TIMESTAMP, min(first_ts) OVER ())) AS run_s
  FROM gpu_totals($job_id, $nodes, $gpus, $from_ts, $to_ts)
  WHERE engine_n > 0
),
u AS (SELECT * FROM g WHERE unused AND watched_s >= greatest(600, 0.6 * run_s)),
n AS (
  SELECT coalesce(node, 'a node that is not named') AS node,
    string_agg(coalesce(gpu::VARCHAR, gpu_uuid), ', ' ORDER BY gpu, gpu_uuid) AS named
  FROM u GROUP BY node
)
SELECT
  count(*) AS unused, (SELECT count(*) FROM g) AS gpus_watched,
  array_to_string((SELECT list(node || ': ' || named ORDER BY node) FROM n)[1:8], '; ') AS named_gpus,
  round(max(fb_used_max_bytes) / 1073741824.0, 2) AS peak_gib, round(min(watched_s) / 60, 1) AS watched_min,
  round(count(*) * max(run_s) / 3600, 2) AS gpu_hours_idle
FROM u
HAVING count(*) > 0

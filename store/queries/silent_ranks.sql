-- silent_ranks: Ranks that reported no time-out while the others of a hung job did.
-- TABLES: log_event, process, slurm_job
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL
-- NEEDS: log_event.kind = nccl_watchdog
-- EMPTY: BIGINT, BIGINT, BIGINT, BIGINT, BIGINT
-- PRUNE: job_id
-- COLUMN rank: rank
-- COLUMN world_size: ranks in the job
-- COLUMN reported: ranks that reported a time-out
-- COLUMN silent: ranks that reported none
-- COLUMN ended_by: signal that ended the rank, by the launcher
-- CAVEAT: A rank whose output was not captured is silent too. Where neither the log nor the process table told how many ranks there
-- are, a rank for each GPU that accounting has is supposed, and three of them have to have spoken.
WITH e AS (
  SELECT * FROM log_event
  WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
),
o AS (
  SELECT greatest(
    (SELECT max(world_size) FROM e WHERE kind IN ('nccl_info', 'banner', 'rendezvous')),
    (SELECT max(world_size) FROM process WHERE job_id = $job_id)) AS told
),
t AS (SELECT DISTINCT rank FROM e WHERE kind = 'nccl_watchdog' AND name = 'collective_timeout' AND rank IS NOT NULL),
g AS (
  SELECT max(gpus)::BIGINT AS gpus FROM slurm_job WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
),
w AS (
  SELECT greatest(
    coalesce(told, (SELECT gpus FROM g WHERE gpus - (SELECT count(*) FROM t) <= greatest(1, gpus // 4))), (SELECT max(rank) + 1 FROM e)
  ) AS n, CASE WHEN told IS NULL THEN 3 ELSE 1 END AS least FROM o
),
-- A quarter may be silent: where the ranks that spoke are fewer than half, nobody is named, and no list of them all is made.
a AS (SELECT unnest(range(0, (SELECT CASE WHEN n <= 2 * (SELECT count(*) FROM t) + 1 THEN n ELSE 0 END FROM w))) AS rank),
s AS (SELECT rank FROM a WHERE rank NOT IN (SELECT rank FROM t)),
d AS (SELECT rank, max(signal) AS ended_by FROM e WHERE kind = 'launcher_summary' GROUP BY rank)
SELECT
  s.rank, (SELECT n FROM w) AS world_size, (SELECT count(*) FROM t) AS reported, (SELECT count(*) FROM s) AS silent,
  d.ended_by
FROM s LEFT JOIN d USING (rank)
WHERE (SELECT count(*) FROM t) >= (SELECT least FROM w) AND (SELECT count(*) FROM s) <= greatest(1, (SELECT n FROM w) // 4)
ORDER BY s.rank

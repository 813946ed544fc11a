-- cpu_waits: How long the main thread of each rank was ready to run and had no CPU, the one that waited longest first.
-- TABLES: cuda_sample
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL
-- PRUNE: job_id
-- COLUMN node: node
-- COLUMN rank: rank
-- COLUMN pid: process
-- COLUMN gpu_uuid: its GPU, where it is known
-- COLUMN share [ratio]: time without a CPU over the time covered
-- COLUMN wait_s [s]: time without a CPU
-- COLUMN covered_s [s]: time that the samples cover
-- COLUMN others_share [ratio]: median of the other processes' shares
-- COLUMN processes: processes with such samples
-- CAVEAT: A rank that waits for a GPU or a file does not wait for a CPU.
WITH s AS (
  SELECT node, rank, pid, arg_max(gpu_uuid, ts) AS gpu_uuid, sum(cpu_wait_s) AS wait, sum(interval_s) AS covered
  FROM cuda_sample
  WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
    AND cpu_wait_s IS NOT NULL AND interval_s > 0
  GROUP BY node, rank, pid
),
r AS (SELECT *, wait / covered AS part, row_number() OVER (ORDER BY wait / covered DESC, node, rank, pid) AS place FROM s)
SELECT
  a.node, a.rank, a.pid, a.gpu_uuid, round(a.part, 3) AS share, round(a.wait, 1) AS wait_s, round(a.covered, 1) AS covered_s,
  round((SELECT median(b.part) FROM r b WHERE b.place <> a.place), 3) AS others_share, (SELECT count(*) FROM r) AS processes
FROM r a
WHERE a.place <= 16
ORDER BY a.place

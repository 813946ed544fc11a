-- nccl_mismatch: Ranks that stand in another collective than the others of their group, under the same number.
-- TABLES: nccl_sample, log_event
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL
-- EMPTY: VARCHAR, VARCHAR, BIGINT, BIGINT, BIGINT, VARCHAR, VARCHAR, VARCHAR, BIGINT, VARCHAR, VARCHAR, BIGINT, VARCHAR, VARCHAR, BIGINT
-- NEEDS: nccl_sample, log_event.kind = nccl_watchdog
-- PRUNE: job_id
-- COLUMN told_by: recorder: entries of the flight recorder; watchdog: what the ranks print as they give up
-- COLUMN comm: process group
-- COLUMN seq: number of the collective
-- COLUMN rank: first rank that stands apart
-- COLUMN apart: ranks that stand apart
-- COLUMN all_apart: their numbers, at most sixteen
-- COLUMN collective: collective of the first of them
-- COLUMN sizes: its sizes, where only they differ
-- COLUMN others: ranks that stand together in another one
-- COLUMN others_collective: collective of those
-- COLUMN others_sizes: their sizes, where only they differ
-- COLUMN ranks: ranks that are known to be in one under that number
-- COLUMN frames: innermost Python frames of the first rank that stands apart
-- COLUMN file: file of what it printed
-- COLUMN line_no: line of that
-- CAVEAT: Sends and receives are left out; sizes are compared where all ranks have to bring the same, in an all_reduce.
WITH w AS (
  SELECT 'watchdog' AS told_by, CASE WHEN contains(TRY_CAST(detail AS JSON)->>'$.pg_name', 'default') THEN '0' ELSE TRY_CAST(detail AS JSON)->>'$.pg' END
      AS comm, rank, seq,
    -- PyTorch prints _REDUCE_SCATTER_BASE for what it also calls REDUCE_SCATTER.
    regexp_replace(lower(collective), '^_|_base$', '', 'g') AS collective, file, line_no, count(DISTINCT seq) OVER () AS numbers
  FROM log_event
  WHERE kind = 'nccl_watchdog' AND name = 'collective_timeout' AND collective IS NOT NULL
    AND NOT regexp_matches(collective, '(?i)send|recv|coalesced')
    AND job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
),
e AS (
  SELECT 'recorder' AS told_by, comm, coalesce(rank, comm_rank) AS seat, seq, lower(collective) AS collective, sizes, frames,
    NULL::VARCHAR AS file, NULL::BIGINT AS line_no
  FROM nccl_sample
  WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
    AND state IN ('scheduled', 'started') AND collective IS NOT NULL AND NOT regexp_matches(collective, '(?i)send|recv|coalesced')
  UNION ALL
  SELECT told_by, comm, rank, seq, collective, NULL, NULL, file, line_no FROM w
  -- Its number tells a group of ranks apart from others on the same rank only: but for that of all ranks it may be several. Where
  -- no group is named, a single number that all are at is that of one.
  WHERE comm = '0' OR (comm IS NULL AND numbers = 1)
),
-- Only the oldest of what a rank waits in says where it stands.
o AS (
  SELECT *, row_number() OVER (PARTITION BY told_by, comm, seat ORDER BY seq, line_no) AS nth FROM e
  WHERE seat IS NOT NULL AND seq IS NOT NULL
),
s AS (
  SELECT *, CASE WHEN collective LIKE 'all_reduce%' OR collective LIKE 'allreduce%' THEN sizes END AS same_sizes FROM o WHERE nth = 1
),
k AS (
  SELECT told_by, comm, seq, collective, same_sizes, count(*) AS n, min(seat) AS first_seat FROM s GROUP BY ALL
),
g AS (
  SELECT told_by, comm, seq, sum(n)::BIGINT AS ranks, max(n) AS most, count(*) AS kinds, arg_max(collective, n) AS others_collective,
    arg_max(same_sizes, n) AS others_sizes, count(DISTINCT collective) AS names
  FROM k GROUP BY told_by, comm, seq
  -- Without a majority nobody stands apart.
  HAVING count(*) > 1 AND max(n) * 2 > sum(n)
)
SELECT
  g.told_by, g.comm, g.seq, arg_min(s.seat, s.seat) AS rank, count(*) AS apart,
  array_to_string(list_sort(list(s.seat))[:16], ', ') AS all_apart, arg_min(s.collective, s.seat) AS collective,
  CASE WHEN any_value(g.names) = 1 THEN arg_min(s.sizes, s.seat) END AS sizes, any_value(g.most) AS others,
  any_value(g.others_collective) AS others_collective, CASE WHEN any_value(g.names) = 1 THEN any_value(g.others_sizes) END AS others_sizes,
  any_value(g.ranks) AS ranks, left(arg_min(s.frames, s.seat), 600) AS frames, arg_min(s.file, s.seat) AS file,
  arg_min(s.line_no, s.seat) AS line_no
FROM g JOIN s ON s.told_by = g.told_by AND s.comm IS NOT DISTINCT FROM g.comm AND s.seq = g.seq
  AND (s.collective <> g.others_collective OR s.same_sizes IS DISTINCT FROM g.others_sizes)
GROUP BY g.told_by, g.comm, g.seq
ORDER BY g.told_by, ranks DESC, g.seq, g.comm

-- nccl_progress: How far each rank came in each process group: last enqueued, last completed, what it is stuck in.
-- TABLES: nccl_sample
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL
-- EMPTY: VARCHAR, BIGINT, VARCHAR, BIGINT, BIGINT, BIGINT, VARCHAR, BIGINT, BIGINT, BOOLEAN, HUGEINT, HUGEINT, TIMESTAMP, TIMESTAMP, VARCHAR
-- PRUNE: job_id
-- COLUMN comm: communicator or process group
-- COLUMN rank: rank
-- COLUMN node: node
-- COLUMN comm_size: ranks in it
-- COLUMN last_enqueued_seq: last enqueued
-- COLUMN last_completed_seq: last completed
-- COLUMN stuck_collective: collective that it entered and did not finish
-- COLUMN stuck_seq: its sequence number
-- COLUMN behind: how many collectives this rank is behind the furthest rank; nothing where ranks talk in pairs
-- COLUMN never_entered: everything that it enqueued is completed while others wait, in a later collective where they are numbered
-- COLUMN completed: collectives completed, all intervals
-- COLUMN completed_late: collectives completed in the last ten minutes of samples
-- COLUMN completed_ts: last sample in which it completed one
-- COLUMN last_ts: last sample
-- COLUMN frames: innermost Python frames of the stuck collective
-- CAVEAT: Ranks without samples are missing here, which proves nothing about them.
WITH s AS (
  SELECT *, coalesce(rank, comm_rank) AS seat FROM nccl_sample
  WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
),
e AS (SELECT max(ts) AS last_ts FROM s),
r AS (
  SELECT
    comm, seat AS rank, any_value(node) AS node, max(comm_size) AS comm_size,
    coalesce(max(last_enqueued_seq), max(seq)) AS last_enqueued_seq,
    coalesce(max(last_completed_seq), max(seq) FILTER (WHERE state = 'completed' OR (state IS NULL AND in_flight = 0)))
      AS last_completed_seq,
    arg_min(collective, seq) FILTER (WHERE state IN ('scheduled', 'started')) AS stuck_collective,
    min(seq) FILTER (WHERE state IN ('scheduled', 'started')) AS stuck_seq,
    bool_or(regexp_matches(coalesce(collective, ''), '(?i)send|recv|coalesced|batched')) AS pairwise, sum(completed) AS completed,
    sum(completed) FILTER (WHERE s.ts > e.last_ts - INTERVAL 10 MINUTE) AS completed_late,
    max(s.ts) FILTER (WHERE completed > 0) AS completed_ts, max(s.ts) AS last_ts,
    arg_max(in_flight, s.ts) FILTER (WHERE state IS NULL) AS open,
    coalesce(sum(completed) FILTER (WHERE s.ts > e.last_ts - INTERVAL 1 MINUTE), 0) AS completed_last,
    left(arg_min(frames, seq) FILTER (WHERE state IN ('scheduled', 'started')), 600) AS frames
  FROM s, e
  GROUP BY comm, seat
),
g AS (
  SELECT comm, max(last_enqueued_seq) AS furthest, count(stuck_seq) AS stuck, bool_or(pairwise) AS pairwise,
    -- A probe that came late counts from where it came: then who waits is known, and the numbers cannot be compared.
    count(*) FILTER (WHERE open > 0 AND completed_late = 0) * 2 > count(*) AS waiting,
    -- Ranks are sampled at different moments: of a run that goes on the one sampled first is a collective behind.
    bool_or(CASE WHEN open IS NULL THEN stuck_seq IS NOT NULL OR last_completed_seq < last_enqueued_seq
      ELSE open > 0 AND completed_last = 0 END) AS held
  FROM r GROUP BY comm
)
SELECT
  r.comm, r.rank, r.node, r.comm_size, r.last_enqueued_seq, r.last_completed_seq, r.stuck_collective, r.stuck_seq,
  CASE WHEN NOT g.pairwise THEN g.furthest - r.last_enqueued_seq END AS behind,
  NOT g.pairwise AND CASE WHEN g.waiting THEN r.open = 0 AND r.completed_late = 0
    ELSE g.held AND r.last_enqueued_seq < g.furthest AND r.last_completed_seq >= r.last_enqueued_seq END AS never_entered,
  r.completed, r.completed_late, r.completed_ts, r.last_ts, r.frames
FROM r JOIN g ON g.comm IS NOT DISTINCT FROM r.comm
ORDER BY never_entered DESC NULLS LAST, behind DESC NULLS LAST, g.stuck DESC, r.comm, r.rank

-- undumped_ranks: Ranks of which no flight-recorder dump is there, while the others' dumps show that they wait in a collective.
-- TABLES: nccl_sample
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL
-- EMPTY: BIGINT, BIGINT, BIGINT, BIGINT, BIGINT, VARCHAR, VARCHAR, BIGINT
-- PRUNE: job_id
-- COLUMN rank: rank without a dump
-- COLUMN world_size: ranks in the group of all of them
-- COLUMN dumped: ranks with a dump
-- COLUMN absent: ranks without one
-- COLUMN waiting: ranks whose dump shows a collective that did not finish
-- COLUMN comm: the group of all ranks
-- COLUMN collective: collective that most of them wait in there
-- COLUMN seq: its number
-- CAVEAT: A dump that was written and not collected is missing just so. Where more than a quarter of them are missing nobody is named.
WITH s AS (
  SELECT rank, comm, comm_size, collective, seq, state, last_enqueued_seq, last_completed_seq FROM nccl_sample
  WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
    AND rank IS NOT NULL AND (state IS NOT NULL OR last_enqueued_seq IS NOT NULL)
),
-- The first group is that of all ranks, which are numbered in it as in the job. A size that no job has is a file's mistake, or its trap.
w AS (
  SELECT comm, max(comm_size) AS n FROM s WHERE regexp_matches(comm, '^0(:|$)') AND comm_size BETWEEN 2 AND 1000000
  GROUP BY comm ORDER BY n DESC, comm LIMIT 1
),
d AS (SELECT DISTINCT rank FROM s),
o AS (
  SELECT rank, arg_min(collective, seq) AS collective, min(seq) AS seq FROM s
  WHERE comm = (SELECT comm FROM w) AND state IN ('scheduled', 'started') AND collective IS NOT NULL
  GROUP BY rank
),
k AS (SELECT collective, seq FROM o GROUP BY ALL ORDER BY count(*) DESC, seq, collective LIMIT 1),
p AS (
  SELECT (SELECT count(*) FROM d) AS dumped,
    (SELECT count(DISTINCT rank) FROM s WHERE state IN ('scheduled', 'started') OR last_completed_seq < last_enqueued_seq) AS waiting
),
a AS (SELECT unnest(range(0, (SELECT n FROM w))) AS rank),
m AS (SELECT rank FROM a WHERE rank NOT IN (SELECT rank FROM d))
SELECT m.rank, w.n::BIGINT AS world_size, p.dumped, (SELECT count(*) FROM m) AS absent, p.waiting, w.comm, k.collective, k.seq
FROM m, w, p LEFT JOIN k ON true
WHERE (SELECT count(*) FROM m) <= greatest(1, w.n // 4) AND p.dumped >= 2 AND (SELECT max(rank) FROM d) < w.n
ORDER BY m.rank

-- nccl_waits: Ranks that others wait for in a collective, and that wait for nobody themselves, by the flight recorder.
-- TABLES: nccl_sample
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL
-- EMPTY: BIGINT, VARCHAR, VARCHAR, BIGINT, VARCHAR, BIGINT, TIMESTAMP, BIGINT, BIGINT, BIGINT, BIGINT, BIGINT, VARCHAR, BIGINT, BIGINT, VARCHAR
-- PRUNE: job_id
-- COLUMN rank: rank that never entered
-- COLUMN node: its node
-- COLUMN comm: process group
-- COLUMN comm_size: ranks in it
-- COLUMN collective: collective that the others wait in
-- COLUMN seq: its sequence number
-- COLUMN entered_ts: when the first of them entered it
-- COLUMN last_enqueued_seq: last collective that the rank enqueued in this group
-- COLUMN last_completed_seq: last collective that it completed in this group
-- COLUMN unfinished: collectives that the rank had enqueued, in any group, and that did not finish
-- COLUMN waiting: ranks that wait for it there
-- COLUMN missing: ranks that never entered that collective
-- COLUMN all_missing: their numbers
-- COLUMN groups: process groups in which the rank is missing
-- COLUMN culprits: ranks in this answer
-- COLUMN all_culprits: their numbers
-- CAVEAT: Sends and receives are left out, for they pair two ranks only; a rank without a dump is not here.
WITH s AS (
  SELECT *, coalesce(rank, comm_rank) AS seat, coalesce(regexp_matches(collective, '^(send|recv)\b'), false) AS point
  FROM nccl_sample
  WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
    AND (state IS NOT NULL OR last_enqueued_seq IS NOT NULL)
),
-- A group that also sends and receives counts those in its status, so there only its entries are compared.
mixed AS (SELECT comm, bool_or(point) AS mixed FROM s GROUP BY comm),
r AS (
  SELECT s.comm, seat AS rank, any_value(node) AS node, max(comm_size) AS comm_size,
    greatest(max(last_enqueued_seq) FILTER (WHERE NOT mixed), max(seq) FILTER (WHERE NOT point)) AS enqueued,
    greatest(max(last_completed_seq) FILTER (WHERE NOT mixed), max(seq) FILTER (WHERE NOT point AND state = 'completed')) AS done,
    min(seq) FILTER (WHERE NOT point AND state IN ('scheduled', 'started')) AS oldest,
    arg_min(collective, seq) FILTER (WHERE NOT point AND state IN ('scheduled', 'started')) AS collective,
    arg_min(s.ts, seq) FILTER (WHERE NOT point AND state IN ('scheduled', 'started')) AS entered_ts,
    count(*) FILTER (WHERE NOT point AND state IN ('scheduled', 'started')) AS open
  FROM s JOIN mixed ON mixed.comm IS NOT DISTINCT FROM s.comm
  WHERE seat IS NOT NULL
  GROUP BY s.comm, seat
),
u AS (SELECT *, coalesce(oldest, CASE WHEN done < enqueued THEN done + 1 END) AS stuck FROM r),
w AS (
  SELECT a.rank AS waiter, a.comm, a.stuck AS seq, a.collective, a.entered_ts, b.rank, b.node, b.comm_size, b.enqueued, b.done
  FROM u a JOIN u b ON b.comm IS NOT DISTINCT FROM a.comm AND b.rank <> a.rank AND b.enqueued < a.stuck
),
c AS (SELECT DISTINCT rank FROM w WHERE rank NOT IN (SELECT waiter FROM w)),
f AS (
  SELECT w.rank, any_value(w.node) AS node, w.comm, max(w.comm_size) AS comm_size, max(w.collective) AS collective, w.seq,
    min(w.entered_ts) AS entered_ts,
    max(w.enqueued) AS last_enqueued_seq, max(w.done) AS last_completed_seq, count(DISTINCT w.waiter) AS waiting
  FROM w JOIN c USING (rank) GROUP BY w.rank, w.comm, w.seq
),
m AS (
  SELECT comm, seq, count(DISTINCT rank) AS missing, array_to_string(list_sort(list(DISTINCT rank)), ', ') AS all_missing
  FROM w GROUP BY comm, seq
),
best AS (
  SELECT *, count(DISTINCT comm) OVER (PARTITION BY rank) AS groups,
    row_number() OVER (PARTITION BY rank ORDER BY entered_ts NULLS LAST, waiting DESC, comm_size, comm, seq) AS place
  FROM f
),
n AS (SELECT count(*) AS culprits, array_to_string(list_sort(list(DISTINCT rank)), ', ') AS all_culprits FROM c)
SELECT b.rank, b.node, b.comm, b.comm_size, b.collective, b.seq, b.entered_ts, b.last_enqueued_seq, b.last_completed_seq,
  (SELECT sum(open)::BIGINT FROM u WHERE u.rank = b.rank) AS unfinished, b.waiting, m.missing, m.all_missing, b.groups,
  n.culprits, n.all_culprits
FROM best b JOIN m ON m.comm IS NOT DISTINCT FROM b.comm AND m.seq = b.seq, n
WHERE b.place = 1
ORDER BY b.waiting DESC, b.rank

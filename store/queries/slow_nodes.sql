-- slow_nodes: Nodes whose GPUs were slower than the other nodes' of the same jobs, or were held back, those with the most signs first.
-- TABLES: slurm_job, gpu_minute
-- WITH: minutes_owned
-- PARAMS: node VARCHAR = NULL, since TIMESTAMP = NULL, until TIMESTAMP = NULL
-- PRUNE: gpu_minute(since - 1 MINUTE, until)
-- COLUMN node: node
-- COLUMN attempts: attempts of jobs that ran there with GPUs measured
-- COLUMN compared: of those, attempts that ran on other nodes too
-- COLUMN clock_low: of the compared, attempts in which its SM clock at work was under nine tenths of the other nodes' median
-- COLUMN clock_share [ratio]: the lowest share of it
-- COLUMN clock_job: job of that
-- COLUMN longest: of the compared, attempts in which one of its GPUs worked 1.8 times as much as the others' median, which waited
-- COLUMN times_others: the most times as much
-- COLUMN longest_job: job of that
-- COLUMN held_back: attempts in which hardware slowdown, heat or a power brake held its clocks for a tenth of the time or more
-- COLUMN held_share [ratio]: the largest share of the time
-- COLUMN held_job: job of that
-- COLUMN last_ts: last sample of an attempt with any of these signs
-- CAVEAT: Only GPUs are compared. A GPU can work longest because its rank was given more to do; its clocks say whether the card is slow.
WITH g AS (
  SELECT of_job, of_attempt, node, gpu_uuid, gpu, max(last_ts) AS last_ts,
    (coalesce(sum(free_clock_sum_mhz), 0) + coalesce(sum(severe_clock_sum_mhz), 0)) / nullif(coalesce(sum(free_clock_n), 0) + coalesce(sum(severe_clock_n), 0), 0) AS mhz,
    sum(severe_n) / nullif(sum(throttle_n), 0) AS held,
    round(sum(sm_sum) / nullif(sum(sm_n), 0), 9) AS sm, round(sum(engine_sum) / nullif(sum(engine_n), 0), 9) AS engine
  FROM owned GROUP BY of_job, of_attempt, node, gpu_uuid, CASE WHEN gpu_uuid IS NULL THEN gpu END, gpu
), n AS (
  SELECT of_job, of_attempt, node, max(last_ts) AS last_ts, median(mhz) AS mhz, max(held) AS held, max(sm) AS sm_top, median(sm) AS sm,
    median(engine) AS engine
  FROM g GROUP BY of_job, of_attempt, node
), o AS (
  SELECT *, count(*) OVER others AS others, mhz / nullif(median(mhz) OVER others, 0) AS clock,
    CASE WHEN median(engine) OVER others > 0.8 THEN sm_top / nullif(median(sm) OVER others, 0) END AS times
  FROM n
  WINDOW others AS (PARTITION BY of_job, of_attempt ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE CURRENT ROW)
)
SELECT
  node, count(*) AS attempts, count(*) FILTER (others > 0) AS compared,
  count(*) FILTER (clock < 0.9) AS clock_low, round(min(clock) FILTER (clock < 0.9), 3) AS clock_share, arg_min(of_job, (clock, of_job)) FILTER (clock < 0.9) AS clock_job,
  count(*) FILTER (times >= 1.8) AS longest, round(max(times) FILTER (times >= 1.8), 1) AS times_others, arg_max(of_job, (times, of_job)) FILTER (times >= 1.8) AS longest_job,
  count(*) FILTER (held >= 0.1) AS held_back, round(max(held) FILTER (held >= 0.1), 3) AS held_share, arg_max(of_job, (held, of_job)) FILTER (held >= 0.1) AS held_job,
  max(last_ts) FILTER (clock < 0.9 OR times >= 1.8 OR held >= 0.1) AS last_ts
FROM o
WHERE $node IS NULL OR node = $node
GROUP BY node
HAVING count(*) FILTER (clock < 0.9 OR times >= 1.8 OR held >= 0.1) > 0
ORDER BY count(*) FILTER (clock < 0.9) + count(*) FILTER (times >= 1.8) + count(*) FILTER (held >= 0.1) DESC, last_ts DESC, node

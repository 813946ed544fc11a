-- queue_waits: How long attempts of jobs waited in the queue, by user, partition, name, day or all together, the longest mean first.
-- TABLES: slurm_job, verdict
-- WITH: attempts_asked
-- PARAMS: by VARCHAR, job VARCHAR = NULL, user VARCHAR = NULL, name VARCHAR = NULL, state VARCHAR = NULL, partition VARCHAR = NULL, node VARCHAR = NULL, family VARCHAR = NULL, since TIMESTAMP = NULL, until TIMESTAMP = NULL
-- PRUNE: none
-- COLUMN value: the user, partition, name or day (UTC, of the submission), or "all"; NULL where it is not known
-- COLUMN started: attempts that started and whose time of submission is known
-- COLUMN mean_s [s]: their mean time from submission to start
-- COLUMN median_s [s]: the median of it
-- COLUMN longest_s [s]: the longest of it
-- COLUMN longest_job: job of that
-- COLUMN waiting: attempts that are pending
-- CAVEAT: Anything else to count by has no row. How long those wait that are pending is not in the times.
WITH w AS (
  SELECT job_id, state, epoch(start_ts) - epoch(submit_ts) AS wait_s, CASE lower($by)
    WHEN 'user' THEN "user" WHEN 'partition' THEN partition WHEN 'name' THEN without_secrets(coalesce(name, '')) WHEN 'all' THEN 'all'
    WHEN 'day' THEN strftime(submit_ts, '%Y-%m-%d') END AS value
  FROM j
  WHERE lower($by) IN ('user', 'partition', 'name', 'all', 'day')
)
SELECT
  value, count(*) FILTER (wait_s >= 0) AS started, round(avg(wait_s) FILTER (wait_s >= 0), 1) AS mean_s,
  round(median(wait_s) FILTER (wait_s >= 0), 1) AS median_s, round(max(wait_s) FILTER (wait_s >= 0), 1) AS longest_s,
  arg_max(job_id, (wait_s, job_id)) FILTER (wait_s >= 0) AS longest_job, count(*) FILTER (state = 'PENDING') AS waiting
FROM w
GROUP BY value
HAVING started > 0 OR waiting > 0
ORDER BY mean_s DESC NULLS LAST, waiting DESC, value

-- fleet_tally: Attempts of jobs counted by user, node, partition, job, family, name, day or all together, with how they ended and what they wasted.
-- TABLES: slurm_job, verdict
-- WITH: attempts_asked
-- PARAMS: by VARCHAR, job VARCHAR = NULL, user VARCHAR = NULL, name VARCHAR = NULL, state VARCHAR = NULL, partition VARCHAR = NULL, node VARCHAR = NULL, family VARCHAR = NULL, since TIMESTAMP = NULL, until TIMESTAMP = NULL
-- PRUNE: none
-- COLUMN value: the user, node, partition, job, family, name or day (UTC, of the end), or "all"; NULL where it is not known
-- COLUMN attempts: attempts of jobs
-- COLUMN jobs: different jobs
-- COLUMN failed: attempts that failed, timed out, ran out of memory or lost their node
-- COLUMN cancelled: attempts that were cancelled
-- COLUMN sent_back: attempts that were preempted or requeued
-- COLUMN running: attempts that are running
-- COLUMN gpus_held: GPUs that those hold now; not told by node, of which a job may have several
-- COLUMN examined: attempts with a stored verdict
-- COLUMN infrastructure: attempts whose stored verdict attributes them to the infrastructure; by node those alone whose verdict names that node, or that had no other
-- COLUMN gpu_hours_held [h]: GPU time that they held
-- COLUMN gpu_hours_wasted [h]: GPU time wasted, as the stored verdicts have it
-- CAVEAT: Anything else to count by has no row. What an attempt of several nodes wasted counts for each of them; that it ran there does not say that the node was at fault.
WITH each_value AS (
  SELECT j.*, unnest(CASE lower($by)
    WHEN 'user' THEN [j."user"]
    WHEN 'node' THEN string_split(nullif(j.node_list, ''), ',')
    WHEN 'partition' THEN [j.partition]
    WHEN 'job' THEN [j.job_id]
    WHEN 'family' THEN [j.v.family]
    WHEN 'name' THEN [without_secrets(coalesce(j.name, ''))]
    WHEN 'all' THEN ['all']
    WHEN 'day' THEN [strftime(coalesce(j.end_ts, j.start_ts, j.submit_ts, j.ts), '%Y-%m-%d')]
    ELSE []::VARCHAR[] END) AS value
  FROM j
)
SELECT
  value, count(*) AS attempts, count(DISTINCT job_id) AS jobs,
  count(*) FILTER (state IN ('FAILED', 'TIMEOUT', 'OUT_OF_MEMORY', 'NODE_FAIL', 'BOOT_FAIL', 'DEADLINE')) AS failed,
  count(*) FILTER (state = 'CANCELLED') AS cancelled,
  count(*) FILTER (state IN ('PREEMPTED', 'REQUEUED')) AS sent_back,
  count(*) FILTER (state = 'RUNNING') AS running,
  CASE WHEN lower($by) <> 'node' THEN (sum(gpus) FILTER (state = 'RUNNING'))::BIGINT END AS gpus_held,
  count(v.family) AS examined,
  count(*) FILTER (v.attribution = 'infrastructure' AND (lower($by) <> 'node' OR list_contains(blamed, value))) AS infrastructure,
  round(sum(elapsed_s * gpus) / 3600, 2) AS gpu_hours_held,
  round(sum(v.gpu_hours_wasted), 2) AS gpu_hours_wasted
FROM each_value
GROUP BY value
ORDER BY failed DESC, gpu_hours_wasted DESC NULLS LAST, attempts DESC, value

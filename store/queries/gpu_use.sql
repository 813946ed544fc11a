-- gpu_use: How busy the GPUs of jobs were, counted by job, user, node, partition, name, day or all together, most idle GPU time first.
-- TABLES: slurm_job, verdict, gpu_minute
-- WITH: attempts_asked, minutes_owned
-- PARAMS: by VARCHAR, job VARCHAR = NULL, user VARCHAR = NULL, name VARCHAR = NULL, state VARCHAR = NULL, partition VARCHAR = NULL, node VARCHAR = NULL, family VARCHAR = NULL, since TIMESTAMP = NULL, until TIMESTAMP = NULL
-- PRUNE: gpu_minute(since - 1 MINUTE, until)
-- COLUMN value: the job, user, node, partition, name or day (UTC, of the end), or "all"; NULL where it is not known
-- COLUMN user: Unix user, where all of it is one user's
-- COLUMN state: base state, where all of it has one
-- COLUMN attempts: attempts of jobs
-- COLUMN measured: of those, attempts whose GPUs were measured: all figures below are of them
-- COLUMN gpu_hours [h]: GPU time that they held
-- COLUMN gpu_hours_idle [h]: of that, time in which a GPU's engine did nothing
-- COLUMN idle_share [ratio]: share of samples in which a GPU's engine did nothing (under 0.02)
-- COLUMN engine_mean [ratio]: mean engine activity (what nvidia-smi calls utilization)
-- COLUMN sm_mean [ratio]: mean SM activity
-- COLUMN fb_used_max_bytes [B]: most memory in use on one GPU
-- CAVEAT: Anything else to count by has no row. Engine activity counts a spin as work. Samples that name no job count where one attempt alone was on the node, and not where more GPUs were watched on its nodes than it held.
WITH u AS (
  SELECT of_job, of_attempt, node, count(DISTINCT coalesce(gpu_uuid, pci_bus_id, gpu::VARCHAR)) AS seen, bool_or(job_id IS NULL) AS guessed,
    sum(engine_n) AS engine_n, sum(engine_sum) AS engine_sum, sum(idle_n) AS idle_n, sum(sm_n) AS sm_n, sum(sm_sum) AS sm_sum,
    max(fb_used_max_bytes) AS fb
  FROM owned GROUP BY of_job, of_attempt, node
), b AS (
  SELECT *, sum(seen) OVER (PARTITION BY of_job, of_attempt) AS all_seen, bool_or(guessed) OVER (PARTITION BY of_job, of_attempt) AS any_guessed,
    count(*) OVER (PARTITION BY of_job, of_attempt) AS on_nodes
  FROM u
), a AS (
  SELECT j.job_id, j.attempt, j."user", j.partition, j.name, j.state, b.node AS at_node, j.elapsed_s * j.gpus / 3600 AS held,
    coalesce(j.end_ts, j.start_ts, j.submit_ts, j.ts) AS when_ts, b.*
  FROM j LEFT JOIN b ON b.of_job = j.job_id AND b.of_attempt = coalesce(j.attempt, 1) AND b.engine_n > 0
    AND NOT (b.any_guessed AND b.all_seen > coalesce(j.gpus, b.all_seen))
), w AS (
  SELECT *, CASE lower($by)
    WHEN 'job' THEN job_id WHEN 'user' THEN "user" WHEN 'node' THEN at_node WHEN 'partition' THEN partition
    WHEN 'name' THEN without_secrets(coalesce(name, '')) WHEN 'all' THEN 'all' WHEN 'day' THEN strftime(when_ts, '%Y-%m-%d') END AS value,
    held / coalesce(on_nodes, 1) AS here
  FROM a
  WHERE lower($by) IN ('job', 'user', 'node', 'partition', 'name', 'all', 'day')
)
SELECT
  value, CASE WHEN count(DISTINCT "user") = 1 THEN any_value("user") END AS "user",
  CASE WHEN count(DISTINCT state) = 1 THEN any_value(state) END AS state,
  count(DISTINCT (job_id, attempt)) AS attempts, count(DISTINCT (job_id, attempt)) FILTER (engine_n > 0) AS measured,
  round(sum(here) FILTER (engine_n > 0), 2) AS gpu_hours,
  round(sum(here * idle_n / engine_n) FILTER (engine_n > 0), 2) AS gpu_hours_idle,
  round(sum(idle_n) / nullif(sum(engine_n), 0), 3) AS idle_share, round(sum(engine_sum) / nullif(sum(engine_n), 0), 3) AS engine_mean,
  round(sum(sm_sum) / nullif(sum(sm_n), 0), 3) AS sm_mean, max(fb) AS fb_used_max_bytes
FROM w
WHERE value IS NOT NULL
GROUP BY value
ORDER BY gpu_hours_idle DESC NULLS LAST, idle_share DESC NULLS LAST, attempts DESC, value

-- jobs: The jobs that the lake knows, from accounting or from a log alone, newest first.
-- TABLES: slurm_job, log_event, source_health
-- PARAMS: job VARCHAR = NULL
-- COLUMN job_id: job id as Slurm shows it
-- COLUMN attempts: attempts in accounting
-- COLUMN name: job's name
-- COLUMN user: Unix user
-- COLUMN state: state of the last attempt
-- COLUMN submit_ts: first submission
-- COLUMN start_ts: start of the last attempt
-- COLUMN end_ts: end of the last attempt
-- COLUMN elapsed_s [s]: time running, last attempt
-- COLUMN node_count: nodes of the last attempt
-- COLUMN gpus: GPUs of the last attempt
-- COLUMN events: recognised log events of any attempt
-- COLUMN sources: sources that looked at the job
-- CAVEAT: A job that no imported file names is not here; that does not prove that it never ran.
WITH accounted AS (
  SELECT job_id, count(*) AS attempts, min(submit_ts) AS submit_ts,
    max_by(struct_pack(name, "user", state, start_ts, end_ts, elapsed_s, node_count, gpus), coalesce(attempt, 0)) AS l
  FROM (SELECT DISTINCT ON (job_id, attempt) * FROM slurm_job WHERE job_id IS NOT NULL
        ORDER BY job_id, attempt, ts DESC NULLS LAST, origin)
  GROUP BY job_id
), logged AS (
  SELECT job_id, count(*) AS events FROM log_event WHERE job_id IS NOT NULL GROUP BY job_id
), looked AS (
  SELECT job_id, count(*) AS sources FROM source_health WHERE job_id IS NOT NULL GROUP BY job_id
), ids AS (
  SELECT job_id FROM accounted UNION SELECT job_id FROM logged UNION SELECT job_id FROM looked
)
SELECT job_id, attempts, l.name, l."user", l.state, submit_ts, l.start_ts, l.end_ts, l.elapsed_s, l.node_count, l.gpus,
  events, sources
FROM ids LEFT JOIN accounted USING (job_id) LEFT JOIN logged USING (job_id) LEFT JOIN looked USING (job_id)
WHERE $job IS NULL OR job_id = $job
ORDER BY coalesce(l.end_ts, l.start_ts, submit_ts) DESC NULLS LAST, job_id

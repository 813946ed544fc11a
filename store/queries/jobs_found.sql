-- jobs_found: Every job that any table knows, with how much of its log is there.
-- TABLES: slurm_job, slurm_step, log_line, train_step, log_event, nccl_sample, source_health
-- PARAMS:
-- COLUMN job_id: job
-- COLUMN lines: log lines of the job that are held
-- COLUMN attempts: accounting rows of the job
-- COLUMN dependency: dependency expression; of an ended job, from its submit line
-- COLUMN submit_ts: first submission
-- COLUMN state: state of the last attempt
-- COLUMN name: job's name
-- COLUMN state_reason: Slurm's reason for that state, as of a job that waits
-- CAVEAT: A job that left no accounting row of its own or of a step, log, training report or plan, flight-recorder dump or monitor's word is not here.
WITH jobs AS (
  SELECT job_id, count(*) AS attempts,
         coalesce(max(nullif(dependency, '')),
                  max(nullif(regexp_extract(submit_line, '(?:--dependency[= ]|\s-d ?)([A-Za-z:0-9_+?,]+)', 1), ''))) AS dependency, min(submit_ts) AS submit_ts,
         arg_max(state, coalesce(attempt, 0)) AS state, max(name) AS name,
         arg_max(state_reason, coalesce(attempt, 0)) AS state_reason
  FROM slurm_job WHERE job_id IS NOT NULL GROUP BY job_id
), logs AS (
  SELECT job_id, count(*) AS lines FROM log_line WHERE job_id IS NOT NULL GROUP BY job_id
), seen AS (
  SELECT DISTINCT job_id FROM source_health WHERE job_id IS NOT NULL AND covers LIKE '%log_line%'
  UNION SELECT DISTINCT job_id FROM slurm_step WHERE job_id IS NOT NULL
  UNION SELECT DISTINCT job_id FROM train_step WHERE job_id IS NOT NULL
  UNION SELECT DISTINCT job_id FROM log_event WHERE job_id IS NOT NULL AND (kind = 'train_plan' OR name = 'hang_gauge')
  UNION SELECT DISTINCT job_id FROM nccl_sample WHERE job_id IS NOT NULL
), ids AS (
  SELECT job_id FROM jobs UNION SELECT job_id FROM logs UNION SELECT job_id FROM seen
)
SELECT ids.job_id, coalesce(logs.lines, 0) AS lines, coalesce(jobs.attempts, 0) AS attempts, jobs.dependency,
       jobs.submit_ts, jobs.state, jobs.name, jobs.state_reason
FROM ids LEFT JOIN jobs ON jobs.job_id = ids.job_id LEFT JOIN logs ON logs.job_id = ids.job_id
ORDER BY jobs.submit_ts NULLS LAST, ids.job_id

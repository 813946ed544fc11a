-- job_known: Is anything held about this job?
-- TABLES: slurm_job, log_line, log_event, source_health
-- PARAMS: job_id VARCHAR
-- COLUMN attempts: accounting rows
-- COLUMN lines: log lines
-- COLUMN events: log events
-- COLUMN sources: sources that looked at the job
-- CAVEAT: Zero everywhere means that nothing was imported under this id, not that the job did not exist.
SELECT (SELECT count(*) FROM slurm_job WHERE job_id = $job_id) AS attempts,
       (SELECT count(*) FROM log_line WHERE job_id = $job_id) AS lines,
       (SELECT count(*) FROM log_event WHERE job_id = $job_id) AS events,
       (SELECT count(*) FROM source_health WHERE job_id = $job_id) AS sources

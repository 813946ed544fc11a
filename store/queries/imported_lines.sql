-- imported_lines: How many lines of a job's log came from files.
-- TABLES: log_line
-- PARAMS: job_id VARCHAR
-- PRUNE: job_id
-- COLUMN lines: lines
-- CAVEAT: Of a large log only some lines are kept.
SELECT count(*) AS lines FROM log_line WHERE job_id = $job_id AND origin IS DISTINCT FROM 'captured'

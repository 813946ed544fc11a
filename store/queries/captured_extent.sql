-- captured_extent: How many lines of a job's output the probes caught.
-- TABLES: captured_line
-- PARAMS: job_id VARCHAR
-- PRUNE: job_id
-- COLUMN lines: lines
-- CAVEAT: Output is caught only where the collector was told to.
SELECT count(*) AS lines FROM captured_line WHERE job_id = $job_id

-- log_attempts: Of which attempts the job's log is known to speak: what it reports, and what fails in it, by attempt.
-- TABLES: log_event, log_run, train_step
-- PARAMS: job_id VARCHAR
-- PRUNE: job_id
-- COLUMN attempt: attempt, nothing for what no time and no source gives to one
-- COLUMN reports: progress lines of training
-- COLUMN failures: exceptions and other fatal or error events, Slurm's own words left out
-- COLUMN runs: runs of the job in files that hold several, one after the other (`log_runs`)
-- CAVEAT: A line without a time is taken for the attempt of the last time before it.
SELECT attempt, count(*) FILTER (WHERE progress) AS reports, count(*) FILTER (WHERE NOT progress) AS failures,
  (SELECT count(*) FROM log_run WHERE job_id = $job_id) AS runs
FROM (
  SELECT attempt, true AS progress FROM train_step WHERE job_id = $job_id AND split IS DISTINCT FROM 'eval'
  UNION ALL
  SELECT attempt, false FROM log_event WHERE job_id = $job_id AND severity IN ('fatal', 'error') AND kind <> 'slurm'
)
GROUP BY attempt
ORDER BY attempt NULLS FIRST

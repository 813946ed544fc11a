-- status_doubt: An exit status of the job from which its source may have taken 128 off, and what it was then.
-- TABLES: slurm_job
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL
-- EMPTY: BIGINT, BIGINT, BIGINT, BIGINT, VARCHAR
-- PRUNE: job_id
-- COLUMN attempt: attempt
-- COLUMN exit_code: exit status as told
-- COLUMN full_code: the status if 128 was taken off
-- COLUMN signal: signal of which a shell tells by that status
-- COLUMN signal_name: signal's name
-- CAVEAT: sacct's text and pyslurm take 128 off any status from 128 on; scontrol, squeue and the JSON of 23.11 and later do not.
SELECT
  attempt, exit_code, exit_code + 128 AS full_code, exit_code AS signal,
  CASE exit_code WHEN 1 THEN 'SIGHUP' WHEN 2 THEN 'SIGINT' WHEN 3 THEN 'SIGQUIT' WHEN 4 THEN 'SIGILL' WHEN 6 THEN 'SIGABRT'
    WHEN 7 THEN 'SIGBUS' WHEN 8 THEN 'SIGFPE' WHEN 9 THEN 'SIGKILL' WHEN 10 THEN 'SIGUSR1' WHEN 11 THEN 'SIGSEGV'
    WHEN 12 THEN 'SIGUSR2' WHEN 13 THEN 'SIGPIPE' WHEN 15 THEN 'SIGTERM' WHEN 24 THEN 'SIGXCPU' WHEN 25 THEN 'SIGXFSZ' END AS signal_name
FROM slurm_job
WHERE exit_code_whole = false AND exit_code BETWEEN 1 AND 127 AND coalesce(exit_signal, 0) = 0
  AND job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
ORDER BY attempt DESC NULLS LAST, end_ts DESC NULLS LAST, origin
LIMIT 1

-- variables_set: Where a job's variables are set, if anywhere: submit lines of it and its steps, its processes' commands, the ends of its logs.
-- traced: a command that a shell prints as it runs it, and that hands variables on (srun --export, mpirun -x, docker -e, env).
variables AS (
  SELECT 'submit line' AS source, submit_line AS text, NULL::VARCHAR AS node, NULL::VARCHAR AS file, NULL::BIGINT AS line_no
  FROM slurm_job
  WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
  UNION ALL
  SELECT 'submit line', submit_line, NULL, NULL, NULL FROM slurm_step
  WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
  UNION ALL
  SELECT 'process', command, node, NULL, NULL FROM process
  WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
  UNION ALL
  SELECT 'log', text, NULL, file, line_no FROM (
    SELECT *, row_number() OVER (PARTITION BY file ORDER BY line_no DESC) AS back FROM log_line
    WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
  )
  WHERE back <= 5000 OR line_no <= 3000
),
v AS (
  SELECT *, regexp_matches(text, '^\s*\++ .*(?:--export|--env|-e|-x|\benv)[ =]')
    AND NOT regexp_matches(text, '^\s*\++ *(?:echo|printf|grep)\b') AS traced
  FROM variables
)

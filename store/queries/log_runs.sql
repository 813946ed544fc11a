-- log_runs: The runs that one log file of the job holds, one after the other; nothing for files that hold one.
-- TABLES: log_run
-- PARAMS: job_id VARCHAR
-- NEEDS: log_run
-- EMPTY: VARCHAR, BIGINT, BIGINT, BIGINT, BIGINT, VARCHAR, BOOLEAN, BIGINT, VARCHAR, BIGINT, VARCHAR
-- PRUNE: job_id
-- COLUMN file: file
-- COLUMN run: number of the run in its file, from 1
-- COLUMN attempt: attempt under which its lines are shown; 0 and less where accounting does not tell of it
-- COLUMN first_line: its first line
-- COLUMN last_line: its last line
-- COLUMN sign: what shows that it begins: head (the file's first lines again), start (a program's word), steps (they go back)
-- COLUMN certain: false where it may be a later part of the run before it
-- COLUMN sure_runs: runs of the file that are certain
-- COLUMN ended_by: what is told of its end
-- COLUMN ended_line: line of that
-- COLUMN ended_how: who tells of the end: job (Slurm of the job), launcher, program (it failed), finished (it had done)
-- CAVEAT: A run that was killed without a word, and of which nothing at the start is printed twice, is not told apart.
SELECT file, run, attempt, first_line, last_line, sign, certain,
  count(*) FILTER (WHERE certain) OVER (PARTITION BY file) AS sure_runs, ended_by, ended_line, ended_how
FROM log_run
WHERE job_id = $job_id
ORDER BY file, run

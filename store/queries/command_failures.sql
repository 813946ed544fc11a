-- command_failures: Failures that the shell and its commands (cp, mv, rsync, tar, ...) told of, with what each file of the log says after them.
-- TABLES: log_event, log_line, train_step
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL
-- NEEDS: log_event.name = shell_error
-- EMPTY: VARCHAR, VARCHAR, VARCHAR, VARCHAR, VARCHAR, BIGINT, BIGINT, BIGINT
-- PRUNE: job_id
-- COLUMN code: no_such_file, permission_denied, no_space, read_only, command_not_found, ...
-- COLUMN tool: command that says it; nothing where it is the shell
-- COLUMN what: file or command that it names
-- COLUMN message: text
-- COLUMN file: file
-- COLUMN line_no: line
-- COLUMN lines_after: lines of the script's own after it in its file
-- COLUMN reports_after: progress reports after it in its file
-- CAVEAT: A script goes on after a failed command unless it was told not to.
WITH c AS (
  SELECT *, TRY_CAST(detail AS JSON) AS j FROM log_event
  WHERE name = 'shell_error' AND kind = 'launcher_event' AND severity = 'error'
    AND job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
),
l AS (
  SELECT file, line_no FROM log_line
  WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt) AND trim(coalesce(text, '')) <> ''
    AND NOT regexp_matches(text, '^\s*(\S+ )?(s|yh)run: |^\s*slurmstepd|^\s*sbatch: |^(rsync|tar)( error)?: \C{0,80}(exiting now|not transferred|previous errors|code \d+)')
),
t AS (
  SELECT file, line_no FROM train_step
  WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
)
SELECT
  j->>'$.code' AS code, j->>'$.tool' AS tool, left(j->>'$.what', 300) AS what, left(message, 400) AS message, file, line_no,
  (SELECT count(*) FROM l WHERE l.file IS NOT DISTINCT FROM c.file AND l.line_no > c.line_no) AS lines_after,
  (SELECT count(*) FROM t WHERE t.file IS NOT DISTINCT FROM c.file AND t.line_no > c.line_no) AS reports_after
FROM c
ORDER BY file, line_no

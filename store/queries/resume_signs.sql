-- resume_signs: Whether the job was meant to go on from a checkpoint, and whether it did.
-- TABLES: slurm_job, process, log_line, log_event, train_step
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL
-- PRUNE: process(job_id), log_line(job_id), log_event(job_id), train_step(job_id)
-- FIRST: run_before
-- WITH: parent_run
-- COLUMN asked_by: command, submit line, process, command of a traced script (`+ python ...`) or printed arguments that ask to resume
-- COLUMN asked_step: step in the name of the checkpoint that it asks for
-- COLUMN dependency: dependency on another job, from the job's record or its submit line
-- COLUMN parent_job: job that it depends on, or the job of the same name and folder that ended last before it
-- COLUMN parent_state: how that job ended
-- COLUMN parent_min [min]: how long that job ran
-- COLUMN parent_alike: it has the name of this one
-- COLUMN parent_last_step: last step that it reported
-- COLUMN parent_first_loss: first loss that it reported
-- COLUMN parent_last_loss: last loss that it reported
-- COLUMN earlier_attempts: attempts of this job before this one
-- COLUMN earlier_last_step: last step that they reported
-- COLUMN earlier_first_loss: first loss that they reported
-- COLUMN earlier_last_loss: last loss that they reported
-- COLUMN earlier_saves: checkpoints that they or the parent saved
-- COLUMN restarts: times that Slurm had restarted the job by then, as its record says
-- COLUMN restart_message: line of the log that says that Slurm restarted the job
-- COLUMN restart_line: its line number
-- COLUMN loads: messages that a checkpoint was loaded or training goes on from it
-- COLUMN load_message: the last one
-- COLUMN load_line: its line
-- COLUMN load_step: step that it names
-- COLUMN fresh: messages that no checkpoint was found or that training starts from scratch
-- COLUMN fresh_message: the first one
-- COLUMN fresh_line: its line
-- COLUMN load_starts: messages that a checkpoint is about to be loaded
-- COLUMN load_start_message: the last one
-- COLUMN load_failures: messages that a checkpoint could not be loaded
-- COLUMN load_failure_message: the first one
-- COLUMN load_failure_line: its line
-- COLUMN first_step: first step that this attempt reported
-- COLUMN first_loss: first finite loss that it reported
-- COLUMN start_loss: median of its first five losses
-- COLUMN last_step: last step that it reported
-- COLUMN last_loss: last finite loss that it reported
-- COLUMN jump: start_loss minus the last loss of the attempt or parent before
-- CAVEAT: A load marker that a framework does not print, or prints to a file that was not collected, is missed here.
WITH words AS (
  SELECT text, rank FROM (
    SELECT unnest([submit_line, command, comment, name]) AS text, 1 AS rank FROM j
    UNION ALL
    SELECT command, 2 FROM process WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
    UNION ALL
    SELECT text, 3 FROM log_line
    WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt) AND line_no <= 300
      AND regexp_matches(text, '^(\d+: *)?\++ (\S+ )*(\S*/)?(python\S*|torchrun|accelerate|deepspeed|srun|mpirun) |^(\d+: *)?(?i:args|argv|arguments|cmd|command|command line): ?.*--?\w')
  )
  WHERE regexp_matches(text, '(?i)(--?|\b)(resume|resume[_-]from([_-]checkpoint)?|auto[_-]?resume|restore[_-]from|load[_-]checkpoint|continue[_-]from|ckpt[_-]path|init_from=resume|load[_-]step[= ]0*[1-9]\d*)\b')
    AND NOT regexp_matches(text, '(?i)(resume|resume_from_checkpoint|auto_resume)[= ](false|none|no|0)\b')
),
-- Of several the one that names a checkpoint by its step says most.
asks AS (
  SELECT text, rank, try_cast(nullif(regexp_extract(text, '(?i)(?:checkpoint|ckpt|iter|global_?step|step)[-_=]?0*(\d{1,9})(?:\D|$)', 1), '') AS BIGINT) AS asked_step
  FROM words
),
w AS (
  SELECT first(left(text, 300) ORDER BY asked_step IS NULL, rank, text) AS asked_by,
    first(asked_step ORDER BY asked_step IS NULL, rank, text) AS asked_step
  FROM asks
),
pstate AS (
  SELECT arg_max(state, coalesce(attempt, 1)) AS state, round(max(elapsed_s) / 60, 1) AS ran_min, bool_or(name = (SELECT name FROM j)) AS alike
  FROM slurm_job WHERE job_id = (SELECT id FROM parent)
),
pt AS (
  SELECT max(step) AS last_step,
    first(loss ORDER BY attempt, file, line_no, in_line NULLS FIRST, epoch, ts, step) FILTER (WHERE isfinite(loss)) AS first_loss,
    last(loss ORDER BY attempt, file, line_no, in_line NULLS FIRST, epoch, ts, step) FILTER (WHERE isfinite(loss)) AS last_loss
  FROM train_step WHERE split IS DISTINCT FROM 'eval' AND job_id = (SELECT id FROM parent)
),
ea AS (
  SELECT count(DISTINCT attempt) AS attempts FROM slurm_job
  WHERE job_id = $job_id AND attempt < coalesce($attempt, (SELECT max(attempt) FROM slurm_job WHERE job_id = $job_id))
),
mine AS (
  SELECT step, loss, row_number() OVER (ORDER BY file, line_no, in_line NULLS FIRST, epoch, ts, step) AS seq,
    row_number() OVER (PARTITION BY coalesce(isfinite(loss), false) ORDER BY file, line_no, in_line NULLS FIRST, epoch, ts, step) AS of_kind
  FROM train_step
  WHERE split IS DISTINCT FROM 'eval' AND job_id = $job_id
    AND (attempt IS NULL OR attempt = coalesce($attempt, (SELECT max(attempt) FROM train_step WHERE job_id = $job_id)))
),
et AS (
  SELECT max(step) AS last_step,
    first(loss ORDER BY attempt, file, line_no, in_line NULLS FIRST, epoch, ts, step) FILTER (WHERE isfinite(loss)) AS first_loss,
    last(loss ORDER BY attempt, file, line_no, in_line NULLS FIRST, epoch, ts, step) FILTER (WHERE isfinite(loss)) AS last_loss
  FROM train_step
  WHERE split IS DISTINCT FROM 'eval' AND job_id = $job_id
    AND attempt < coalesce($attempt, (SELECT max(attempt) FROM train_step WHERE job_id = $job_id))
),
es AS (
  SELECT count(*) AS saves FROM log_event
  WHERE kind = 'checkpoint' AND name IN ('saved', 'saving') AND (job_id = (SELECT id FROM parent) OR (job_id = $job_id
    AND attempt < coalesce($attempt, (SELECT max(attempt) FROM slurm_job WHERE job_id = $job_id))))
),
rs AS (
  SELECT arg_min(left(text, 300), line_no) AS message, min(line_no) AS line FROM log_line
  WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt) AND line_no <= 300
    AND regexp_matches(text, '(?i)\bSLURM_RESTART_COUNT\b["'']?\s*(=|:|is)?\s*["'']?[1-9]|\b(restarted|requeued) by slurm\b|\bslurm (has )?(restarted|requeued) (this|the) job\b')
),
c AS (
  SELECT name, message, line_no, step, name = 'failed' AND NOT regexp_matches(coalesce(message, ''), '(?i)writ|\bsav(e|ing|ed)\b') AS failed_load
  FROM log_event
  WHERE kind = 'checkpoint' AND job_id = $job_id
    AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
    AND (attempt IS NULL OR attempt = (SELECT max(attempt) FROM log_event WHERE job_id = $job_id
      AND ($attempt IS NULL OR attempt = $attempt)))
),
cc AS (
  SELECT
    count(*) FILTER (WHERE name IN ('loaded', 'resumed')) AS loads,
    arg_max(left(message, 300), line_no) FILTER (WHERE name IN ('loaded', 'resumed')) AS load_message,
    max(line_no) FILTER (WHERE name IN ('loaded', 'resumed')) AS load_line,
    max(step) FILTER (WHERE name IN ('loaded', 'resumed')) AS load_step,
    count(*) FILTER (WHERE name IN ('none_found', 'from_scratch')) AS fresh,
    arg_min(left(message, 300), line_no) FILTER (WHERE name IN ('none_found', 'from_scratch')) AS fresh_message,
    min(line_no) FILTER (WHERE name IN ('none_found', 'from_scratch')) AS fresh_line,
    count(*) FILTER (WHERE name = 'loading') AS load_starts,
    arg_max(left(message, 300), line_no) FILTER (WHERE name = 'loading') AS load_start_message,
    count(*) FILTER (WHERE failed_load) AS load_failures,
    arg_min(left(message, 300), line_no) FILTER (WHERE failed_load) AS load_failure_message,
    min(line_no) FILTER (WHERE failed_load) AS load_failure_line
  FROM c
),
m AS (
  SELECT
    arg_min(step, seq) FILTER (WHERE step IS NOT NULL) AS first_step, max(step) AS last_step,
    arg_min(loss, seq) FILTER (WHERE isfinite(loss)) AS first_loss,
    median(loss) FILTER (WHERE of_kind <= 5 AND isfinite(loss)) AS start_loss,
    arg_max(loss, seq) FILTER (WHERE isfinite(loss)) AS last_loss
  FROM mine
)
SELECT
  w.asked_by, w.asked_step, nullif(dep.dependency, '') AS dependency, parent.id AS parent_job,
  pstate.state AS parent_state, pstate.ran_min AS parent_min, pstate.alike AS parent_alike, pt.last_step AS parent_last_step, pt.first_loss AS parent_first_loss,
  pt.last_loss AS parent_last_loss, ea.attempts AS earlier_attempts, et.last_step AS earlier_last_step,
  et.first_loss AS earlier_first_loss, et.last_loss AS earlier_last_loss, es.saves AS earlier_saves,
  j.restarts, rs.message AS restart_message, rs.line AS restart_line,
  cc.loads, cc.load_message, cc.load_line, cc.load_step, cc.fresh, cc.fresh_message, cc.fresh_line, cc.load_starts,
  cc.load_start_message, cc.load_failures, cc.load_failure_message, cc.load_failure_line, m.first_step, m.first_loss,
  m.start_loss, m.last_step, m.last_loss, round(m.start_loss - coalesce(et.last_loss, pt.last_loss), 4) AS jump
FROM w, parent, pstate, pt, ea, et, es, cc, m, rs LEFT JOIN j ON true LEFT JOIN dep ON true

-- evaluation_progress: Lines and bars in which a program counts the batches of a test, an evaluation or an inference, prompts, or layers that it quantises.
-- TABLES: log_line
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL
-- EMPTY: VARCHAR, BIGINT, BIGINT, BIGINT, BIGINT, BIGINT, VARCHAR, VARCHAR
-- NEEDS: log_line.text ~ (?i)(?:test|eval|val|infer|predict|scoring|quanti|processed prompts).*[0-9]\s*/\s*[0-9]
-- PRUNE: job_id
-- COLUMN file: file
-- COLUMN lines: how many
-- COLUMN first_line: first line
-- COLUMN last_line: last line
-- COLUMN done: batches (or samples) done, as the last one counts them
-- COLUMN total: batches planned, as the last one says
-- COLUMN last_text: text of the last one
-- COLUMN work: batches, or prompts or layers of a program whose work that may be, and which trains nothing
-- CAVEAT: A trainer's own evaluation counts in the same words: whether anything else was run, other queries tell.
WITH l AS (
  SELECT file, line_no, text,
    regexp_extract(
      text,
      '(?i)(?:^|[\s\]:|>-])(?:test(?:ing)?|eval(?:uat(?:e|ing|ion))?|val(?:id(?:at(?:e|ing|ion))?)?|infer(?:ence|ring)?|predict(?:ing|ion)?|scoring|quanti[sz](?:e|ing|ation)(?: [\w.-]+){0,5}|processed prompts)\b(?:[ _-](?:epoch|batch|step|iter(?:ation)?|image|sample)s?)?[^a-z0-9]*(?:[0-9]{1,4}[ :,]+|[0-9]{1,3}%\|[^|]{0,300}\|\s*)?[\[(]?\s*([0-9]{1,9})\s*/\s*([0-9]{1,9})\b',
      ['done', 'total']
    ) AS counted
  FROM log_line
  WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt) AND length(text) < 2000
),
c AS (
  SELECT file, line_no, text, TRY_CAST(counted.done AS BIGINT) AS done, TRY_CAST(counted.total AS BIGINT) AS total FROM l
)
SELECT
  file, count(*) AS lines, min(line_no) AS first_line, max(line_no) AS last_line, arg_max(done, line_no) AS done,
  arg_max(total, line_no) AS total, left(arg_max(text, line_no), 200) AS last_text,
  CASE WHEN regexp_matches(arg_max(text, line_no), '(?i)\bprocessed prompts\b') THEN 'prompts' WHEN regexp_matches(arg_max(text, line_no), '(?i)\bquanti[sz]') THEN 'layers' ELSE 'batches' END AS work
FROM c
WHERE done <= total AND total > 1
GROUP BY file
HAVING count(DISTINCT done) > 1
ORDER BY file

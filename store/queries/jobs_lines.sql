-- jobs_lines: Jobs whose logs hold a text, each with the first such line, the newest first.
-- TABLES: slurm_job, verdict, log_line
-- WITH: attempts_asked
-- PARAMS: text VARCHAR, job VARCHAR = NULL, user VARCHAR = NULL, name VARCHAR = NULL, state VARCHAR = NULL, partition VARCHAR = NULL, node VARCHAR = NULL, family VARCHAR = NULL, since TIMESTAMP = NULL, until TIMESTAMP = NULL
-- PRUNE: none
-- COLUMN job_id: job
-- COLUMN user: Unix user of its newest attempt
-- COLUMN state: base state of that
-- COLUMN end_ts: when that ended
-- COLUMN lines: lines that hold the text
-- COLUMN file: file of the first one
-- COLUMN line_no: its number
-- COLUMN message: the line
-- COLUMN jobs [count]: jobs of the whole answer
-- CAVEAT: The text as it is, capital or small letters alike, and no pattern. Only lines that were kept of jobs that Slurm's accounting knows. A secret in a line is not searched.
WITH n AS (
  SELECT job_id, any_value("user") AS "user", max_by(state, coalesce(attempt, 1)) AS state, max(coalesce(end_ts, start_ts, submit_ts)) AS end_ts
  FROM j GROUP BY job_id
)
SELECT
  l.job_id, any_value(n."user") AS "user", any_value(n.state) AS state, any_value(n.end_ts) AS end_ts, count(*) AS lines,
  first(l.file ORDER BY l.file, l.line_no) AS file, first(l.line_no ORDER BY l.file, l.line_no) AS line_no,
  left(first(l.text ORDER BY l.file, l.line_no), 300) AS message, count(*) OVER () AS jobs
FROM n JOIN log_line l ON l.job_id = n.job_id
WHERE contains(lower(l.text), lower($text)) AND contains(lower(without_secrets(l.text)), lower($text))
GROUP BY l.job_id
ORDER BY any_value(n.end_ts) DESC NULLS LAST, l.job_id

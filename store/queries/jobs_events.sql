-- jobs_events: What the logs of jobs say of one kind, by job, alike ones in one row, the newest first.
-- TABLES: slurm_job, verdict, log_event
-- WITH: attempts_asked
-- PARAMS: kinds VARCHAR, pattern VARCHAR = NULL, job VARCHAR = NULL, user VARCHAR = NULL, name VARCHAR = NULL, state VARCHAR = NULL, partition VARCHAR = NULL, node VARCHAR = NULL, family VARCHAR = NULL, since TIMESTAMP = NULL, until TIMESTAMP = NULL
-- PRUNE: none
-- COLUMN job_id: job
-- COLUMN attempt: attempt
-- COLUMN user: Unix user
-- COLUMN state: base state
-- COLUMN end_ts: when the attempt ended
-- COLUMN kind: kind of event
-- COLUMN event: short name
-- COLUMN events: how many alike
-- COLUMN ranks: ranks that printed it, where ranks are told apart
-- COLUMN first_ts: first time, where the log says it
-- COLUMN last_ts: last time, likewise
-- COLUMN file: file of the first one
-- COLUMN line_no: line of the first one
-- COLUMN message: text of the first one
-- COLUMN jobs [count]: jobs of the whole answer
-- COLUMN or_later: names of the times that are an earlier line's: it came then or later
-- CAVEAT: `kinds` are the kinds of log_event, with commas. Only jobs that Slurm's accounting knows. That a log says it does not make it the cause.
WITH newest AS (SELECT job_id, max(coalesce(attempt, 1)) AS attempt FROM j GROUP BY job_id),
e AS (
  SELECT l.*, coalesce(l.attempt, n.attempt) AS of_attempt
  FROM log_event l JOIN newest n ON n.job_id = l.job_id
  WHERE list_contains(string_split($kinds, ','), l.kind)
    AND ($pattern IS NULL OR regexp_matches(concat_ws(' ', l.name, l.message), $pattern, 'i'))
)
SELECT
  j.job_id, coalesce(j.attempt, 1) AS attempt, any_value(j."user") AS "user", any_value(j.state) AS state, any_value(j.end_ts) AS end_ts, e.kind, e.name AS event,
  count(*) AS events, count(DISTINCT e.rank) AS ranks,
  min(e.ts) FILTER (e.ts_kind IS DISTINCT FROM 'file') AS first_ts, max(e.ts) FILTER (e.ts_kind IS DISTINCT FROM 'file') AS last_ts,
  first(e.file ORDER BY e.ts NULLS LAST, e.file, e.line_no) AS file, first(e.line_no ORDER BY e.ts NULLS LAST, e.file, e.line_no) AS line_no,
  left(first(e.message ORDER BY e.ts NULLS LAST, e.file, e.line_no), 300) AS message, count(DISTINCT j.job_id) OVER () AS jobs,
  nullif(concat_ws(' ', CASE WHEN arg_min(coalesce(e.ts_kind, '') = 'carried', (e.ts, coalesce(e.ts_kind, '') = 'carried')) FILTER (WHERE e.ts IS NOT NULL AND e.ts_kind IS DISTINCT FROM 'file') THEN 'first_ts' END,
    CASE WHEN arg_max(coalesce(e.ts_kind, '') = 'carried', (e.ts, coalesce(e.ts_kind, '') = 'carried')) FILTER (WHERE e.ts IS NOT NULL AND e.ts_kind IS DISTINCT FROM 'file') THEN 'last_ts' END), '') AS or_later
FROM j JOIN e ON e.job_id = j.job_id AND e.of_attempt = coalesce(j.attempt, 1)
GROUP BY j.job_id, coalesce(j.attempt, 1), e.kind, e.name
ORDER BY coalesce(last_ts, any_value(j.end_ts)) DESC NULLS LAST, j.job_id, attempt, e.kind, event

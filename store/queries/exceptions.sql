-- exceptions: Python exceptions in the job's logs, alike ones in one row, the first in time first.
-- TABLES: log_event, train_step
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL
-- NONE: log exception, log Python exception, log traceback
-- NEEDS: log_event.kind = exception
-- EMPTY: VARCHAR, VARCHAR, VARCHAR, VARCHAR, BIGINT, BIGINT, BIGINT, VARCHAR, TIMESTAMP, TIMESTAMP, VARCHAR, BIGINT, BIGINT, VARCHAR, VARCHAR, VARCHAR, VARCHAR, VARCHAR, VARCHAR, VARCHAR, BIGINT, BIGINT, BIGINT, VARCHAR, VARCHAR
-- PRUNE: job_id
-- COLUMN name: type as printed
-- COLUMN message: text
-- COLUMN cause_name: type of the root of its chain
-- COLUMN cause_message: text of the root of its chain
-- COLUMN events: how many alike
-- COLUMN ranks: ranks that raised it, where ranks are told apart
-- COLUMN rank: rank of the first one
-- COLUMN node: node of the first one
-- COLUMN first_ts: when the first one was printed
-- COLUMN own_ts: when the first one happened, where the text carries its own time
-- COLUMN file: file of the first one
-- COLUMN line_no: line of the first one
-- COLUMN line_end: last line of the first one
-- COLUMN frame: innermost frame
-- COLUMN user_frame: innermost frame outside installed packages
-- COLUMN entry_frame: outermost frame
-- COLUMN calls: innermost frames of the first one, one a line, the outermost first, then `> ` and the source line that raised it
-- COLUMN cause_calls: the same of the root of its chain
-- COLUMN severity: severity
-- COLUMN framework: framework or component that spoke
-- COLUMN steps_after: training steps that the same file reports after the last one
-- COLUMN lines_left: lines from the first one to the last event of its file
-- COLUMN lines_after: lines from the last one to the last event of its file
-- COLUMN parser: who recognised it
-- COLUMN or_later: name of the time, where it is that of an earlier line: it came then or later
-- CAVEAT: Standard error and standard output are buffered apart, so the order of lines is not always the order of events.
WITH e AS (
  SELECT name, message, cause_name, cause_message, rank, node, host, ts, ts_kind, file, line_no, line_end, frame, user_frame, entry_frame, detail,
    severity, framework, parser, coalesce(happened_ts, CASE WHEN ts_kind = 'embedded' THEN ts END) AS own_ts,
    left(regexp_replace(coalesce(message, ''), '0x[0-9a-fA-F]+|[0-9]+', '#', 'g'), 200) AS shape
  FROM log_event
  WHERE kind = 'exception' AND job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
),
g AS (
  SELECT
    name, shape,
    first(message ORDER BY own_ts NULLS LAST, file, line_no) AS message,
    first(cause_name ORDER BY own_ts NULLS LAST, file, line_no) AS cause_name,
    first(cause_message ORDER BY own_ts NULLS LAST, file, line_no) AS cause_message,
    count(*) AS events, count(DISTINCT rank) AS ranks,
    first(rank ORDER BY own_ts NULLS LAST, file, line_no) AS rank,
    first(coalesce(node, host) ORDER BY own_ts NULLS LAST, file, line_no) AS node,
    min(ts) FILTER (WHERE ts_kind IS DISTINCT FROM 'file') AS first_ts, min(own_ts) AS own_ts,
    CASE WHEN arg_min(coalesce(ts_kind, '') = 'carried', (ts, coalesce(ts_kind, '') = 'carried')) FILTER (WHERE ts IS NOT NULL AND ts_kind IS DISTINCT FROM 'file') THEN 'first_ts' END AS or_later,
    first(file ORDER BY own_ts NULLS LAST, file, line_no) AS file,
    first(line_no ORDER BY own_ts NULLS LAST, file, line_no) AS line_no,
    first(line_end ORDER BY own_ts NULLS LAST, file, line_no) AS line_end,
    max(line_end) AS last_end,
    first(frame ORDER BY own_ts NULLS LAST, file, line_no) AS frame,
    first(user_frame ORDER BY own_ts NULLS LAST, file, line_no) AS user_frame,
    first(entry_frame ORDER BY own_ts NULLS LAST, file, line_no) AS entry_frame,
    first(TRY_CAST(detail AS JSON)->>'calls' ORDER BY own_ts NULLS LAST, file, line_no) AS calls,
    first(TRY_CAST(detail AS JSON)->>'cause_calls' ORDER BY own_ts NULLS LAST, file, line_no) AS cause_calls,
    first(severity ORDER BY own_ts NULLS LAST, file, line_no) AS severity,
    first(framework ORDER BY own_ts NULLS LAST, file, line_no) AS framework,
    first(parser ORDER BY own_ts NULLS LAST, file, line_no) AS parser
  FROM e
  GROUP BY name, shape
),
s AS (
  SELECT g.name, g.shape, count(*) AS steps_after
  FROM g JOIN train_step t ON t.file IS NOT DISTINCT FROM g.file AND t.line_no > g.last_end
  WHERE t.job_id = $job_id AND ($attempt IS NULL OR t.attempt IS NULL OR t.attempt = $attempt)
  GROUP BY g.name, g.shape
),
x AS (
  SELECT file, max(line_end) AS last_event FROM log_event
  WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt) GROUP BY file
)
SELECT
  g.name, left(g.message, 600) AS message, g.cause_name, left(g.cause_message, 600) AS cause_message, g.events, g.ranks,
  g.rank, g.node, g.first_ts, g.own_ts, g.file, g.line_no, g.line_end, g.frame, g.user_frame, g.entry_frame, g.calls, g.cause_calls,
  g.severity, g.framework, coalesce(s.steps_after, 0) AS steps_after, x.last_event - g.line_end AS lines_left,
  x.last_event - g.last_end AS lines_after, g.parser, g.or_later
FROM g
LEFT JOIN s ON s.name IS NOT DISTINCT FROM g.name AND s.shape = g.shape
LEFT JOIN x ON x.file IS NOT DISTINCT FROM g.file
ORDER BY coalesce(g.own_ts, g.first_ts) NULLS LAST, g.file, g.line_no, g.name

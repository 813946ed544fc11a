-- phases: How the run introduced itself: banners, plan, begin and end of training.
-- TABLES: log_event
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL
-- NEEDS: log_event.kind = banner | train_plan | train_begin | train_end
-- EMPTY: VARCHAR, VARCHAR, BIGINT, TIMESTAMP, TIMESTAMP, VARCHAR, BIGINT, BIGINT, VARCHAR, BIGINT, DOUBLE, BIGINT, VARCHAR, VARCHAR
-- PRUNE: job_id
-- COLUMN kind: banner, train_plan, train_begin or train_end
-- COLUMN name: short name
-- COLUMN events: how many
-- COLUMN first_ts: first time
-- COLUMN last_ts: last time
-- COLUMN file: file of the first one
-- COLUMN line_no: line of the first one
-- COLUMN last_line: line of the last one
-- COLUMN framework: who spoke
-- COLUMN total_steps: planned steps
-- COLUMN total_epochs: planned epochs
-- COLUMN world_size: world size that is named
-- COLUMN message: text of the first one
-- COLUMN or_later: names of the times that are an earlier line's: it came then or later
-- CAVEAT: Banners are announcements and not proof that a phase ended.
SELECT
  kind, name, count(*) AS events, min(ts) FILTER (WHERE ts_kind IS DISTINCT FROM 'file') AS first_ts, max(ts) FILTER (WHERE ts_kind IS DISTINCT FROM 'file') AS last_ts,
  first(file ORDER BY ts NULLS LAST, file, line_no) AS file,
  first(line_no ORDER BY ts NULLS LAST, file, line_no) AS line_no, max(line_no) AS last_line,
  first(framework ORDER BY ts NULLS LAST, file, line_no) AS framework, max(total_steps) AS total_steps,
  max(total_epochs) AS total_epochs, max(world_size) AS world_size,
  first(left(message, 300) ORDER BY ts NULLS LAST, file, line_no) AS message,
  nullif(concat_ws(' ', CASE WHEN arg_min(coalesce(ts_kind, '') = 'carried', (ts, coalesce(ts_kind, '') = 'carried')) FILTER (WHERE ts IS NOT NULL AND ts_kind IS DISTINCT FROM 'file') THEN 'first_ts' END,
    CASE WHEN arg_max(coalesce(ts_kind, '') = 'carried', (ts, coalesce(ts_kind, '') = 'carried')) FILTER (WHERE ts IS NOT NULL AND ts_kind IS DISTINCT FROM 'file') THEN 'last_ts' END), '') AS or_later
FROM log_event
WHERE kind IN ('banner', 'train_plan', 'train_begin', 'train_end')
  AND job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
GROUP BY kind, name
ORDER BY first_ts NULLS LAST, file, line_no, kind, name

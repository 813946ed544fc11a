-- log_window: Lines of one log file of the job from a line on, in file order.
-- TABLES: log_line
-- PARAMS: job_id VARCHAR, file VARCHAR, first BIGINT, last BIGINT
-- PRUNE: job_id
-- COLUMN file: file
-- COLUMN line_no: line in the file, from 1
-- COLUMN ts: time that the line says itself
-- COLUMN rank: global rank
-- COLUMN text: the line
SELECT file, line_no, CASE WHEN coalesce(ts_kind, '') NOT IN ('carried', 'file') THEN ts END AS ts, rank, text
FROM log_line
WHERE job_id = $job_id AND file = $file AND line_no BETWEEN $first AND $last
ORDER BY line_no

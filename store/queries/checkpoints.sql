-- checkpoints: Checkpoints that the job saved, loaded, resumed from, missed or broke, in order.
-- TABLES: log_event
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL
-- NONE: log checkpoint, log checkpoint saved, log saved checkpoint, log checkpoint announced, log announced checkpoint, log checkpoint loaded, log saving checkpoint
-- NEEDS: log_event.kind = checkpoint
-- EMPTY: VARCHAR, BIGINT, VARCHAR, TIMESTAMP, TIMESTAMP, BIGINT, VARCHAR, VARCHAR, BIGINT, VARCHAR
-- PRUNE: job_id
-- COLUMN name: saving, saved, loading, loaded, resumed, none_found, from_scratch, failed
-- COLUMN step: training step that is named
-- COLUMN path: file or folder that is named
-- COLUMN checkpoint_ts: when, where its line says so
-- COLUMN earlier_line_ts: where it does not, the time of an earlier line: it came then or later
-- COLUMN rank: rank
-- COLUMN framework: who spoke
-- COLUMN file: file
-- COLUMN line_no: line
-- COLUMN message: text
-- CAVEAT: A checkpoint that was written by a thread in the background may not be announced.
SELECT name, step, peer AS path, CASE WHEN coalesce(ts_kind, '') NOT IN ('carried', 'file') THEN ts END AS checkpoint_ts,
  CASE WHEN ts_kind = 'carried' THEN ts END AS earlier_line_ts, rank, framework, file, line_no, left(message, 300) AS message
FROM log_event
WHERE kind = 'checkpoint' AND job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
ORDER BY ts NULLS LAST, file, line_no, rank

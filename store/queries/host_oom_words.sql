-- host_oom_words: What the log says about host memory running out: Slurm's OOM messages, killed workers, the kernel's words.
-- TABLES: log_event
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL
-- NEEDS: log_event.kind = host_oom | slurm
-- EMPTY: VARCHAR, BOOLEAN, BIGINT, VARCHAR, BIGINT, TIMESTAMP, VARCHAR, BIGINT, VARCHAR, VARCHAR
-- PRUNE: job_id
-- COLUMN name: short name of the message
-- COLUMN killed: it says that something was killed for memory, not merely that memory was short
-- COLUMN events: how many
-- COLUMN host: host of the first one
-- COLUMN rank: rank of the first one
-- COLUMN oom_ts: first time
-- COLUMN file: file of the first one
-- COLUMN line_no: line of the first one
-- COLUMN message: text of the first one
-- COLUMN or_later: name of the time, where it is that of an earlier line: it came then or later
-- CAVEAT: A line that names a job or step which is not this one's is left out, where accounting knows these. A bare "Killed" is not among them: it says SIGKILL and nothing about who sent it.
SELECT
  name, name NOT IN ('worker_died', 'alloc_failed') AS killed, count(*) AS events, first(coalesce(host, node) ORDER BY ts NULLS LAST, file, line_no) AS host,
  first(rank ORDER BY ts NULLS LAST, file, line_no) AS rank, min(coalesce(happened_ts, CASE WHEN ts_kind IS DISTINCT FROM 'file' THEN ts END)) AS oom_ts,
  first(file ORDER BY ts NULLS LAST, file, line_no) AS file,
  first(line_no ORDER BY ts NULLS LAST, file, line_no) AS line_no,
  first(left(message, 300) ORDER BY ts NULLS LAST, file, line_no) AS message,
  CASE WHEN arg_min(happened_ts IS NULL AND coalesce(ts_kind, '') = 'carried', (coalesce(happened_ts, CASE WHEN ts_kind IS DISTINCT FROM 'file' THEN ts END), happened_ts IS NULL AND coalesce(ts_kind, '') = 'carried')) FILTER (WHERE coalesce(happened_ts, CASE WHEN ts_kind IS DISTINCT FROM 'file' THEN ts END) IS NOT NULL)
    THEN 'oom_ts' END AS or_later
FROM log_event
WHERE (kind = 'host_oom' OR (kind = 'slurm' AND regexp_matches(message, '(?i)oom[_-]kill|out[ -]of[ -]memory|OOM Killed'))) AND job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
GROUP BY name
ORDER BY killed DESC, oom_ts NULLS LAST, file, line_no, name

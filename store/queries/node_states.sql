-- node_states: States of the job's nodes from an hour before its start to an hour after its end, troubled ones first.
-- TABLES: slurm_node_state, slurm_job, process, log_line
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL
-- COLUMN node: node
-- COLUMN state: base state
-- COLUMN state_flags: flags
-- COLUMN reason: reason as an operator or Slurm wrote it
-- COLUMN reason_user: who set the reason
-- COLUMN begin_ts: when the state began
-- COLUMN until_ts: when it ended
-- COLUMN before_end_s [s]: seconds from the state's begin to the job's end; negative where it began after it
-- COLUMN in_run: the state began while the job ran, or within five minutes after its end
-- COLUMN troubled: down, failed, draining, drained or not responding
-- COLUMN lost: down, failed or not responding
-- COLUMN observed: true for a snapshot, false for accounting
-- CAVEAT: Snapshots show a state when they were taken; what lies between is unknown.
WITH j AS (
  SELECT * FROM slurm_job
  WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
  ORDER BY attempt DESC NULLS LAST, end_ts DESC NULLS FIRST, start_ts DESC NULLS LAST LIMIT 1
),
hosts AS (
  SELECT trim(unnest(string_split(node_list, ','))) AS node FROM j WHERE node_list IS NOT NULL
  UNION
  SELECT node FROM process
  WHERE job_id = $job_id AND node IS NOT NULL AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
),
span AS (
  SELECT
    coalesce((SELECT start_ts FROM j), (SELECT min(ts) FROM log_line WHERE job_id = $job_id)) AS from_ts,
    coalesce((SELECT end_ts FROM j), CASE WHEN (SELECT count(*) FROM j) = 0 THEN
      (SELECT max(ts) FROM log_line WHERE job_id = $job_id) END, TIMESTAMP '9999-12-31') AS to_ts
),
s AS (
  SELECT n.*,
    regexp_matches(concat_ws(',', n.state, n.state_flags), '(?i)DOWN|FAIL|NOT_RESP|DRAIN|POWERING_DOWN|REBOOT') AS troubled,
    regexp_matches(concat_ws(',', n.state, n.state_flags), '(?i)DOWN|FAIL|NOT_RESP') AS lost
  FROM slurm_node_state n JOIN hosts USING (node), span
  WHERE n.ts <= span.to_ts + INTERVAL 1 HOUR AND coalesce(n.end_ts, n.ts + INTERVAL 1 HOUR) >= span.from_ts - INTERVAL 1 HOUR
)
SELECT
  s.node, s.state, s.state_flags, s.reason, s.reason_user, s.ts AS begin_ts, s.end_ts AS until_ts,
  CASE WHEN span.to_ts < TIMESTAMP '9999-01-01' THEN date_diff('second', s.ts, span.to_ts) END AS before_end_s,
  s.ts >= span.from_ts AND s.ts <= span.to_ts + INTERVAL 5 MINUTE AS in_run, s.troubled, s.lost, s.observed
FROM s, span
ORDER BY s.lost DESC, s.troubled DESC, s.ts, s.node, s.state

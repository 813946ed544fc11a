-- node_states: States of the job's nodes from an hour before its start to an hour after its end, troubled ones first.
-- TABLES: slurm_node_state
-- PARAMS: nodes VARCHAR = NULL, from_ts TIMESTAMP = NULL, to_ts TIMESTAMP = NULL
-- EMPTY: VARCHAR, VARCHAR, VARCHAR, VARCHAR, VARCHAR, TIMESTAMP, TIMESTAMP, BIGINT, BOOLEAN, BOOLEAN, BOOLEAN, BOOLEAN
-- PRUNE: nodes, from_ts - 2 HOUR, to_ts + 1 HOUR
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
WITH s AS (
  SELECT *,
    regexp_matches(concat_ws(',', state, state_flags), '(?i)DOWN|FAIL|NOT_RESP|DRAIN|POWERING_DOWN|REBOOT') AS troubled,
    regexp_matches(concat_ws(',', state, state_flags), '(?i)DOWN|FAIL|NOT_RESP') AS lost
  FROM slurm_node_state
  WHERE list_contains(string_split($nodes, ','), node)
    AND ($from_ts IS NULL OR coalesce(end_ts, ts + INTERVAL 1 HOUR) >= $from_ts::TIMESTAMP - INTERVAL 1 HOUR)
    AND ($to_ts IS NULL OR ts <= $to_ts::TIMESTAMP + INTERVAL 1 HOUR)
)
SELECT
  s.node, s.state, s.state_flags, s.reason, s.reason_user, s.ts AS begin_ts, s.end_ts AS until_ts,
  date_diff('second', s.ts, $to_ts::TIMESTAMP) AS before_end_s,
  s.ts >= $from_ts::TIMESTAMP AND s.ts <= $to_ts::TIMESTAMP + INTERVAL 5 MINUTE AS in_run, s.troubled, s.lost, s.observed
FROM s
ORDER BY s.lost DESC, s.troubled DESC, s.ts, s.node, s.state

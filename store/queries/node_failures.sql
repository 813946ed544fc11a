-- node_failures: States of the job's own nodes that mean trouble, while it ran and around its end.
-- TABLES: slurm_node_state, slurm_job
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL
-- PRUNE: slurm_job(job_id), slurm_node_state(nodes)
-- FIRST: nodes_of_job
-- NEEDS: slurm_job
-- NEEDS: slurm_node_state.state ~ (?i)down|fail|drain|not_?respond|no_?respond|reboot|power, slurm_node_state.state_flags ~ (?i)down|fail|drain|not_?respond|no_?respond|reboot|power
-- EMPTY: VARCHAR, VARCHAR, VARCHAR, VARCHAR, VARCHAR, TIMESTAMP, TIMESTAMP, BIGINT, BIGINT, BOOLEAN, BOOLEAN, BOOLEAN, BIGINT, BIGINT
-- COLUMN node: node of the job
-- COLUMN state: state
-- COLUMN state_flags: flags
-- COLUMN reason: reason as an operator or Slurm wrote it
-- COLUMN reason_user: who set the reason
-- COLUMN since_ts: begin of the state
-- COLUMN until_ts: its end, nothing while it lasts
-- COLUMN before_end_s [s]: from its begin to the end of the job; negative when it began after the end
-- COLUMN after_end_s [s]: from the end of the job to its begin, where it began after the end
-- COLUMN down: true for DOWN, FAIL, NOT_RESPONDING, POWERED_DOWN or a reason that says so; false for a drain, and for a reboot or power-down that was asked for, which waits for the job's end
-- COLUMN at_end: true when it began while the job ran and lasted to its end, or within two minutes after it
-- COLUMN named: true when Slurm itself names the node as the failed one of this job
-- COLUMN job_nodes: nodes of the job
-- COLUMN bad_nodes: nodes of the job in such a state at its end
-- CAVEAT: Accounting writes a node's failure when the controller notices it, which may be minutes after it happened.
WITH j AS (
  SELECT node_list, failed_node, start_ts, coalesce(end_ts, ts) AS end_ts, state FROM slurm_job
  WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
  ORDER BY attempt DESC NULLS LAST, end_ts DESC NULLS FIRST LIMIT 1
),
n AS (
  SELECT unnest(string_split(node_list, ',')) AS node, len(string_split(node_list, ',')) AS job_nodes, j.* EXCLUDE (node_list)
  FROM j WHERE node_list IS NOT NULL
),
s AS (
  SELECT
    n.node, s.state, s.state_flags, s.reason, s.reason_user, s.ts AS since_ts, s.end_ts AS until_ts,
    date_diff('second', s.ts, n.end_ts) AS before_end_s, n.job_nodes,
    CASE WHEN regexp_matches(concat_ws(' ', s.state, s.state_flags), '(?i)reboot|power')
        OR regexp_matches(coalesce(s.reason, ''), '(?i)reboot (issued|timed out|asap|complete)|power\C{0,10} down|resume ?timeout')
      THEN s.ts < n.end_ts - INTERVAL 2 SECOND
        AND regexp_matches(concat_ws(' ', s.state, s.state_flags), '(?i)\bdown\b|\bfail|not_?respond|no_?respond|powered_down|powering_down|power_?off')
      ELSE regexp_matches(concat_ws(' ', s.state, s.state_flags), '(?i)down|fail|not_?respond|no_?respond|lost') END
      OR regexp_matches(coalesce(s.reason, ''), '(?i)not responding|unexpectedly rebooted|node failure|low (real|memory)|gres.*lower|hung|dead')
      AS down,
    s.ts <= n.end_ts + INTERVAL 120 SECOND AND coalesce(s.ts >= n.start_ts, true)
      AND (s.end_ts IS NULL OR s.end_ts >= n.end_ts - INTERVAL 60 SECOND) AS at_end,
    coalesce(list_contains(string_split(n.failed_node, ','), n.node), false) AS named
  FROM n JOIN slurm_node_state s ON s.node = n.node
  WHERE regexp_matches(concat_ws(' ', s.state, s.state_flags), '(?i)down|fail|drain|not_?respond|no_?respond|reboot|power')
    AND s.ts <= n.end_ts + INTERVAL 1 DAY AND coalesce(s.end_ts >= n.start_ts, true)
)
SELECT
  node, state, state_flags, reason, reason_user, since_ts, until_ts, before_end_s,
  CASE WHEN before_end_s < 0 THEN -before_end_s END AS after_end_s, down, at_end, named, job_nodes,
  (SELECT count(DISTINCT node) FROM s WHERE at_end AND down) AS bad_nodes
FROM s
ORDER BY named DESC, at_end AND down DESC, at_end DESC, since_ts, node

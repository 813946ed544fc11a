-- launch_failures: What says that Slurm could not launch the attempt and ended it itself: why the job waits again, a node put out of service, slurmd's word in the log.
-- TABLES: slurm_job, slurm_job_event, slurm_node_state, log_event
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL
-- PRUNE: slurm_job(job_id), slurm_job_event(job_id), log_event(job_id), slurm_node_state(nodes)
-- FIRST: nodes_of_job
-- COLUMN told_by: queue, the reason for which the job waits after the attempt; node, the reason of a node that was taken out of service as the attempt ended; log, slurmd's own line in the job's output
-- COLUMN reason: reason as Slurm wrote it
-- COLUMN node: node of the attempt
-- COLUMN since_ts: when the job was seen waiting, or the node was taken out
-- COLUMN held: true where Slurm holds the job until somebody releases it
-- CAVEAT: A node says nothing of which job's prolog failed on it; that it was taken out in the second in which the attempt ended does.
WITH j AS (
  SELECT attempt, node_list, start_ts, end_ts, state FROM slurm_job
  WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
  ORDER BY attempt DESC NULLS LAST, end_ts DESC NULLS FIRST LIMIT 1
),
q AS (
  SELECT s.state_reason AS reason, coalesce(s.submit_ts, s.ts) AS since_ts
  FROM slurm_job s, j
  WHERE s.job_id = $job_id AND upper(s.state) IN ('PENDING', 'REQUEUE_HOLD', 'SPECIAL_EXIT') AND s.attempt IN (j.attempt, j.attempt + 1)
  UNION ALL
  SELECT e.reason, e.ts FROM slurm_job_event e, j
  WHERE e.job_id = $job_id AND e.event = 'blocked' AND e.attempt = j.attempt + 1
),
n AS (SELECT unnest(string_split(node_list, ',')) AS node, start_ts, end_ts FROM j WHERE node_list IS NOT NULL AND end_ts IS NOT NULL),
l AS (
  SELECT left(min(e.message), 200) AS reason FROM log_event e, j
  WHERE e.job_id = $job_id AND j.node_list IS NOT NULL AND e.kind = 'slurm' AND e.name = 'prolog_failed' AND e.severity = 'fatal'
    AND (e.attempt IS NULL OR j.attempt IS NULL OR e.attempt = j.attempt)
),
found AS (
  SELECT 'queue' AS told_by, reason, NULL::VARCHAR AS node, since_ts, regexp_matches(reason, '(?i)held') AS held
  FROM q WHERE regexp_matches(reason, '(?i)launch[ _]failed')
  UNION ALL
  SELECT 'node', s.reason, n.node, s.ts, false
  FROM n JOIN slurm_node_state s ON s.node = n.node
  WHERE regexp_matches(s.reason, '(?i)prolog|launch fail|batch job complete failure') AND NOT regexp_matches(s.reason, '(?i)epilog')
    AND s.ts BETWEEN coalesce(n.start_ts, n.end_ts) - INTERVAL 2 SECOND AND n.end_ts + INTERVAL 5 SECOND
    AND s.ts >= n.end_ts - INTERVAL 5 SECOND
  UNION ALL
  SELECT 'log', reason, NULL, NULL, false FROM l WHERE reason IS NOT NULL
)
SELECT told_by, min(reason) AS reason, node, min(since_ts) AS since_ts, bool_or(held) AS held
FROM found GROUP BY told_by, node
ORDER BY told_by = 'queue' DESC, told_by = 'node' DESC, since_ts, node

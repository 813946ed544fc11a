-- node_past: What a node and its GPUs have gone through: trouble in Slurm's eyes, kernel and driver events, jobs that ended badly there.
-- TABLES: slurm_node_state, gpu_event, host_event, slurm_job, verdict
-- PARAMS: node VARCHAR, gpu BIGINT = NULL, from_ts TIMESTAMP = NULL, to_ts TIMESTAMP = NULL
-- PRUNE: slurm_node_state(node, from_ts, to_ts), gpu_event(node, from_ts, to_ts), host_event(node, from_ts, to_ts)
-- COLUMN event_ts: when
-- COLUMN source: slurm, gpu, host or job
-- COLUMN event: what: a state, XID, kernel event, or the job's state
-- COLUMN xid: XID code
-- COLUMN gpu: GPU's index
-- COLUMN job_id: job
-- COLUMN family: family of that job's stored verdict
-- COLUMN attribution: attribution of that job's stored verdict
-- COLUMN events: how many alike on that day
-- COLUMN message: reason or text of the first one
-- CAVEAT: That a job ended badly on a node does not say that the node was the cause.
WITH v AS (
  SELECT job_id, coalesce(attempt, 0) AS attempt, max_by(struct_pack(family, attribution), ts) AS v FROM verdict GROUP BY ALL
), e AS (
  SELECT ts AS event_ts, 'slurm' AS source, concat_ws('+', state, state_flags) AS event, NULL::BIGINT AS xid, NULL::BIGINT AS gpu,
    NULL::VARCHAR AS job_id, NULL::VARCHAR AS family, NULL::VARCHAR AS attribution, reason AS message
  FROM slurm_node_state
  WHERE node = $node AND regexp_matches(concat_ws(',', state, state_flags), '(?i)DOWN|FAIL|NOT_RESP|DRAIN|REBOOT')
  UNION ALL
  SELECT ts, 'gpu', event, xid, gpu, job_id, NULL, NULL, message FROM gpu_event
  WHERE node = $node AND ($gpu IS NULL OR gpu = $gpu OR gpu IS NULL)
  UNION ALL
  SELECT ts, 'host', event, NULL, NULL, job_id, NULL, NULL, message FROM host_event WHERE node = $node AND event <> 'boot'
  UNION ALL
  SELECT coalesce(j.end_ts, j.ts), 'job', j.state, NULL, NULL, j.job_id, coalesce(v.v, w.v).family, coalesce(v.v, w.v).attribution, j.name
  FROM slurm_job j
  LEFT JOIN v ON v.job_id = j.job_id AND v.attempt = coalesce(j.attempt, 0)
  LEFT JOIN v AS w ON w.job_id = j.job_id AND w.attempt = 0
  WHERE list_contains(string_split(coalesce(j.node_list, ''), ','), $node)
    AND upper(j.state) NOT IN ('COMPLETED', 'RUNNING', 'PENDING', 'COMPLETING')
)
SELECT
  min(event_ts) AS event_ts, source, event, xid, gpu, job_id, family, attribution, count(*) AS events,
  arg_min(left(message, 200), event_ts) AS message
FROM e
WHERE ($from_ts IS NULL OR event_ts >= $from_ts::TIMESTAMP) AND ($to_ts IS NULL OR event_ts <= $to_ts::TIMESTAMP)
GROUP BY source, event, xid, gpu, job_id, family, attribution, date_trunc('day', event_ts)
ORDER BY 1 DESC, 2, 3, 4, 5, 6

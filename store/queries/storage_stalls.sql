-- storage_stalls: File servers that did not answer the job's nodes while it ran, by the nodes' kernel logs: for how long, and to its end or not.
-- TABLES: host_event
-- PARAMS: job_id VARCHAR, nodes VARCHAR = NULL, from_ts TIMESTAMP = NULL, to_ts TIMESTAMP = NULL
-- PRUNE: nodes, from_ts, to_ts
-- COLUMN node: node
-- COLUMN stalls: times that a server stopped answering
-- COLUMN first_ts: first of them
-- COLUMN last_ts: begin of the last one
-- COLUMN before_end_s [s]: from the begin of the last one to the job's end
-- COLUMN stalled_s [s]: time without an answer, all together
-- COLUMN stalled_min [min]: the same in minutes
-- COLUMN share [ratio]: of the run
-- COLUMN still: it had not answered when the job ended
-- COLUMN nodes: nodes of the job that tell of one
-- COLUMN message: text of the last one
-- CAVEAT: A server that answers again without a line about it counts as silent to the end; of several servers the first answer counts.
WITH e AS (
  SELECT node, ts, message, NOT regexp_matches(message, '\bOK\b|restored|came back|recovery completed|reconnect start') AS off
  FROM host_event
  -- a server belongs to no job: the job's number is only what the answer is about
  WHERE $job_id IS NOT NULL AND list_contains(string_split($nodes, ','), coalesce(node, '')) AND event = 'storage'
    AND regexp_matches(
      message, 'not responding|\bOK$|[Cc]onnection .*(lost|restored)|was lost|[Uu]nreachable|caps stale|\bhung\b|came back|recovery completed|reconnect start|beegfs: .*(Retrying communication|timed out|Connect failed|Unable to connect)'
    )
    AND ts >= $from_ts::TIMESTAMP AND ts <= $to_ts::TIMESTAMP
),
s AS (
  SELECT e.node, e.ts, e.message, min(o.ts) AS answered
  FROM e LEFT JOIN e o ON o.node = e.node AND NOT o.off AND o.ts >= e.ts
  WHERE e.off
  GROUP BY e.node, e.ts, e.message
),
p AS (
  SELECT node, answered, min(ts) AS begun, arg_min(message, ts) AS message,
    epoch(coalesce(answered, $to_ts::TIMESTAMP) - min(ts)) AS stalled
  FROM s
  GROUP BY node, answered
)
SELECT
  node, count(*) AS stalls, min(begun) AS first_ts, max(begun) AS last_ts,
  date_diff('second', max(begun), $to_ts::TIMESTAMP) AS before_end_s, round(sum(stalled), 1) AS stalled_s,
  round(sum(stalled) / 60, 1) AS stalled_min,
  round(sum(stalled) / nullif(epoch($to_ts::TIMESTAMP - $from_ts::TIMESTAMP), 0), 3) AS share, bool_or(answered IS NULL) AS still,
  count(*) OVER () AS nodes, left(arg_max(message, begun), 300) AS message
FROM p
GROUP BY node
ORDER BY still DESC, stalled_s DESC, node, stalls

-- host_memory: How little memory the job's nodes had left shortly before its end, the node with the least first.
-- TABLES: host_sample
-- PARAMS: job_id VARCHAR, nodes VARCHAR = NULL, from_ts TIMESTAMP = NULL, to_ts TIMESTAMP = NULL
-- PRUNE: nodes, from_ts, to_ts
-- COLUMN node: node
-- COLUMN available_gib [GiB]: least memory available in the last ten minutes before the end
-- COLUMN total_gib [GiB]: its memory
-- COLUMN share [ratio]: the one over the other
-- COLUMN before_gib [GiB]: median of what was available in the run before that
-- COLUMN least_ts: when it was least
-- COLUMN samples: samples in those ten minutes
-- CAVEAT: Of the whole node: other jobs there take of it too.
WITH h AS (
  SELECT *, ts > $to_ts::TIMESTAMP - INTERVAL 10 MINUTE AS late FROM host_sample
  -- a host belongs to no job: the job's number is only what the answer is about
  WHERE $job_id IS NOT NULL AND list_contains(string_split($nodes, ','), coalesce(node, ''))
    AND memory_available_bytes IS NOT NULL
    AND ts >= $from_ts::TIMESTAMP AND ts <= $to_ts::TIMESTAMP
)
SELECT
  node, round(min(memory_available_bytes) FILTER (WHERE late) / 1073741824.0, 2) AS available_gib,
  round(max(memory_total_bytes) / 1073741824.0, 2) AS total_gib,
  round(min(memory_available_bytes) FILTER (WHERE late) / nullif(max(memory_total_bytes), 0)::DOUBLE, 3) AS share,
  round(median(memory_available_bytes) FILTER (WHERE NOT late) / 1073741824.0, 2) AS before_gib,
  arg_min(ts, memory_available_bytes) FILTER (WHERE late) AS least_ts, count(*) FILTER (WHERE late) AS samples
FROM h
GROUP BY node
HAVING count(*) FILTER (WHERE late) > 0
ORDER BY share NULLS LAST, node

-- link_health: Links of the job's nodes that were worse off in the run than the same link of its other nodes: down, slower, or in error.
-- TABLES: link_sample
-- PARAMS: job_id VARCHAR, nodes VARCHAR = NULL, from_ts TIMESTAMP = NULL, to_ts TIMESTAMP = NULL
-- PRUNE: nodes, from_ts, to_ts
-- COLUMN node: node
-- COLUMN fabric: infiniband, roce, efa, ethernet
-- COLUMN device: device
-- COLUMN port: port
-- COLUMN trouble: down at the end of the run, slow (under two thirds of the others' rate), errors (at least a thousand, and ten times the others')
-- COLUMN state: its last state
-- COLUMN since_ts: first sample in which it was so; NULL where it was so from the first one on
-- COLUMN before_end_s [s]: from then to the job's end
-- COLUMN rate_gbps [Gb/s]: its lowest rate
-- COLUMN others_gbps [Gb/s]: the median of the others' highest rates
-- COLUMN errors: symbol and receive errors that were added in the run
-- COLUMN recoveries: recoveries that were added
-- COLUMN others: nodes with the same device and port
-- COLUMN samples: samples in the run
-- CAVEAT: A device that is down on most nodes is one that nobody uses, and is left out; so is a job of one node, with nothing to compare.
WITH s AS (
  SELECT *, coalesce(state, '') NOT IN ('ACTIVE', 'up', '') AS off,
    coalesce(symbol_errors, 0) + coalesce(rcv_errors, 0) AS bad FROM link_sample
  -- a link belongs to no job: the job's number is only what the answer is about
  WHERE $job_id IS NOT NULL AND list_contains(string_split($nodes, ','), coalesce(node, ''))
    AND ts >= $from_ts::TIMESTAMP AND ts <= $to_ts::TIMESTAMP + INTERVAL 2 MINUTE
    AND coalesce(fabric, '') <> 'nvlink'
),
l AS (
  SELECT
    node, any_value(fabric) AS fabric, device, port, arg_max(state, ts) AS state, arg_max(off, ts) AS off, count(*) AS samples,
    min(rate_gbps) AS low, max(rate_gbps) AS high, max(bad) - min(bad) AS errors,
    max(link_error_recovery) - min(link_error_recovery) AS recoveries, min(ts) AS first_ts, arg_min(bad, ts) AS bad_first,
    max(ts) FILTER (WHERE NOT off) AS last_on
  FROM s
  GROUP BY node, device, port
),
o AS (
  SELECT a.node, a.device, a.port, count(*) AS others, count(*) FILTER (WHERE NOT b.off) AS on_there,
    median(b.high) AS high, median(b.errors) AS errors
  FROM l a JOIN l b ON a.device IS NOT DISTINCT FROM b.device AND a.port IS NOT DISTINCT FROM b.port AND a.node <> b.node
  GROUP BY a.node, a.device, a.port
),
t AS (
  SELECT l.*, o.others, o.high AS others_high,
    CASE WHEN l.off AND o.on_there * 2 > o.others THEN 'down' WHEN NOT l.off AND l.low < o.high * 2 / 3 THEN 'slow'
      WHEN NOT l.off AND l.errors >= 1000 AND l.errors >= 10 * coalesce(o.errors, 0) THEN 'errors' END AS trouble
  FROM l JOIN o ON l.node = o.node AND l.device IS NOT DISTINCT FROM o.device AND l.port IS NOT DISTINCT FROM o.port
),
f AS (
  SELECT
    t.node, t.device, t.port,
    min(s.ts) FILTER (WHERE CASE t.trouble WHEN 'down' THEN s.off AND (t.last_on IS NULL OR s.ts > t.last_on)
      WHEN 'slow' THEN s.rate_gbps < t.others_high * 2 / 3 ELSE s.bad > t.bad_first END) AS since
  FROM t JOIN s ON t.node = s.node AND t.device IS NOT DISTINCT FROM s.device AND t.port IS NOT DISTINCT FROM s.port
  WHERE t.trouble IS NOT NULL
  GROUP BY t.node, t.device, t.port
)
SELECT
  t.node, fabric, t.device, t.port, trouble, state, nullif(since, first_ts) AS since_ts,
  date_diff('second', nullif(since, first_ts), $to_ts::TIMESTAMP) AS before_end_s, round(low, 1) AS rate_gbps,
  round(others_high, 1) AS others_gbps, errors, recoveries, others, samples
FROM t JOIN f ON t.node = f.node AND t.device IS NOT DISTINCT FROM f.device AND t.port IS NOT DISTINCT FROM f.port
ORDER BY CASE trouble WHEN 'down' THEN 0 WHEN 'slow' THEN 1 ELSE 2 END, errors DESC NULLS LAST, t.node, t.device, t.port, samples

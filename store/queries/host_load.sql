-- host_load: How busy the CPUs of the job's nodes were in the run, the busiest node first, and how busy those of its other nodes.
-- TABLES: host_sample
-- PARAMS: job_id VARCHAR, nodes VARCHAR = NULL, from_ts TIMESTAMP = NULL, to_ts TIMESTAMP = NULL
-- PRUNE: nodes, from_ts, to_ts
-- COLUMN node: node
-- COLUMN load: median of the one-minute load in the run
-- COLUMN others_load: median of the other nodes' medians
-- COLUMN times_others: the one over the other
-- COLUMN samples: samples in the run
-- CAVEAT: Load counts what is ready to run and what waits for a disk or a file server, of every job and service of the node.
WITH n AS (
  SELECT node, median(load1) AS load, count(*) AS samples FROM host_sample
  -- a host belongs to no job: the job's number is only what the answer is about
  WHERE $job_id IS NOT NULL AND list_contains(string_split($nodes, ','), coalesce(node, '')) AND load1 IS NOT NULL
    AND ts >= $from_ts::TIMESTAMP AND ts <= $to_ts::TIMESTAMP
  GROUP BY node
),
o AS (SELECT a.node, median(b.load) AS load FROM n a LEFT JOIN n b ON a.node <> b.node GROUP BY a.node)
SELECT
  n.node, round(n.load, 1) AS load, round(o.load, 1) AS others_load, round(n.load / nullif(o.load, 0), 1) AS times_others, n.samples
FROM n JOIN o ON n.node = o.node
ORDER BY n.load DESC, n.node

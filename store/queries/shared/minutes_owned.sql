-- minutes_owned: Minutes of GPUs with the attempt that they are of: as they say, or the only one that was on the node then.
on_node AS (
  SELECT job_id, coalesce(attempt, 1) AS attempt, unnest(string_split(nullif(node_list, ''), ',')) AS node,
    date_trunc('minute', start_ts) AS first, date_trunc('minute', end_ts) + INTERVAL 1 MINUTE AS past, row_number() OVER () AS n
  FROM slurm_job WHERE start_ts IS NOT NULL
), changes AS (
  -- Where one attempt is on a node, the sum of the numbers of those that are there is its number.
  SELECT DISTINCT node, t, sum(more) OVER here AS there, sum(number) OVER here AS n
  FROM (
    SELECT node, first AS t, 1 AS more, n AS number FROM on_node
    UNION ALL SELECT node, past, -1, -n FROM on_node WHERE past IS NOT NULL
  )
  WINDOW here AS (PARTITION BY node ORDER BY t)
), alone AS (
  SELECT m.node, m.ts, o.job_id, o.attempt
  FROM (SELECT DISTINCT node, ts FROM gpu_minute WHERE job_id IS NULL) m
  ASOF JOIN changes c ON c.node = m.node AND m.ts >= c.t
  JOIN on_node o ON o.n = c.n AND o.node = m.node
  WHERE c.there = 1
), owned AS (
  SELECT coalesce(m.job_id, a.job_id) AS of_job, coalesce(m.attempt, a.attempt, 1) AS of_attempt, m.*
  FROM gpu_minute m
  LEFT JOIN alone a ON m.job_id IS NULL AND a.node = m.node AND a.ts = m.ts
  WHERE (m.job_id IS NOT NULL OR a.job_id IS NOT NULL)
    AND ($since IS NULL OR m.ts >= date_trunc('minute', $since::TIMESTAMP)) AND ($until IS NULL OR m.ts <= $until::TIMESTAMP)
)

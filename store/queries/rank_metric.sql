-- rank_metric: One measure of a job's ranks over time, from the CUDA and NCCL runtime and the printed steps.
-- TABLES: cuda_sample, nccl_sample, train_step
-- PARAMS: metric VARCHAR, job_id VARCHAR, attempt BIGINT = NULL, rank BIGINT = NULL, from_ts TIMESTAMP = NULL, to_ts TIMESTAMP = NULL, bucket_s BIGINT = 60, by_rank BOOLEAN = true
-- PRUNE: job_id
-- COLUMN bucket_ts: start of the bucket; empty for values of which nothing says when they were printed
-- COLUMN rank: global rank; empty where all ranks are taken together
-- COLUMN samples: samples with a value
-- COLUMN total [$metric]: sum, for measures that count something within their interval
-- COLUMN low [$metric]: lowest value
-- COLUMN mean [$metric]: mean value
-- COLUMN high [$metric]: highest value
-- COLUMN last [$metric]: last value
-- COLUMN or_later: name of the time, where values came without a time of their own: they came then or later
-- CAVEAT: A rank that nobody watched is not here. Values without a time stand by themselves, whatever time was asked for.
WITH s AS (
  SELECT rank, attempt, ts,
    CASE $metric WHEN 'launches' THEN launches::DOUBLE WHEN 'api_time_s' THEN api_time_s WHEN 'sync_time_s' THEN sync_time_s
      WHEN 'max_launch_gap_s' THEN max_launch_gap_s WHEN 'h2d_bytes' THEN h2d_bytes::DOUBLE WHEN 'd2h_bytes' THEN d2h_bytes::DOUBLE
    END AS v, false AS lent
  FROM cuda_sample WHERE job_id = $job_id
  UNION ALL
  SELECT rank, attempt, ts,
    CASE $metric WHEN 'collectives_enqueued' THEN enqueued::DOUBLE WHEN 'collectives_completed' THEN completed::DOUBLE
      WHEN 'collectives_in_flight' THEN in_flight::DOUBLE WHEN 'collective_ms' THEN duration_ms END AS v, false
  FROM nccl_sample WHERE job_id = $job_id
  UNION ALL
  SELECT rank, attempt, CASE WHEN ts_kind IS DISTINCT FROM 'file' THEN ts END,
    CASE $metric WHEN 'loss' THEN loss WHEN 'grad_norm' THEN grad_norm WHEN 'learning_rate' THEN learning_rate
      WHEN 'step_time_s' THEN step_time_s WHEN 'samples_per_s' THEN samples_per_s WHEN 'tokens_per_s' THEN tokens_per_s END AS v,
    coalesce(ts_kind, '') = 'carried'
  FROM train_step WHERE job_id = $job_id AND split IS DISTINCT FROM 'eval'
)
SELECT
  time_bucket(to_seconds(greatest($bucket_s, 1)), ts, TIMESTAMP '2000-01-01') AS bucket_ts, CASE WHEN $by_rank THEN rank END AS rank,
  count(*) AS samples, round(sum(v), 4) AS total, round(min(v), 6) AS low, round(avg(v), 6) AS mean, round(max(v), 6) AS high,
  round(arg_max(v, ts), 6) AS last, CASE WHEN bool_or(lent) THEN 'bucket_ts' END AS or_later
FROM s
WHERE v IS NOT NULL AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt) AND ($rank IS NULL OR rank = $rank)
  AND ($from_ts IS NULL OR ts IS NULL OR ts >= $from_ts::TIMESTAMP) AND ($to_ts IS NULL OR ts IS NULL OR ts <= $to_ts::TIMESTAMP)
GROUP BY ALL
ORDER BY 1 NULLS FIRST, 2

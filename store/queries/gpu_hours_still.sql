-- gpu_hours_still: Since when the last attempt completed no collective (without any that are known: launched no kernel), and the GPU time after that.
-- TABLES: slurm_job, nccl_sample, cuda_sample
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL
-- PRUNE: job_id
-- NEEDS: slurm_job
-- EMPTY: TIMESTAMP, VARCHAR, TIMESTAMP, DOUBLE
-- COLUMN still_ts: last sample in which any rank did
-- COLUMN told_by: what was counted, collectives or launches
-- COLUMN last_ts: last sample
-- COLUMN gpu_hours_still [h]: GPUs times the time from there to the end of the attempt
-- CAVEAT: No row where one was done in the last minute of the samples, or none ever was.
WITH last AS (
  SELECT coalesce(attempt, 1) AS n, gpus, start_ts, coalesce(end_ts, start_ts + to_seconds(elapsed_s), ts) AS end_ts
  FROM slurm_job
  WHERE job_id = $job_id AND start_ts IS NOT NULL AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
  ORDER BY coalesce(attempt, 1) DESC, ts DESC NULLS LAST, origin LIMIT 1
),
seen AS (
  SELECT 'collectives' AS told_by, 1 AS rank, max(s.ts) FILTER (WHERE completed > 0) AS still_ts, max(s.ts) AS last_ts
  FROM nccl_sample s, last
  WHERE s.job_id = $job_id AND (s.attempt IS NULL OR s.attempt = last.n) AND s.ts BETWEEN last.start_ts AND last.end_ts
  UNION ALL
  SELECT 'launches', 2, max(s.ts) FILTER (WHERE coalesce(launches, 0) + coalesce(graph_launches, 0) > 0), max(s.ts)
  FROM cuda_sample s, last
  WHERE s.job_id = $job_id AND (s.attempt IS NULL OR s.attempt = last.n) AND s.ts BETWEEN last.start_ts AND last.end_ts
),
told AS (SELECT * FROM seen WHERE still_ts IS NOT NULL ORDER BY rank LIMIT 1)
SELECT still_ts, told_by, last_ts, round(last.gpus * date_diff('second', still_ts, last.end_ts) / 3600, 3) AS gpu_hours_still
FROM told, last
WHERE last_ts - still_ts >= INTERVAL 1 MINUTE

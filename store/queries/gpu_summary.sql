-- gpu_summary: What each GPU of the job did in the run: memory, activity, clocks, temperature.
-- TABLES: gpu_sample
-- PARAMS: job_id VARCHAR, nodes VARCHAR = NULL, from_ts TIMESTAMP = NULL, to_ts TIMESTAMP = NULL
-- PRUNE: from_ts, to_ts
-- COLUMN node: node
-- COLUMN gpu: index on its node
-- COLUMN gpu_uuid: UUID
-- COLUMN samples: samples in the run
-- COLUMN first_ts: first sample
-- COLUMN last_ts: last sample
-- COLUMN peak_gib [GiB]: highest memory in use
-- COLUMN total_gib [GiB]: memory of the card
-- COLUMN peak_used [ratio]: highest memory in use over the card's
-- COLUMN last_gib [GiB]: memory in use in the last sample
-- COLUMN engine_mean [ratio]: mean engine activity
-- COLUMN sm_mean [ratio]: mean SM activity
-- COLUMN sm_median [ratio]: median SM activity
-- COLUMN sm_max [ratio]: highest SM activity
-- COLUMN engine_late [ratio]: mean engine activity in the last ten minutes
-- COLUMN sm_late [ratio]: mean SM activity in the last ten minutes
-- COLUMN idle_share [ratio]: share of samples with engine activity under two percent
-- COLUMN power_mean_w [W]: mean power
-- COLUMN temp_max_c [C]: highest temperature
-- COLUMN sm_clock_median_mhz [MHz]: median SM clock
-- COLUMN severe_throttle_share [ratio]: share of samples with hardware slowdown, thermal or power-brake bits
-- COLUMN sm_clock_throttled_mhz [MHz]: median SM clock in those samples
-- COLUMN sm_clock_free_mhz [MHz]: median SM clock in the other busy samples
-- COLUMN processes: most processes with a context
-- COLUMN activity_source: what measured the activity
-- CAVEAT: A sampled peak can lie below the true one; a card that is shared shows all of its users.
WITH s AS (
  SELECT *, (throttle_reasons & 232) <> 0 AS severe
  FROM gpu_sample
  WHERE (job_id = $job_id OR (job_id IS NULL AND list_contains(string_split($nodes, ','), node)))
    AND ($from_ts IS NULL OR ts >= $from_ts::TIMESTAMP) AND ($to_ts IS NULL OR ts <= $to_ts::TIMESTAMP)
),
e AS (SELECT max(ts) AS last_ts FROM s)
SELECT
  node, gpu, gpu_uuid, count(*) AS samples, min(ts) AS first_ts, max(ts) AS last_ts,
  round(max(fb_used_bytes) / 1073741824.0, 2) AS peak_gib, round(max(fb_total_bytes) / 1073741824.0, 2) AS total_gib,
  round(max(fb_used_bytes) / max(fb_total_bytes)::DOUBLE, 3) AS peak_used,
  round(arg_max(fb_used_bytes, ts) / 1073741824.0, 2) AS last_gib,
  round(avg(engine_active), 3) AS engine_mean, round(avg(sm_active), 3) AS sm_mean,
  round(median(sm_active), 3) AS sm_median, round(max(sm_active), 3) AS sm_max,
  round(avg(engine_active) FILTER (WHERE ts > e.last_ts - INTERVAL 10 MINUTE), 3) AS engine_late,
  round(avg(sm_active) FILTER (WHERE ts > e.last_ts - INTERVAL 10 MINUTE), 3) AS sm_late,
  round(avg(CASE WHEN engine_active IS NULL THEN NULL WHEN engine_active < 0.02 THEN 1.0 ELSE 0.0 END), 3) AS idle_share,
  round(avg(power_w), 1) AS power_mean_w, max(temp_c) AS temp_max_c, median(sm_clock_mhz) AS sm_clock_median_mhz,
  round(avg(CASE WHEN severe IS NULL THEN NULL WHEN severe THEN 1.0 ELSE 0.0 END), 3) AS severe_throttle_share,
  median(sm_clock_mhz) FILTER (WHERE severe) AS sm_clock_throttled_mhz,
  median(sm_clock_mhz) FILTER (WHERE NOT severe AND engine_active > 0.3) AS sm_clock_free_mhz,
  max(processes) AS processes, mode(activity_source) AS activity_source
FROM s, e
GROUP BY node, gpu, gpu_uuid
ORDER BY node, gpu, gpu_uuid

-- gpu_summary: What each GPU of the job did in the run: memory, activity, clocks, temperature.
-- TABLES: gpu_sample, gpu_minute
-- PARAMS: job_id VARCHAR, nodes VARCHAR = NULL, gpus VARCHAR = NULL, from_ts TIMESTAMP = NULL, to_ts TIMESTAMP = NULL
-- EMPTY: VARCHAR, BIGINT, VARCHAR, HUGEINT, TIMESTAMP, TIMESTAMP, DOUBLE, HUGEINT, DOUBLE, DOUBLE, DOUBLE, DOUBLE, DOUBLE, DOUBLE, DOUBLE, DOUBLE, DOUBLE, DOUBLE, DOUBLE, BOOLEAN, DOUBLE, DOUBLE, DOUBLE, DOUBLE, DOUBLE, DOUBLE, BIGINT, VARCHAR
-- PRUNE: job_id, nodes, from_ts, to_ts
-- COLUMN node: node
-- COLUMN gpu: index on its node
-- COLUMN gpu_uuid: UUID
-- COLUMN samples: samples of its activity in the run; of anything, where activity was not measured
-- COLUMN first_ts: first sample
-- COLUMN last_ts: last sample
-- COLUMN watched_s [s]: from the first to the last sample
-- COLUMN late_samples: samples with engine activity in the last ten minutes
-- COLUMN peak_gib [GiB]: highest memory in use
-- COLUMN total_gib [GiB]: memory of the card
-- COLUMN peak_used [ratio]: highest memory in use over the card's
-- COLUMN last_gib [GiB]: memory in use in the last sample
-- COLUMN engine_mean [ratio]: mean engine activity
-- COLUMN sm_mean [ratio]: mean SM activity
-- COLUMN sm_median [ratio]: median of the minutes' mean SM activity
-- COLUMN sm_max [ratio]: highest SM activity
-- COLUMN engine_late [ratio]: mean engine activity in the last ten minutes
-- COLUMN sm_late [ratio]: mean SM activity in the last ten minutes
-- COLUMN idle_share [ratio]: share of samples with engine activity under two percent
-- COLUMN unused: whether its engine did nothing in any sample and its memory held next to nothing
-- COLUMN power_mean_w [W]: mean power
-- COLUMN temp_max_c [C]: highest temperature
-- COLUMN sm_clock_median_mhz [MHz]: median of the minutes' mean SM clock
-- COLUMN severe_throttle_share [ratio]: share of samples with hardware slowdown, thermal or power-brake bits
-- COLUMN sm_clock_throttled_mhz [MHz]: mean SM clock in those samples
-- COLUMN sm_clock_free_mhz [MHz]: mean SM clock in the other busy samples
-- COLUMN processes: most processes with a context
-- COLUMN activity_source: what measured the activity
-- CAVEAT: A sampled peak can lie below the true one; a card that is shared shows all of its users.
SELECT
  node, gpu, gpu_uuid, coalesce(nullif(engine_n, 0), samples) AS samples, first_ts, last_ts, round(epoch(last_ts) - epoch(first_ts), 1) AS watched_s,
  engine_late_n AS late_samples,
  round(fb_used_max_bytes / 1073741824.0, 2) AS peak_gib, round(fb_total_bytes / 1073741824.0, 2) AS total_gib,
  round(fb_used_max_bytes / fb_total_bytes::DOUBLE, 3) AS peak_used, round(fb_used_last_bytes / 1073741824.0, 2) AS last_gib,
  round(engine_sum / nullif(engine_n, 0), 3) AS engine_mean, round(sm_sum / nullif(sm_n, 0), 3) AS sm_mean,
  round(sm_median, 3) AS sm_median, round(sm_max, 3) AS sm_max,
  round(engine_late_sum / nullif(engine_late_n, 0), 3) AS engine_late, round(sm_late_sum / nullif(sm_late_n, 0), 3) AS sm_late,
  round(idle_n / nullif(engine_n, 0), 3) AS idle_share, unused, round(power_sum_w / nullif(power_n, 0), 1) AS power_mean_w, temp_max_c,
  clock_median_mhz AS sm_clock_median_mhz, round(severe_n / nullif(throttle_n, 0), 3) AS severe_throttle_share,
  round(severe_clock_sum_mhz / nullif(severe_clock_n, 0)) AS sm_clock_throttled_mhz,
  round(free_clock_sum_mhz / nullif(free_clock_n, 0)) AS sm_clock_free_mhz, processes, activity_source
FROM gpu_totals($job_id, $nodes, $gpus, $from_ts, $to_ts)
ORDER BY node, gpu, gpu_uuid

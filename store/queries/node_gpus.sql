-- node_gpus: What the GPUs of a node, or of every node, measured last, and at most in a time: temperature, power, memory, activity.
-- TABLES: gpu_minute
-- PARAMS: node VARCHAR = NULL, since TIMESTAMP = NULL, until TIMESTAMP = NULL
-- PRUNE: node
-- COLUMN node: node
-- COLUMN gpu: index on its node
-- COLUMN gpu_uuid: UUID
-- COLUMN last_ts: last sample
-- COLUMN temp_last_c [C]: highest core temperature of the last minute that has one
-- COLUMN temp_max_c [C]: highest core temperature
-- COLUMN power_last_w [W]: mean power of the last minute that has it
-- COLUMN power_max_w [W]: highest power
-- COLUMN fb_last_bytes [B]: memory in use in the last sample
-- COLUMN fb_max_bytes [B]: most memory in use
-- COLUMN fb_total_bytes [B]: memory of the card
-- COLUMN engine_last [ratio]: mean engine activity of the last minute that has it
-- COLUMN engine_mean [ratio]: mean engine activity
-- CAVEAT: What was measured last may be old: last_ts says when.
SELECT
  node, gpu, gpu_uuid, max(last_ts) AS last_ts,
  arg_max(temp_max_c, ts) AS temp_last_c, max(temp_max_c) AS temp_max_c,
  round(arg_max(power_sum_w / nullif(power_n, 0), ts), 1) AS power_last_w, round(max(power_max_w), 1) AS power_max_w,
  arg_max(fb_used_last_bytes, ts) AS fb_last_bytes, max(fb_used_max_bytes) AS fb_max_bytes, max(fb_total_bytes) AS fb_total_bytes,
  round(arg_max(engine_sum / nullif(engine_n, 0), ts), 3) AS engine_last, round(sum(engine_sum) / nullif(sum(engine_n), 0), 3) AS engine_mean
FROM gpu_minute
WHERE ($node IS NULL OR node = $node) AND mig IS NULL
  AND ($since IS NULL OR ts >= date_trunc('minute', $since::TIMESTAMP)) AND ($until IS NULL OR ts <= $until::TIMESTAMP)
GROUP BY node, gpu, gpu_uuid
ORDER BY node, gpu, gpu_uuid

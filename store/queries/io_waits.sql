-- io_waits: Where a job's processes waited long for files, by rank and file system, and slow requests of its nodes' devices.
-- TABLES: io_wait
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL
-- EMPTY: VARCHAR, BIGINT, VARCHAR, VARCHAR, VARCHAR, BIGINT, DOUBLE, DOUBLE, TIMESTAMP, VARCHAR
-- PRUNE: job_id
-- COLUMN node: node
-- COLUMN rank: rank
-- COLUMN call: read, write, sync, open, stat; block: requests of a device
-- COLUMN mount: mount point of the file system
-- COLUMN fs_type: its type
-- COLUMN calls: calls that took longer than a tenth of a second
-- COLUMN total_s [s]: time in them
-- COLUMN max_s [s]: the longest
-- COLUMN max_ts: when the longest was told
-- COLUMN file: the file, or the device, of the longest
-- CAVEAT: A call that has not returned yet is not here; what the kernel wrote back for nobody in particular is not the job's.
SELECT
  node, rank, call, mount, fs_type, sum(count)::BIGINT AS calls, round(sum(total_s), 3) AS total_s,
  round(max(max_s), 3) AS max_s, arg_max(ts, (max_s, ts)) AS max_ts, arg_max(file, (max_s, ts)) AS file
FROM io_wait
WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
GROUP BY node, rank, call, mount, fs_type
ORDER BY total_s DESC, node, rank NULLS LAST, call, mount NULLS LAST, fs_type NULLS LAST

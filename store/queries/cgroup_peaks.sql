-- cgroup_peaks: Memory of the job's cgroups: peak, limit and OOM kills in the run.
-- TABLES: cgroup_sample
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL
-- EMPTY: VARCHAR, VARCHAR, VARCHAR, BIGINT, DOUBLE, DOUBLE, DOUBLE, DOUBLE, BIGINT, TIMESTAMP
-- PRUNE: job_id
-- COLUMN node: node
-- COLUMN step_id: Slurm step
-- COLUMN cgroup: path
-- COLUMN samples: samples
-- COLUMN peak_gib [GiB]: highest memory
-- COLUMN limit_gib [GiB]: memory.max
-- COLUMN used [ratio]: peak over limit
-- COLUMN shmem_gib [GiB]: highest shared memory
-- COLUMN oom_kills: OOM kills in the run
-- COLUMN last_ts: last sample
-- CAVEAT: A peak between two samples is seen only where the kernel keeps memory.peak.
SELECT
  node, step_id, cgroup, count(*) AS samples,
  round(greatest(max(memory_peak_bytes), max(memory_current_bytes)) / 1073741824.0, 2) AS peak_gib,
  round(max(memory_max_bytes) / 1073741824.0, 2) AS limit_gib,
  round(greatest(max(memory_peak_bytes), max(memory_current_bytes)) / max(memory_max_bytes)::DOUBLE, 3) AS used,
  round(max(shmem_bytes) / 1073741824.0, 2) AS shmem_gib,
  CASE WHEN count(*) = 1 THEN max(oom_kills) ELSE max(oom_kills) - min(oom_kills) END AS oom_kills, max(ts) AS last_ts
FROM cgroup_sample
WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
GROUP BY node, step_id, cgroup
ORDER BY oom_kills DESC NULLS LAST, used DESC NULLS LAST, node, step_id, cgroup

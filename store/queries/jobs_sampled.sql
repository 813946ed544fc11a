-- jobs_sampled: Jobs that the samples of GPUs name: an exporter that Slurm's prolog tells of the job labels what it measures with it.
-- TABLES: gpu_sample
-- PARAMS:
-- COLUMN job_id: job
-- COLUMN gpus: GPUs of which samples name it
-- COLUMN first_ts: time of the first of these samples
-- COLUMN last_ts: time of the last
-- CAVEAT: Every sample of the lake is looked through: for a folder with nothing else that names a job.
SELECT job_id, count(DISTINCT (node, gpu)) AS gpus, min(ts) AS first_ts, max(ts) AS last_ts
FROM gpu_sample
WHERE job_id IS NOT NULL
GROUP BY job_id
ORDER BY first_ts NULLS LAST, job_id

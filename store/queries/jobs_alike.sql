-- jobs_alike: Jobs of the same user with the name that a job has.
-- TABLES: slurm_job
-- PARAMS: job_id VARCHAR
-- EMPTY: VARCHAR
-- PRUNE: none
-- COLUMN job_id: job
SELECT DISTINCT o.job_id FROM slurm_job o JOIN slurm_job j ON j.job_id = $job_id AND o.name = j.name AND o."user" IS NOT DISTINCT FROM j."user"
ORDER BY o.job_id

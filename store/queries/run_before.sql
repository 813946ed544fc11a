-- run_before: The job that a job goes on from: the one that it depends on, or that of the same name, folder and user that ended last before it.
-- TABLES: slurm_job
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL
-- EMPTY: VARCHAR
-- PRUNE: none
-- WITH: parent_run
-- COLUMN job_id: job
SELECT id AS job_id FROM parent WHERE id IS NOT NULL

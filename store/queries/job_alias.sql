-- job_alias: The jobs that a number of Slurm's may mean: an array task by its own number, an array, a heterogeneous job.
-- TABLES: slurm_job
-- PARAMS: job_id VARCHAR
-- COLUMN meant: job id as Slurm shows it
-- COLUMN own: its own number is this one, and no array or heterogeneous job has it
-- CAVEAT: The number of an array is that of one of its tasks, too: then the array is meant.
SELECT job_id AS meant, bool_or(job_id_raw = $job_id AND coalesce(array_job_id, het_job_id, '') <> $job_id) AS own
FROM slurm_job
WHERE job_id <> $job_id AND (job_id_raw = $job_id OR array_job_id = $job_id OR het_job_id = $job_id)
GROUP BY job_id
ORDER BY own DESC, meant

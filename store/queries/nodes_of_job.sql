-- nodes_of_job: Nodes of a job, by accounting, of all of its attempts.
-- TABLES: slurm_job
-- PARAMS: job_id VARCHAR
-- EMPTY: VARCHAR
-- COLUMN node: node
SELECT DISTINCT trim(unnest(string_split(node_list, ','))) AS node FROM slurm_job WHERE job_id = $job_id ORDER BY node

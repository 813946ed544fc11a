-- names_known: What the store knows by a name: whose jobs, which node, partition or job, and how jobs are called; a row for each name.
-- TABLES: slurm_job, slurm_node_state, slurm_node_sample, gpu_device, gpu_event, source_health
-- PARAMS: names VARCHAR, user VARCHAR = NULL
-- PRUNE: none
-- COLUMN name: name that is asked for, one of the lines of `names`
-- COLUMN of_user: jobs of a user of that name
-- COLUMN on_node: jobs that ran on a node of that name
-- COLUMN in_partition: jobs of a partition of that name
-- COLUMN called: jobs whose name is that, or begins with it
-- COLUMN ids: jobs of that id, by accounting or by what looked at them
-- COLUMN looks: states, inventories, events and looks of sources at a node of that name
-- CAVEAT: A name of which nothing was taken in is not known; that says nothing of the cluster. With a user only that user's jobs are counted.
WITH n AS (SELECT row_number() OVER () AS place, name FROM (SELECT unnest(string_split($names, chr(10))) AS name)),
j AS (
  SELECT job_id, array_job_id, lower(name) AS called, lower("user") AS whose, lower(partition) AS partition, string_split(lower(coalesce(node_list, '')), ',') AS nodes
  FROM slurm_job WHERE $user IS NULL OR "user" = $user
), s AS (
  SELECT lower(node) AS node FROM slurm_node_state
  UNION ALL SELECT lower(node) FROM slurm_node_sample
  UNION ALL SELECT lower(node) FROM gpu_device
  UNION ALL SELECT lower(node) FROM gpu_event
  UNION ALL SELECT lower(node) FROM source_health
)
SELECT
  n.name,
  (SELECT count(DISTINCT job_id) FROM j WHERE whose = lower(n.name)) AS of_user,
  (SELECT count(DISTINCT job_id) FROM j WHERE list_contains(nodes, lower(n.name))) AS on_node,
  (SELECT count(DISTINCT job_id) FROM j WHERE partition = lower(n.name)) AS in_partition,
  (SELECT count(DISTINCT job_id) FROM j WHERE called = lower(n.name) OR (length(n.name) > 2 AND starts_with(called, lower(n.name)))) AS called,
  (SELECT count(DISTINCT job_id) FROM (SELECT job_id, array_job_id FROM j UNION ALL SELECT job_id, NULL FROM source_health WHERE $user IS NULL)
    WHERE job_id = n.name OR array_job_id = n.name) AS ids,
  (SELECT count(*) FROM s WHERE node = lower(n.name)) AS looks
FROM n
ORDER BY n.place

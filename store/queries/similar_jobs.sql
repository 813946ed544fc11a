-- similar_jobs: Other runs of the same thing: earlier and later jobs of the same user with the same name, and this job's attempts.
-- TABLES: slurm_job, verdict, train_step
-- PARAMS: job_id VARCHAR
-- PRUNE: verdict(job_id), train_step(job_id)
-- FIRST: jobs_alike
-- COLUMN job_id: job id
-- COLUMN attempt: 1 for the first run
-- COLUMN same_job: another attempt of this job
-- COLUMN state: base state
-- COLUMN start_ts: started
-- COLUMN elapsed_s [s]: time running
-- COLUMN node_count: allocated nodes
-- COLUMN gpus: allocated GPUs
-- COLUMN shared_nodes: nodes that this job's last attempt had too
-- COLUMN node_list: allocated nodes
-- COLUMN last_step: last training step that was printed
-- COLUMN last_loss: loss at the last printed step
-- COLUMN step_time_s [s]: median time per step, where it was printed
-- COLUMN family: family of the stored verdict
-- COLUMN submit_line: command that submitted the job
-- CAVEAT: The same name does not prove the same program; compare the submit lines.
WITH j AS (SELECT * FROM slurm_job),
me AS (SELECT * FROM j WHERE job_id = $job_id ORDER BY coalesce(attempt, 0) DESC LIMIT 1),
v AS (SELECT job_id, coalesce(attempt, 0) AS attempt, arg_max(family, ts) AS family FROM verdict GROUP BY ALL),
t AS (
  SELECT job_id, coalesce(attempt, 0) AS attempt, max(step) AS last_step, last(loss ORDER BY epoch NULLS FIRST, step NULLS FIRST, file, line_no, ts, loss) AS last_loss,
    round(median(step_time_s), 4) AS step_time_s
  FROM train_step WHERE split IS DISTINCT FROM 'eval' GROUP BY ALL
)
SELECT
  j.job_id, j.attempt, j.job_id = $job_id AS same_job, j.state, j.start_ts, j.elapsed_s, j.node_count, j.gpus,
  len(list_intersect(string_split(coalesce(j.node_list, ''), ','), string_split(coalesce(me.node_list, '-'), ','))) AS shared_nodes,
  left(j.node_list, 200) AS node_list, coalesce(t.last_step, u.last_step) AS last_step,
  round(coalesce(t.last_loss, u.last_loss), 6) AS last_loss, coalesce(t.step_time_s, u.step_time_s) AS step_time_s,
  coalesce(v.family, w.family) AS family, left(j.submit_line, 200) AS submit_line
FROM j JOIN me ON j.job_id = me.job_id OR (j.name = me.name AND j."user" IS NOT DISTINCT FROM me."user")
LEFT JOIN v ON v.job_id = j.job_id AND v.attempt = coalesce(j.attempt, 0)
LEFT JOIN v AS w ON w.job_id = j.job_id AND w.attempt = 0
LEFT JOIN t ON t.job_id = j.job_id AND t.attempt = coalesce(j.attempt, 0)
LEFT JOIN t AS u ON u.job_id = j.job_id AND u.attempt = 0
ORDER BY same_job DESC, coalesce(j.start_ts, j.submit_ts) DESC NULLS LAST, j.job_id, j.attempt DESC

-- captured_lines: The lines of a job's output that the probes caught, by process and stream.
-- TABLES: captured_line
-- PARAMS: job_id VARCHAR
-- PRUNE: job_id
-- COLUMN file: node, process and stream
-- COLUMN line_no: line of it, from 1
-- COLUMN ts: when it was written
-- COLUMN cluster: cluster
-- COLUMN node: node
-- COLUMN attempt: attempt
-- COLUMN step_id: Slurm step
-- COLUMN rank: rank
-- COLUMN local_rank: rank on its node
-- COLUMN stream: out or err
-- COLUMN text: the line
-- CAVEAT: Beyond 128 KB a second and process lines are left out.
SELECT file, line_no, ts, cluster, node, attempt, step_id, rank, local_rank, stream, text
FROM captured_line WHERE job_id = $job_id ORDER BY file, ts, line_no, text

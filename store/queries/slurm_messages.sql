-- slurm_messages: What slurmstepd, srun, sbatch, another batch system and container runtimes wrote into the job's logs.
-- TABLES: log_event
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL
-- NEEDS: log_event.kind = slurm | launcher_event
-- EMPTY: VARCHAR, TIMESTAMP, VARCHAR, VARCHAR, BIGINT, BIGINT, VARCHAR, VARCHAR, BIGINT, VARCHAR, VARCHAR, VARCHAR, VARCHAR
-- PRUNE: job_id
-- COLUMN name: short name of the message
-- COLUMN message_ts: when
-- COLUMN host: host that is named
-- COLUMN step_id: step
-- COLUMN exit_code: exit status that is named
-- COLUMN signal: signal that is named
-- COLUMN severity: severity
-- COLUMN file: file
-- COLUMN line_no: line
-- COLUMN message: text
-- COLUMN kind: slurm, or launcher_event for a container runtime and for a launcher that cannot start its processes on a host
-- COLUMN or_later: name of the time, where it is that of an earlier line: it came then or later
-- COLUMN system: who says it, where that is not Slurm: lsf, pbs, sge, htcondor, flux; platform for pods and rented machines
-- CAVEAT: A message may be cut by a line's end; a task's number is srun's and not a training rank.
SELECT
  name, coalesce(happened_ts, CASE WHEN ts_kind IS DISTINCT FROM 'file' THEN ts END) AS message_ts, coalesce(host, node) AS host, step_id, exit_code, signal, severity, file,
  line_no, left(message, 400) AS message, kind, CASE WHEN happened_ts IS NULL AND ts_kind = 'carried' THEN 'message_ts' END AS or_later,
  CASE WHEN framework IN ('lsf', 'pbs', 'sge', 'htcondor', 'flux', 'platform') THEN framework END AS system
FROM log_event
WHERE (kind = 'slurm' OR kind = 'launcher_event' AND name IN ('container_failed', 'remote_start_failed')) AND job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
ORDER BY message_ts NULLS LAST, file, line_no

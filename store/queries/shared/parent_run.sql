-- parent_run: The attempt of the job that is asked about, and the job that it goes on from: the one that it depends on, or that of the
-- same name, folder and user that ended last before it.
j AS (
  SELECT job_id, name, "user", work_dir, submit_line, command, comment, dependency, start_ts, restarts FROM slurm_job
  WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
  ORDER BY attempt DESC NULLS LAST, end_ts DESC NULLS FIRST LIMIT 1
),
dep AS (
  SELECT coalesce(nullif(dependency, ''), regexp_extract(submit_line, '(?:--dependency[= ]|-d ?)((?:after\w*|singleton)[:\d,?+_a-z]*)', 1)) AS dependency
  FROM j
),
named AS (SELECT nullif(regexp_extract(dependency, 'after(?:any|ok|notok|corr|burstbuffer)?:(\d+(?:_\d+)?)', 1), '') AS id FROM dep),
before AS (
  SELECT p.job_id AS id FROM slurm_job p, j
  WHERE p.job_id <> j.job_id AND p.name = j.name AND p.work_dir = j.work_dir AND p.user IS NOT DISTINCT FROM j.user
    AND p.end_ts <= j.start_ts AND p.end_ts >= j.start_ts - INTERVAL 14 DAY
  ORDER BY p.end_ts DESC, p.job_id DESC LIMIT 1
),
parent AS (SELECT coalesce((SELECT id FROM named), (SELECT id FROM before)) AS id)

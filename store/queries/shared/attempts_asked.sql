-- attempts_asked: Attempts of jobs by owner, name, state, node, time or verdict, each with its stored verdict as `v` and, as `blamed`, those
-- of its nodes at which that verdict sees a fault of the infrastructure: the ones that its headline names, or the only one.
v AS (
  SELECT job_id, coalesce(attempt, 0) AS attempt, max_by(struct_pack(family, attribution, confidence, gpu_hours_wasted, headline), ts) AS v
  FROM verdict GROUP BY job_id, coalesce(attempt, 0)
), k AS (
  SELECT j.*, coalesce(v.v, w.v) AS v
  FROM slurm_job j
  LEFT JOIN v ON v.job_id = j.job_id AND v.attempt = coalesce(j.attempt, 0)
  LEFT JOIN v AS w ON w.job_id = j.job_id AND w.attempt = 0
  WHERE ($job IS NULL OR j.job_id = $job OR j.array_job_id = $job OR j.het_job_id = $job)
    AND ($user IS NULL OR j."user" = $user)
    AND ($name IS NULL OR regexp_matches(without_secrets(coalesce(j.name, '')), $name, 'i'))
    AND ($state IS NULL OR upper(j.state) = upper($state))
    AND ($partition IS NULL OR j.partition = $partition)
    AND ($node IS NULL OR list_contains(string_split(coalesce(j.node_list, ''), ','), $node))
    AND ($family IS NULL OR coalesce(v.v, w.v).family = upper($family))
    AND ($since IS NULL OR coalesce(j.end_ts, j.start_ts, j.submit_ts, j.ts) >= $since::TIMESTAMP)
    AND ($until IS NULL OR coalesce(j.start_ts, j.submit_ts, j.ts) <= $until::TIMESTAMP)
), j AS (
  SELECT *, CASE WHEN v.attribution = 'infrastructure' THEN list_filter(string_split(node_list, ','),
    lambda n: node_count = 1 OR list_contains(regexp_extract_all(v.headline, '[\w.-]*\w'), n)) END AS blamed
  FROM k
)

-- verdict_given: The verdicts that were given on a job and stored, the newest attempt first.
-- TABLES: verdict
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL
-- PRUNE: job_id
-- COLUMN cluster: cluster
-- COLUMN job_id: job id as Slurm shows it
-- COLUMN attempt: attempt that the verdict is about
-- COLUMN ts: end of that attempt
-- COLUMN family: code of the family
-- COLUMN mode: sub-mode
-- COLUMN confidence [ratio]: calibrated probability that the family is right
-- COLUMN attribution: who is to act
-- COLUMN headline: one sentence
-- COLUMN gpu_hours_held [h]: GPU time held
-- COLUMN gpu_hours_wasted [h]: GPU time wasted
-- COLUMN model: who reasoned
-- COLUMN sha256: digest of the sealed document
-- COLUMN document: the sealed document
-- CAVEAT: Only verdicts that the watcher stored are here; `inquest why` stores none.
SELECT cluster, job_id, attempt, ts, family, mode, confidence, attribution, headline, gpu_hours_held, gpu_hours_wasted,
  model, sha256, document
FROM verdict
WHERE job_id = $job_id AND ($attempt IS NULL OR attempt = $attempt)
ORDER BY attempt DESC, ts DESC, sha256

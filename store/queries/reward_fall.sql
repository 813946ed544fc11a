-- reward_fall: Where the mean reward of a policy's training ended far below what it had reached, against its best level.
-- TABLES: train_step
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL
-- PRUNE: job_id
-- COLUMN reports: reports with a mean reward
-- COLUMN start_reward: median of the first tenth of them
-- COLUMN best_reward: highest running median of nine
-- COLUMN best_step: step at which it stood
-- COLUMN end_reward: median of the last tenth
-- COLUMN low_reports: reports at the end, without a break, below a fifth of the best level
-- COLUMN start_kl: median divergence from the reference model in the first tenth
-- COLUMN end_kl: median of it in the last tenth
-- COLUMN first_line: line of the first of the low reports
-- COLUMN file: file
-- CAVEAT: A reward that is scaled or counted otherwise during the run, or a task that becomes harder, falls as well. No row where the best level is not above zero or fewer than thirty reports give a reward.
WITH m AS (
  SELECT *, TRY_CAST(metrics AS JSON) AS j FROM train_step
  WHERE split IS DISTINCT FROM 'eval' AND regexp_matches(metrics, '"(reward|mean_reward|episode_reward|critic/(rewards|score)/mean)"')
    AND job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
),
seat AS (SELECT file, rank FROM m GROUP BY file, rank ORDER BY count(*) DESC, file, rank NULLS FIRST LIMIT 1),
t AS (
  SELECT m.file, line_no, step, row_number() OVER (ORDER BY line_no, in_line NULLS FIRST) AS i,
    TRY_CAST(coalesce(j->>'$.reward', j->>'$."critic/rewards/mean"', j->>'$."critic/score/mean"', j->>'$.mean_reward', j->>'$.episode_reward') AS DOUBLE) AS reward,
    TRY_CAST(coalesce(j->>'$.kl', j->>'$."objective/kl"', j->>'$."actor/ppo_kl"') AS DOUBLE) AS kl
  FROM m JOIN seat ON m.file IS NOT DISTINCT FROM seat.file AND m.rank IS NOT DISTINCT FROM seat.rank
),
s AS (
  SELECT *, count(*) OVER () AS n, median(reward) OVER (ORDER BY i ROWS BETWEEN 4 PRECEDING AND 4 FOLLOWING) AS level
  FROM t WHERE isfinite(reward)
),
b AS (SELECT max(level) AS best, arg_max(step, level) AS best_step FROM s),
l AS (SELECT coalesce(max(i) FILTER (WHERE reward >= 0.2 * best), 0) AS last_high FROM s, b)
SELECT
  count(*) AS reports, median(reward) FILTER (WHERE i <= greatest(3, n // 10)) AS start_reward, any_value(best) AS best_reward,
  any_value(best_step) AS best_step, median(reward) FILTER (WHERE i > n - greatest(3, n // 10)) AS end_reward,
  count(*) FILTER (WHERE i > last_high) AS low_reports,
  median(kl) FILTER (WHERE i <= greatest(3, n // 10)) AS start_kl, median(kl) FILTER (WHERE i > n - greatest(3, n // 10)) AS end_kl,
  min(line_no) FILTER (WHERE i > last_high) AS first_line, any_value(file) AS file
FROM s, b, l
HAVING count(*) >= 30 AND any_value(best) > 0

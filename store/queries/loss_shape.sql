-- loss_shape: The figures of the training loss: where it began, its best, its end, and what was not finite.
-- TABLES: train_step, log_line
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL
-- WITH: losses_kept
-- NEEDS: train_step
-- EMPTY: VARCHAR, VARCHAR, VARCHAR, VARCHAR, BIGINT, BIGINT, BIGINT, BIGINT, BIGINT, BIGINT, BIGINT, TIMESTAMP, BIGINT, VARCHAR, BIGINT, DOUBLE, BIGINT, BIGINT, BIGINT, DOUBLE, DOUBLE, DOUBLE, DOUBLE, DOUBLE, BIGINT, DOUBLE, BIGINT, DOUBLE, DOUBLE, DOUBLE, DOUBLE, BIGINT, DOUBLE, DOUBLE, DOUBLE, DOUBLE, DOUBLE, DOUBLE, DOUBLE, VARCHAR, BIGINT, BIGINT, VARCHAR
-- PRUNE: job_id
-- COLUMN split: train, or eval where only evaluation losses were printed
-- COLUMN framework: framework whose lines these are
-- COLUMN loss_name: name under which the loss was printed
-- COLUMN objective: sft, pretrain, dpo, grpo, ... where it shows
-- COLUMN points: reports
-- COLUMN finite_points: reports with a finite loss
-- COLUMN bad_points: reports whose loss is not finite, or zero or absent beside a gradient norm that is not finite
-- COLUMN trailing_bad: such reports at the very end, one after the other
-- COLUMN first_bad_step: step of the first one
-- COLUMN first_bad_line: its line
-- COLUMN end_bad_step: step at which the unbroken run of them to the end begins
-- COLUMN end_bad_ts: time of that report
-- COLUMN end_bad_line: its line
-- COLUMN end_bad_text: the line that was printed there
-- COLUMN last_good_step: last step whose report was finite
-- COLUMN last_good_loss: its loss
-- COLUMN stretches: how often the steps begin anew
-- COLUMN first_step: first step
-- COLUMN last_step: last step
-- COLUMN first_loss: first finite loss
-- COLUMN last_loss: last finite loss
-- COLUMN start_loss: median of the first tenth (three reports at least)
-- COLUMN end_loss: median of the last tenth (three reports at least)
-- COLUMN best_loss: lowest running median of five
-- COLUMN best_step: step at which it stood
-- COLUMN highest_loss: highest loss
-- COLUMN highest_step: step at which it stood
-- COLUMN fallen: start_loss minus end_loss
-- COLUMN fallen_share [ratio]: fallen over start_loss
-- COLUMN given_back: end_loss minus best_loss
-- COLUMN end_over_start [ratio]: end_loss over start_loss
-- COLUMN values_seen: different losses printed
-- COLUMN start_grad_norm: median gradient norm of the first tenth
-- COLUMN end_grad_norm: median gradient norm of the last tenth
-- COLUMN highest_grad_norm: highest gradient norm
-- COLUMN highest_rate: highest learning rate
-- COLUMN last_rate: last learning rate
-- COLUMN bad_min [min]: time from the first report that was not finite to the last report, by those that say theirs
-- COLUMN span_min [min]: time from the first report to the last, of those that say theirs
-- COLUMN file: file
-- COLUMN first_line: line of the first report
-- COLUMN last_line: line of the last report
-- COLUMN or_later: name of the time, where it is that of an earlier line: it came then or later
-- CAVEAT: Evaluation losses are read only where no training loss was printed. Where the steps go back (a restart inside one log), only the last stretch that holds eight reports or more is read.
WITH ordered AS (
  SELECT *, row_number() OVER (ORDER BY place) AS seq, count(*) OVER () AS n,
    CASE WHEN coalesce(ts_kind, '') NOT IN ('carried', 'file') THEN ts END AS said_ts,
    median(CASE WHEN NOT bad THEN loss END) OVER (ORDER BY place ROWS BETWEEN 2 PRECEDING AND 2 FOLLOWING) AS smooth
  FROM losses_kept WHERE kept
),
tail AS (SELECT coalesce(max(seq) FILTER (WHERE NOT bad), 0) AS good_until FROM ordered),
finite AS (
  SELECT *, row_number() OVER (ORDER BY seq) AS i, count(*) OVER () AS m FROM ordered WHERE NOT bad AND loss IS NOT NULL
),
f AS (
  SELECT
    count(*) AS finite_points, arg_min(loss, i) AS first_loss, arg_max(loss, i) AS last_loss,
    median(loss) FILTER (WHERE i <= greatest(3, m // 10)) AS start_loss,
    median(loss) FILTER (WHERE i > m - greatest(3, m // 10)) AS end_loss,
    min(smooth) AS best_loss, arg_min(step, smooth) AS best_step, max(loss) AS highest_loss,
    arg_max(step, loss) AS highest_step, count(DISTINCT loss) AS values_seen, arg_max(step, i) AS last_good_step,
    median(grad_norm) FILTER (WHERE i <= greatest(3, m // 10) AND isfinite(grad_norm)) AS start_grad_norm,
    median(grad_norm) FILTER (WHERE i > m - greatest(3, m // 10) AND isfinite(grad_norm)) AS end_grad_norm,
    max(grad_norm) FILTER (WHERE isfinite(grad_norm)) AS highest_grad_norm
  FROM finite
),
a AS (
  SELECT
    coalesce(mode(split), 'train') AS split, mode(framework) AS framework, mode(loss_name) AS loss_name, mode(objective) AS objective, count(*) AS points,
    count(*) FILTER (WHERE bad) AS bad_points, count(*) FILTER (WHERE seq > tail.good_until) AS trailing_bad,
    arg_min(step, seq) FILTER (WHERE bad) AS first_bad_step, arg_min(line_no, seq) FILTER (WHERE bad) AS first_bad_line,
    arg_min(step, seq) FILTER (WHERE seq > tail.good_until) AS end_bad_step,
    first(CASE WHEN ts_kind IS DISTINCT FROM 'file' THEN ts END ORDER BY seq) FILTER (WHERE seq > tail.good_until) AS end_bad_ts,
    CASE WHEN arg_min(coalesce(ts_kind, '') = 'carried', seq) FILTER (WHERE seq > tail.good_until) THEN 'end_bad_ts' END AS or_later,
    arg_min(line_no, seq) FILTER (WHERE seq > tail.good_until) AS end_bad_line, arg_min(step, seq) AS first_step,
    arg_max(step, seq) AS last_step, max(learning_rate) AS highest_rate, arg_max(learning_rate, seq) AS last_rate,
    round(date_diff('second', arg_min(said_ts, seq) FILTER (WHERE bad), max(said_ts)) / 60.0, 1) AS bad_min,
    round(date_diff('second', min(said_ts), max(said_ts)) / 60.0, 1) AS span_min, arg_max(file, seq) AS file,
    min(line_no) AS first_line, max(line_no) AS last_line
  FROM ordered, tail
),
s AS (SELECT count(DISTINCT stretch) AS stretches FROM losses_kept),
x AS (
  SELECT min(left(l.text, 300)) AS end_bad_text FROM a LEFT JOIN log_line l
    ON l.file = a.file AND l.line_no = a.end_bad_line AND l.job_id = $job_id
    AND ($attempt IS NULL OR l.attempt IS NULL OR l.attempt = $attempt)
)
SELECT
  a.split, a.framework, a.loss_name, a.objective, a.points, f.finite_points, a.bad_points, a.trailing_bad, a.first_bad_step,
  a.first_bad_line, a.end_bad_step, a.end_bad_ts, a.end_bad_line, x.end_bad_text, f.last_good_step, f.last_loss AS last_good_loss, s.stretches, a.first_step,
  a.last_step, f.first_loss, f.last_loss, f.start_loss, f.end_loss, f.best_loss, f.best_step, f.highest_loss,
  f.highest_step, round(f.start_loss - f.end_loss, 4) AS fallen,
  CASE WHEN f.start_loss > 0 THEN round((f.start_loss - f.end_loss) / f.start_loss, 3) END AS fallen_share,
  round(f.end_loss - f.best_loss, 4) AS given_back,
  CASE WHEN f.start_loss > 0 THEN round(f.end_loss / f.start_loss, 3) END AS end_over_start, f.values_seen,
  f.start_grad_norm, f.end_grad_norm, f.highest_grad_norm, a.highest_rate, a.last_rate, a.bad_min, a.span_min, a.file,
  a.first_line, a.last_line, a.or_later
FROM a, f, s, x
WHERE a.points > 0

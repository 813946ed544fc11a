-- progress_hints: Lines that look like progress of a loop that no parser knows: a step or epoch with a loss.
-- TABLES: log_line
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL
-- EMPTY: BIGINT, BIGINT, BIGINT, VARCHAR, VARCHAR, BIGINT, BIGINT, BIGINT, VARCHAR, BIGINT, BIGINT, BIGINT, BIGINT, BIGINT, BIGINT
-- NEEDS: log_line.text ~ (?i)loss|\btrial|\[CV\b|epoch|iter|step|batch|update|%\||\bits?\b\W*[0-9]|[0-9]\s*/\s*[0-9]|\[\s*[0-9]+\]
-- PRUNE: job_id
-- COLUMN lines: how many
-- COLUMN first_line: first line
-- COLUMN last_line: last line
-- COLUMN first_text: text of the first one
-- COLUMN last_text: text of the last one
-- COLUMN passes: those of them that begin with the loss of a whole training pass, say that an epoch or a trial is over or that a step
-- was reached, or head the epoch after one that has a heading of its own
-- COLUMN counted: those of them that count a step or an epoch, from one on, and give the whole loss of training behind it
-- COLUMN furthest: the highest count of steps, iterations or batches on such a line
-- COLUMN bar_text: last progress bar that moved
-- COLUMN bar_line: its line
-- COLUMN bar_step: steps done, as the bar shows
-- COLUMN bar_total: steps planned, as the bar shows
-- COLUMN bar_epochs: such bars that say themselves that they count the batches of one epoch
-- COLUMN bar_zeros: bars that stand at their beginning
-- COLUMN bar_fulls: bars that reached their end, each with a time of its own
-- CAVEAT: Text that merely looks like progress: it says that a loop ran, nothing about its figures. A counter in brackets
-- before three or more named decimals (a GAN's losses) counts as one.
WITH l AS (
  SELECT file, line_no, text FROM (
    SELECT *, row_number() OVER (PARTITION BY file ORDER BY line_no DESC) AS back FROM log_line
    WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
  ) WHERE back <= 5000
),
f AS MATERIALIZED (
  SELECT *,
    -- a score beside a count that is past the beginning: epoch 2 and later, at least ten of so many, a validation after the training
    length(text) < 600
      AND regexp_matches(text, '(?i)(^|[^a-z])(loss|acc|accuracy|psnr|ssim|m?iou|dice|auc|f1|error|err|reward|return|ppl|perplexity|map|bleu|wer|cer|nll|elbo|mse|mae|rmse|top-?1|total)(/[a-z0-9_]+|@[0-9.]+|_[a-z0-9_]+)?(\s*[:= ]\s*|\]\s*[:=]\s*\[)-?[0-9]+\.[0-9]')
      AND regexp_matches(text, '(?i)\bepoch[^a-z0-9]*0*([2-9]|[1-9][0-9]+)\b|(^|[\s\[(,])0*([1-9][0-9]+)\s*/\s*[0-9]{2,}|\bepoch\b.*train\C{0,20}loss.*val\C{0,20}loss')
      AND NOT regexp_matches(text, '(?i)^\W*(test|eval|valid|val|sanity|predict|infer)|namespace\(|=(true|false|none)\b|examples/s|[kmg]i?b/s|\b(re)?load(ed|ing)?\b\C{0,60}(checkpoint|ckpt|model|weights|epoch)|\b(resum|restor)(ed|ing)\b') AS far,
    -- the whole loss, in decimals, behind a figure or a mark, and no other's; a checkpoint that is told of with the loss it was saved at has none
    length(text) < 600
      AND regexp_matches(text, '(?i)(^|[^a-z_/-])(epoch|iter|iteration|step|batch|update|it)s?\b[^a-z0-9]*0*[1-9][0-9]*\b.*([0-9.,:;|)\]-])\s{0,4}(?:(train(ing)?|total|mean|average|avg|running|batch|epoch)[ _])?loss\s{0,2}[:= ]\s{0,2}-?([0-9]+\.[0-9]|[0-9](\.[0-9]*)?e[+-]?[0-9])')
      AND NOT regexp_matches(text, '(?i)\b(test|eval|valid|val|dev|sanity|predict|infer|load|resum|restor|sav|checkpoint|ckpt|best|lowest|min|target|expect|initial|warm|error|fail|skip)|namespace\(|=(true|false|none)\b') AS counted,
    -- the program's own word that an epoch is over
    length(text) < 600
      AND regexp_matches(text, '(?i)\b(finish(ed|ing)?|complet(ed|ing)|ended|end of|done with)( training)?( of| for)? epoch[^a-z0-9]*[0-9]+\b|\bepoch[^a-z0-9]*[0-9]+( of [0-9]+)? (is |was )?(finished|completed|complete|done|ended|over)\b')
      -- and no plan of what is done then
      AND NOT regexp_matches(text, '(?i)\b(test|eval|valid|val|dev|load|resum|restor|skip|warm|will|sav|every|until|before|after|when)|\b(at|by) (the )?(end|complet|finish)') AS over,
    -- or that a trial of a search over settings is: each trains at least once (Optuna, Keras Tuner, scikit-learn)
    regexp_matches(text, '\bTrial [0-9]+ (finished with value|pruned|Complete \[)|^\[CV( [0-9]+/[0-9]+)?\] END ') AS tried,
    -- or that a step was reached
    length(text) < 200 AND regexp_matches(text, '(?i)^[^a-z]*((info|debug)\b[^a-z]*)?(we )?(have )?reached (the )?(global[_ -]?|train(ing)?[_ -]?|optimizer )?(step|iteration|update|batch)[^a-z0-9]*[1-9][0-9]*\b') AS reached,
    -- nothing but an epoch and how many there are to be: of the next one, this is the end of the one before
    CASE WHEN length(text) < 120 THEN TRY_CAST(nullif(regexp_extract(text, '(?i)^[^a-z0-9]*(?:[0-9][0-9:., tz-]{7,}\s)?[^a-z0-9]*(?:(?:info|debug)\b)?[^a-z0-9]*epoch[^a-z0-9]*([0-9]+)(?:[\s/]*(?:of)?[\s/]*[0-9]+)?[^a-z0-9]*$', 1), '') AS BIGINT) END AS of_epoch,
    -- the loss has a line of its own, below a heading for its epoch
    regexp_matches(text, '(?i)^\s*((total|mean|average|avg|running|batch|epoch)[ _])?loss\s*[:=]\s*-?[0-9]+\.[0-9]+') AS bare,
    regexp_matches(text, '(?i)^\W*epoch[^a-z0-9]*[0-9]+\b') AS heading
  FROM l
),
epochs AS (SELECT file, of_epoch, min(line_no) AS line FROM f WHERE of_epoch IS NOT NULL GROUP BY file, of_epoch),
heads AS (SELECT file, min(line_no) AS line FROM f WHERE heading GROUP BY file),
h AS (
  SELECT f.* FROM f LEFT JOIN epochs ON epochs.file = f.file AND epochs.of_epoch = f.of_epoch - 1
    LEFT JOIN heads ON heads.file = f.file
  WHERE (far OR counted OR over OR tried OR reached OR epochs.line < f.line_no - 1 OR (bare AND heads.line < f.line_no)
    -- an epoch with the time that it took has been done
    OR regexp_matches(text, '(?i)^\W*epoch[^a-z0-9]*[0-9]+\b\C{0,40}\b(time|took|elapsed|duration|time usage)\b\C{0,12}[0-9]')
    OR regexp_matches(text, '^\s*\[\s*[0-9]{1,9}(\s*/\s*[0-9]+)?\]\s+([A-Za-z][\w /-]*[:=]\s*-?[0-9]+\.[0-9]+[;,|\s]+){3}')
    OR regexp_matches(text, '(?i)(^\s*([0-9][0-9:., TZ-]{7,}\s)?|\bINFO\b[\]:|\s-]{1,6})(train(ing)?|val(id(ation)?)?)( metrics:)?[ _]{1,3}loss\s*[:=]\s*-?[0-9]+\.[0-9]+')
    OR regexp_matches(text, '(?i)\b(iter(ation)?|step|epoch|batch|update|it)s?\b[^a-z0-9]*\[?\s*[0-9]+')
    AND regexp_matches(text, '(?i)(loss(es)?|ppl|perplexity|reward)[^a-z0-9]*\s*(:|=|is|\s)\s*[\[(]?\s*-?([0-9]|nan|inf)'))
    AND NOT regexp_matches(text, '^\s*(File|Traceback|raise )|(?i)^[^a-z]*((info|rank)\b[^a-z]*)?(resum|restor|load)(e|ed|ing)\b\C{0,40}\b(checkpoint|ckpt|states?)\b\C{0,20}/')
),
b AS (
  -- of bars that a copy of the log left on one line, without the carriage returns between them, the last one
  SELECT file, line_no, text, regexp_extract(text, '.*\|\s*([0-9]+)(?:\.0+)?/([0-9]+)(?:\.0+)?\s*\[', ['done', 'total']) AS bar FROM l
  WHERE regexp_matches(text, '%\|.*\|\s*[0-9]+(\.0+)?/[0-9]+(\.0+)?\s*\[')
    AND NOT regexp_matches(text, '(?i)loading|download|examples/s|dropping|map|shard|fetching|tokeniz|generating|process|filter|resolving|capturing|compil|sanity|valid|eval|predict|packing|convert|extract|saving|grouping|files?\b')
    -- what the bar's own words say before it: a dataset's split that is prepared or cached is no training either
    AND NOT regexp_matches(split_part(text, '%|', 1), '(?i)dataset|preload|cach(e|ing)|\bread(ing)?\b|(-|_|\b)(test|dev)\b')
    -- nor are weights that are quantised or laid out, and tables that are computed before the loop
    AND NOT regexp_matches(split_part(text, '%|', 1), '(?i)quanti[sz]|calibrat|\binit(ial|iali[sz]\w*)?\b|\bprepar|\bbuild|\bindex|\bencod|\bcomput|\bcalculat|\bcopy|\bcheck(ing)?\b|\bverif|\bcount|\bscan|\bcollat|\bsplit')
),
m AS MATERIALIZED (
  SELECT *, TRY_CAST(bar.done AS BIGINT) AS done, TRY_CAST(bar.total AS BIGINT) AS total,
    regexp_extract(text, '.*\[\s*([0-9:]+)\s*<', 1) AS took,
    regexp_matches(split_part(text, '%|', 1), '(?i)epoch|\bep\b|^\s*[0-9]+\s*/\s*[0-9]+\s') AS of_epoch
  FROM b WHERE TRY_CAST(bar.done AS BIGINT) > 0
    -- one of one is a check or an evaluation of a single batch
    AND TRY_CAST(bar.total AS BIGINT) > 1
    -- nor is what was done whole within its first second: a plan or a set-up
    AND NOT (bar.done = bar.total AND regexp_extract(text, '.*\[\s*([0-9:]+)\s*<', 1) = '00:00')
)
SELECT
  count(*) AS lines, min(line_no) AS first_line, max(line_no) AS last_line,
  left(arg_min(text, line_no), 200) AS first_text, left(arg_max(text, line_no), 200) AS last_text,
  count(*) FILTER (far OR over OR tried OR reached OR of_epoch IS NOT NULL OR regexp_matches(text, '(?i)(^\s*|\bINFO\b[\]:|\s-]{1,6})train(ing)?( metrics:)?[ _]loss\s*[:=]')) AS passes,
  count(*) FILTER (counted) AS counted,
  max(TRY_CAST(regexp_extract(text, '(?i)\b(?:iter(?:ation)?|step|batch|update)s?\b[^a-z0-9]*([0-9]{1,12})', 1) AS BIGINT)) AS furthest,
  (SELECT left(arg_max(text, line_no), 200) FROM m) AS bar_text, (SELECT max(line_no) FROM m) AS bar_line,
  (SELECT max(done) FROM m) AS bar_step, (SELECT max(total) FROM m) AS bar_total,
  (SELECT count(*) FROM m WHERE of_epoch) AS bar_epochs,
  (SELECT count(*) FROM b WHERE TRY_CAST(bar.done AS BIGINT) = 0 AND TRY_CAST(bar.total AS BIGINT) > 1) AS bar_zeros, (SELECT count(DISTINCT took) FROM m WHERE done = total) AS bar_fulls
FROM h
HAVING count(*) > 0 OR (SELECT count(*) FROM b) > 0

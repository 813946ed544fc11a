-- end_words: What the last two hundred lines of the job's logs say in plain words: a full progress bar, completion, saving, NaN.
-- TABLES: log_line
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL
-- PRUNE: job_id
-- COLUMN bars: progress bars that stand at their end and are none of loading, evaluation or a single epoch
-- COLUMN bar_text: the last one
-- COLUMN bar_line: its line
-- COLUMN bar_total: what it counts to
-- COLUMN parts: full bars of the same length before the last line that begins an epoch: each of them was one epoch's
-- COLUMN dones: lines that say that training is complete, the model is saved, or in a batch system's words that the job ended well; not said of an epoch before, nor of save after save; of an iteration only if it is the only one and a full bar stands right above
-- COLUMN done_text: the last one
-- COLUMN done_line: its line
-- COLUMN saves: lines that say that a model or checkpoint is being saved
-- COLUMN save_text: the last one
-- COLUMN save_line: its line
-- COLUMN nans: lines that name NaN or infinity
-- COLUMN nan_text: the first one
-- COLUMN nan_line: its line
-- COLUMN nan_last_line: line of the last one
-- COLUMN goes_on_line: last line that begins an epoch or the training, or shows a bar of training short of its end
-- COLUMN losses_after: lines with a finite loss after the last of them
-- COLUMN last_text: the last line that is not empty
-- COLUMN last_line: its number
-- COLUMN lines: lines that were looked at
-- CAVEAT: Text that nobody parsed: it supports a judgement and does not carry one alone.
WITH b AS (
  SELECT file, max(line_no) AS top FROM log_line
  WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt) GROUP BY file
),
l AS (
  SELECT l.file, l.line_no, left(l.text, 2000) AS text
  FROM log_line l JOIN b ON b.file IS NOT DISTINCT FROM l.file
  WHERE l.line_no > b.top - 200 AND trim(coalesce(l.text, '')) <> ''
    AND l.job_id = $job_id AND ($attempt IS NULL OR l.attempt IS NULL OR l.attempt = $attempt)
),
x AS (
  SELECT *,
    regexp_extract(text, '100%\|[^|]*\|\s*(\d+)/(\d+)\s*\[', ['n', 'total']) AS bar,
    regexp_matches(text, '(?i)\b(training|train|run|fit|finetuning|fine-tuning)( is| was| has)? (successfully )?(complete|completed|finished|done|ended)\b|(finished|completed|done) (training|fine-?tuning)|training finished|trained model|model (was |is )?(successfully )?saved|successfully saved|max_(epochs|steps)=\d+`? reached|run_stop.*success|\bsaved\b\C{0,60}\b(to|as|in|at)\b \S*final\S*\.(pt|pth|ckpt|safetensors|h5|keras|pkl|onnx|zip|bin)\b|^\W*finished (all )?\d+ (runs|trials|experiments|folds|seeds)\b\W*$|\breached (the )?-{0,2}max(imum)?[-_ ]?(number of )?(train(ing)?[-_ ])?(seconds|time|runtime|steps|iterations?|iters|epochs?|updates)\b\C{0,40}\b(stopp|exit|finish|ending|end of)|^\s*job execution was successful\. exit status 0\b|^\s*successfully completed\.\s*$|^\s*state: completed \(exit code 0\)\s*$|^\s*state {2,40}: completed\s*$|^\C{0,80}\bexit(ed with)?[ _](code|status)( is| was)?\s?[:=]?\s{0,3}0[.)]?\s*$|^\W*(all )?done[.!,:;]+ \C{0,60}\bsaved\b|^\W*optimi[sz]ation( is| was| has)? (complete|completed|finished|done)\b|\bfinal\b[\w /()-]*\b(acc|accuracy|loss|score|f1|auc|auroc|mae|mse|rmse|miou|iou|map|bleu|rouge|wer|ppl|perplexity|reward|return|psnr|dice)\b\C{0,12}[0-9]')
      AND NOT regexp_matches(text, '(?i)\bnot\b|incomplete|fail|unable|error|will be|when training|\bfinal\b\C{0,60}\b(epoch|fold|layer|step|iter|round|task|seed|trial|batch)') AS done,
    regexp_matches(text, '(?i)\b(finished|completed|done|ended) (iteration|epoch|step|round|fold) ?#?\d') AS piece,
    regexp_matches(text, '(?i)^\C{0,60}\b(start|begin)(ing|s)?( of)?( training)? epoch\b|^\s*[1-9]?[0-9]%\||^\W*(start|begin)(ing|s)?( (of|the))? (model )?(training|fine-?tuning)\b\W*$')
      AND NOT regexp_matches(left(text, 100), '(?i)eval|valid|test|predict|load|download|map|shard|fetch|generat|process|filter|convert|upload|\[[^\]]*<00:00') AS goes_on,
    regexp_matches(text, '(?i)^\C{0,60}\b(start|begin)(ing|s)?( of)?( training)? epoch\b') AS begins, regexp_replace(text, '\d+', '#', 'g') AS shape,
    regexp_matches(text, '(?i)\bsaved\b') AND NOT regexp_matches(text, '(?i)\bfinal\b|train|finish|complet|\bdone\b') AS often,
    regexp_matches(text, '(?i)\bsav(ing|ed)\b\C{0,40}\b(model|checkpoint|weights|adapter|state)\b|(model|checkpoint|weights|adapter|configuration)\C{0,20} saved') AS saves,
    regexp_matches(text, '\bN[aA]Ns?\b|(?i)\bnan (loss|detected|encountered|found|in)\b|loss[:= ]+(nan|inf)\b|\b\d+/\d+\s+(?:\S+\s+){0,2}(?:-?nan\s+){2}')
      AND NOT regexp_matches(text, '(?i)no nan|nan iterations: *0|without nan|0 nan|skip_nan|check_nan|nan_to_num|isnan|dropna|fillna|\bnan,') AS nans
  FROM l
),
y AS (
  SELECT *, NOT nans AND regexp_matches(text, '(?i)loss[^a-z0-9]*[0-9]') AS finite_loss,
    max(line_no) FILTER (WHERE nans) OVER (PARTITION BY file) AS last_nan, bar.n <> '' AND bar.n = bar.total AND NOT regexp_matches(left(text, 60),
    '(?i)epoch([^s]|s[^:]|s: *[^ 0-9]|$)|eval|valid|test|predict|load|download|map|shard|fetch|token|generat|process|filter|resolv|captur|compil|sanity|pack|convert|extract|group|file') AS full_bar,
    max(line_no) FILTER (WHERE begins) OVER (PARTITION BY file) AS last_begin
  FROM x
),
z AS (
  SELECT * REPLACE (done AND NOT (piece AND (count(*) FILTER (WHERE piece) OVER (PARTITION BY file) > 1
      OR NOT bool_or(full_bar) OVER (PARTITION BY file ORDER BY line_no ROWS BETWEEN 3 PRECEDING AND CURRENT ROW)))
    AND NOT (often AND count(*) OVER s > 2 AND max(line_no) OVER s - min(line_no) OVER s > 2 * count(*) OVER s)
    AND NOT coalesce(min(line_no) FILTER (WHERE done) OVER s < last_begin, false) AS done),
    full_bar AND line_no < last_begin AS part, last_value(bar.total IGNORE NULLS) OVER (
      PARTITION BY file, full_bar ORDER BY line_no ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS last_total
  FROM y WINDOW s AS (PARTITION BY file, shape)
)
SELECT
  count(*) FILTER (WHERE full_bar) AS bars, left(arg_max(text, line_no) FILTER (WHERE full_bar), 160) AS bar_text,
  max(line_no) FILTER (WHERE full_bar) AS bar_line,
  arg_max(TRY_CAST(bar.total AS BIGINT), line_no) FILTER (WHERE full_bar) AS bar_total,
  count(*) FILTER (WHERE part AND bar.total = last_total) AS parts,
  count(*) FILTER (WHERE done) AS dones, left(arg_max(text, line_no) FILTER (WHERE done), 200) AS done_text,
  max(line_no) FILTER (WHERE done) AS done_line, count(*) FILTER (WHERE saves) AS saves,
  left(arg_max(text, line_no) FILTER (WHERE saves), 200) AS save_text, max(line_no) FILTER (WHERE saves) AS save_line,
  count(*) FILTER (WHERE nans) AS nans, left(arg_min(text, line_no) FILTER (WHERE nans), 200) AS nan_text,
  min(line_no) FILTER (WHERE nans) AS nan_line, max(line_no) FILTER (WHERE nans) AS nan_last_line,
  max(line_no) FILTER (WHERE goes_on) AS goes_on_line,
  count(*) FILTER (WHERE finite_loss AND line_no > last_nan) AS losses_after, left(arg_max(text, line_no), 200) AS last_text, max(line_no) AS last_line,
  count(*) AS lines
FROM z

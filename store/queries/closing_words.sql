-- closing_words: How a program that is no training says at the end of its log that it is done: a simulation code, an evaluation, an export, a script.
-- TABLES: log_line
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL
-- PRUNE: job_id
-- COLUMN programs: lines that a known code or workflow prints at a normal end and nowhere else
-- COLUMN program_text: the last one
-- COLUMN program_line: its line
-- COLUMN closings: lines among the last four (eight where they name the work) that say in a script's own words that it is done or that its results
-- are saved, or what was trained; the heading of results that go on to the end, and wandb's word that it closed a run that had logged something
-- COLUMN closing_text: the last one
-- COLUMN closing_line: its line
-- COLUMN closed_before: earlier lines that differ from it in their numbers only; of wandb earlier runs that it closed
-- COLUMN last_line: number of the last line that is not empty
-- CAVEAT: Text that nobody parsed. A script says "done" of a part of its work too: such words support a judgement and do not carry one alone.
WITH b AS (
  SELECT file, max(line_no) AS top FROM log_line
  WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt) GROUP BY file
),
l AS (
  SELECT l.file, l.line_no, left(l.text, 400) AS text, row_number() OVER (PARTITION BY l.file ORDER BY l.line_no DESC) AS back
  FROM log_line l JOIN b ON b.file IS NOT DISTINCT FROM l.file
  WHERE l.line_no > b.top - 200 AND trim(coalesce(l.text, '')) <> ''
    AND l.job_id = $job_id AND ($attempt IS NULL OR l.attempt IS NULL OR l.attempt = $attempt)
),
k AS (
  SELECT *,
    -- lines below it that are no row of a table of figures
    count(*) FILTER (WHERE NOT regexp_matches(text, '^\s*\W{0,8}[\w@()/%.+-]+([ _][\w@()/%.+-]+){0,5}\s*([:=|]|\s{2})\s*-?\d[\d.,:e+-]*\s?(%|\w{1,3})?\s*$|^\W*$')) OVER (
      PARTITION BY file ORDER BY line_no ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING) AS below,
    -- runs that wandb summed up above it, each of which had logged something
    count(*) FILTER (WHERE regexp_matches(text, '^wandb: Run summary:')) OVER (PARTITION BY file ORDER BY line_no) AS summed,
    count(*) FILTER (WHERE NOT starts_with(text, 'wandb: ')) OVER (PARTITION BY file ORDER BY line_no DESC) AS own_back,
    count(*) OVER (PARTITION BY file, regexp_replace(text, '\d+', '#', 'g') ORDER BY line_no) - 1 AS alike,
    count(*) OVER (PARTITION BY file, regexp_replace(text, '\d+', '#', 'g')) AS all_alike
  FROM l
),
-- wandb closes a run after an error too, and says so in some of its releases
e AS (
  SELECT file, true AS failed FROM k WHERE regexp_matches(text, '^wandb: Waiting for W&B process to finish\C{0,6} \(failed')
    OR own_back <= 6 AND NOT starts_with(text, 'wandb: ') AND regexp_matches(text, '(?i)error|exception|fatal|\bfail|abort|killed|interrupt')
  GROUP BY file
),
x AS (
  SELECT k.*,
    -- GROMACS, LAMMPS, AMBER, NAMD, Quantum ESPRESSO, ORCA, Gaussian, CP2K, WRF, VASP, GAMESS, Turbomole, Siesta, Psi4, Q-Chem, OpenFOAM
    regexp_matches(text, '^Finished mdrun on (rank|node)\b|^GROMACS reminds you: |^Total wall time: \d+:\d\d:\d\d\s*$|^\s*\|\s*Total wall time: +\d+ +seconds\b|^WallClock: \C{1,40}CPUTime: |^\s*JOB DONE\.\s*$|ORCA TERMINATED NORMALLY|^\s*Normal termination of Gaussian|^[ *]*PROGRAM ENDED AT +\d|SUCCESS COMPLETE (WRF|REAL)|^\s*Voluntary context switches: +\d|GAMESS TERMINATED NORMALLY|^\s*\w+ ended normally\s*$|^>> End of run: |^\*\*\* Psi4 exiting successfully|^[ *]*Thank you very much for using Q-Chem|^Finali[sz]ing parallel run\s*$|^\s*reached required accuracy - stopping structural energy minimi[sz]ation\s*$|^\s*writing wavefunctions\s*$|^\s*General timing and accounting informations for this job:\s*$')
    -- Snakemake, Nextflow, NCCL's tests, HPL, R's batch mode, editors that run a script, fairseq's generation, the head of LSF's report
      OR regexp_matches(text, '(^|\| )Generate \S+ with beam=\d+: \w+ ?[=|] ?\C{0,20}\d|^Subject: Job \d+(\[\d+\])?: <\C{1,300}> in cluster <\C{1,80}> Done\s*$|^(\[\C{1,40}\] )?\d+ of \d+ steps \(100%\) done\s*$|^Workflow finished, no error|Pipeline completed successfully|^# Avg bus bandwidth +: +[\d.]|^End of Tests\.\s*$|^> proc\.time\(\)\s*$|^Process finished with exit code 0\s*$')
      AS program,
    (back <= CASE WHEN regexp_matches(text, '(?i)\b(export|conversion|evaluation|inference|benchmark|simulation|pipeline|workflow)s?\b') THEN 8 ELSE 4 END AND (
      regexp_matches(text, '(?i)^\W*(all |everything |we are |it is )?(is |was )?(done|finished|completed?|succeeded|success(ful)?)( successfully)?\W*$|^\W*success(fully (completed|finished|done))?\b')
      OR regexp_matches(text, '(?i)\b(script|job|program|pipeline|workflow|experiments?|evaluations?|inference|predictions?|simulations?|exports?|conversion|benchmark(ing)?|testing|analysis|sweep|(grid |hyperparameter |architecture )?search|main|calculations?|computation|execution|all (\w+ ){0,2}(runs|tasks|jobs|steps|experiments|folds|models|seeds|files|stages))( is| was| has| have| are| were)?( been)?( all)?( now)?( successfully)? (completed?|finished|done|ended|succeeded)\b')
      OR regexp_matches(text, '(?i)\b(finished|completed|done)( with)?( the| all)? (evaluation|evaluating|inference|testing|predict(ion|ing)|experiments?|job|script|simulation|exports?|everything|analysis)\b')
      OR regexp_matches(text, '(?i)\b(results?|predictions?|outputs?|metrics|report|summary|figures?|plots?|scores?|submission|embeddings)\b\C{0,40}\b(saved|written|stored|exported|dumped)\b|^\W*(saved|wrote|written|stored|exported) \C{0,40}\b(results?|predictions?|outputs?|metrics|report|summary|scores?|submission|embeddings)\b')
      OR regexp_matches(text, '(?i)^\W*((job|script|program|run|process|experiment) )?(finished|ended|completed|end|ending|done)( time| date)?( at| on)?\W+((mon|tue|wed|thu|fri|sat|sun)[a-z]*\b|20\d\d\b|\d{1,2}[:/]\d\d)')
      OR regexp_matches(text, '(?i)^\W*(total|overall|whole) (elapsed|execution|run(ning)?|wall[- ]?clock|wall|cpu|inference|evaluation|computation)?[ -]?time\b\C{0,30}\d')
      OR regexp_matches(text, '(?i)^\W*((program|script|code) )?(execution|run) ?time( taken)?( is| was)?\W{1,4}\d[\d.:]*( ?(s|secs?|seconds|m|mins?|minutes|h|hrs?|hours))?\W*$|^\W*(done|finished) (saving|writing|exporting|plotting)( \w+){1,4}\W*$')
      OR regexp_matches(text, '\w(:|\.{3}| =) *(PASS|PASSED)\W*$')
      OR regexp_matches(text, '(?i)^\W*(saved|wrote|written|stored|exported) \d+ (completions|generations|responses|answers|samples|records|rows|documents)\b\C{0,20}\b(to|in|into)\b')
      OR summed > 0 AND NOT coalesce(failed, false) AND regexp_matches(text, '^wandb: (Synced \d+ W&B file|Find logs at: |wandb sync )')
    )
      -- what was trained is kept once and last; scikit-learn's report of a classifier
      OR back <= 2 AND all_alike = 1 AND regexp_matches(text, '(?i)^\W*((the|all|both|final|trained|fitted) )*(models?|weights|networks?|classifiers?|regressors?|estimators?|pipelines?)( (was|were|has been|have been))?( successfully)? (saved|stored|written|exported|dumped|pickled)\b|^\W*(saved|stored|wrote|exported|dumped|pickled) ((the|all|both|final|trained|fitted) )+(models?|weights|networks?|classifiers?|regressors?|estimators?|pipelines?)( (to|as|in|at|into|under) |\W*$)')
      OR back <= 4 AND all_alike = 1 AND regexp_matches(text, '^\s*weighted avg(\s+[01]\.\d+){3}\s+\d+\s*$')
      OR below <= 3 AND back > 1 AND all_alike = 1 AND regexp_matches(text, '(?i)^\W*(\*{5} (eval|evaluate|predict|test) metrics \*{5}|((final|test|evaluation|overall|average) )?(results?|metrics|scores?)\W*$|(final|test|evaluation|training|run|experiment) (summary|report)\W*$)'))
      AND NOT regexp_matches(text, '(?i)\b(not?|never)\b|incomplete|fail|unable|error|will be|would|should|when |once |after |until |epoch|fold \d|exit(ed)? (code|status)[ :=]*[1-9]|[0-9]%\|') AS closing
  FROM k LEFT JOIN e ON e.file IS NOT DISTINCT FROM k.file
),
y AS (
  SELECT *, CASE WHEN starts_with(text, 'wandb: ') THEN summed - 1 ELSE alike END AS earlier FROM x
)
SELECT
  count(*) FILTER (WHERE program) AS programs, left(arg_max(text, line_no) FILTER (WHERE program), 200) AS program_text,
  max(line_no) FILTER (WHERE program) AS program_line, count(*) FILTER (WHERE closing) AS closings,
  left(arg_max(text, line_no) FILTER (WHERE closing), 200) AS closing_text, max(line_no) FILTER (WHERE closing) AS closing_line,
  arg_max(earlier, line_no) FILTER (WHERE closing) AS closed_before, max(line_no) AS last_line
FROM y

-- plain_errors: Errors that a program printed without a traceback before it gave up: wrong arguments, files it cannot open.
-- TABLES: log_line
-- PARAMS: job_id VARCHAR, attempt BIGINT = NULL
-- EMPTY: BOOLEAN, VARCHAR, BIGINT, BIGINT, BIGINT, VARCHAR, VARCHAR, BIGINT, TIMESTAMP, BOOLEAN, VARCHAR
-- PRUNE: job_id
-- COLUMN known: true for the words of a library's own error line, false for a line near the end that merely speaks of failure
-- COLUMN text: the first such line
-- COLUMN lines: how many alike
-- COLUMN ranks: ranks that printed it, where ranks are told apart
-- COLUMN rank: rank of the first one
-- COLUMN node: node of the first one
-- COLUMN file: file of the first one
-- COLUMN line_no: line of the first one
-- COLUMN line_ts: time of the first one
-- COLUMN closing: it is among the last three lines that the program printed to that file
-- COLUMN or_later: name of the time, where it is that of an earlier line: it came then or later
-- CAVEAT: Only the head and the tail of a long log are searched.
WITH o AS (
  SELECT *, trim(coalesce(text, '')) <> '' AND NOT regexp_matches(text,
      '^\W*$|^\s*(\S+ )?((s|yh)run|slurmstepd\S*|sbatch|mpirun|prterun): |called MPI_Abort|MPI_ABORT was invoked|\bstopping \.\.\.\s*$') AS own
  FROM log_line
  WHERE job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
),
l AS (
  SELECT *, row_number() OVER (PARTITION BY file ORDER BY line_no DESC) AS back,
    count(*) FILTER (WHERE own) OVER (PARTITION BY file ORDER BY line_no DESC) AS own_back
  FROM o
),
m AS (
  SELECT *, regexp_replace(text, '[0-9]+', '#', 'g') AS shape,
    regexp_matches(text,
      '(?:^|[\s\]])[\w./-]+: error: (?:unrecognized arguments|the following arguments are required|argument |ambiguous option|one of the arguments|invalid |expected )'
      '|can''t open file ''|^Error: (?:No such option|Missing (?:option|argument|command)|Invalid value for|Got unexpected)'
      '|^error: (?:Parser key|Validation failed|Configuration check|Problem with given)|Flags parsing error|Unknown command line flag|Could not override ''|Cannot find primary config|Key ''\C{1,60}'' (?:is )?not in struct'
      '|^\W*(?:x\W+)?Invalid config override |Error locating target|error while loading shared libraries|: version `(?:GLIBC|GLIBCXX|CXXABI)_[\d.]+'' not found \(required by |Value error, |does not recognize this architecture'
      '|No (?:CUDA |Nvidia |NVIDIA )?GPUs? (?:were |was |are |is )?(?:found|detected|available)\C{0,60}(?:[Ee]xiting|[Aa]borting)'
      '|^\s*ERROR: (?:Could not|No matching|Invalid|unknown)|^\W*No solution found when resolving dependencies')
      OR back <= 40 AND regexp_matches(text, 'op_kernel\.cc:\d+\] OP_REQUIRES failed at \S+ : (?:UNIMPLEMENTED|INTERNAL|FAILED_PRECONDITION|INVALID_ARGUMENT|NOT_FOUND|Unimplemented|Internal|Invalid argument|Not found|Unknown): ')
      OR back <= 40 AND regexp_matches(text, '\bE \S+\.cc:\d+\] (?:FAILED_PRECONDITION|Failed precondition): No visible \w+ devices')
      OR own_back <= 1 AND regexp_matches(text, '^\W*(?:[✗✘❌]|ERROR\b)\W*(?:CUDA|GPUs?)(?: is| are)? not (?:available|found|detected)\W*$')
      OR back <= 40 AND regexp_matches(text, '^wandb: ERROR (?:Run initialization has timed out|Error communicating|api_key not configured)') AS known
  FROM l WHERE back <= 5000 OR line_no <= 3000
),
h AS (
  SELECT * FROM m
  WHERE known OR (back <= 40
    AND regexp_matches(text, '(?i)\b(error|fatal|failed|missing|not found|cannot|can''t|could not|unable to|does(n''t| not) exist|no such|invalid|unknown|not supported|is required)\b')
    AND NOT regexp_matches(text, '(?i)\b(warn(ing)?|info|debug|deprecat\w*)\b|^\s*(\S+ )?((s|yh)run|slurmstepd|sbatch|traceback|mpirun|prterun)|error_file|exit ?code|\bif\b\C{0,40}\berror|error (rate|bars?)|^LAUNCH (ERROR|INFO)|^Container (failed|rank)|ABORT!!!|Pod failed|\blaunch\.py:|multiprocessing\.api|failed to run (torchrun|deepspeed)|(log is in|[Cc]heck (its|the) logs?|see (the )?(logs?|above))\b|[a-z_]*error[=:] *-?[0-9.]+|\d%\|'))
)
SELECT
  bool_or(known) AS known, left(first(text ORDER BY ts NULLS LAST, file, line_no), 500) AS text, count(*) AS lines, count(DISTINCT rank) AS ranks,
  first(rank ORDER BY ts NULLS LAST, file, line_no) AS rank, first(node ORDER BY ts NULLS LAST, file, line_no) AS node,
  first(file ORDER BY ts NULLS LAST, file, line_no) AS file,
  first(line_no ORDER BY ts NULLS LAST, file, line_no) AS line_no, min(ts) FILTER (WHERE ts_kind IS DISTINCT FROM 'file') AS line_ts,
  bool_or(own AND own_back <= 3) AS closing, CASE WHEN arg_min(coalesce(ts_kind, '') = 'carried', (ts, coalesce(ts_kind, '') = 'carried')) FILTER (WHERE ts IS NOT NULL AND ts_kind IS DISTINCT FROM 'file') THEN 'line_ts' END AS or_later
FROM h
GROUP BY shape
ORDER BY known DESC, line_ts NULLS LAST, file, line_no

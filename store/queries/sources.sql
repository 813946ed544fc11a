-- sources: Which sources looked at a job, at a node or at everything, when, and what they could not see.
-- TABLES: source_health
-- PARAMS: job_id VARCHAR = NULL, node VARCHAR = NULL
-- PRUNE: job_id
-- COLUMN source: source or importer
-- COLUMN covers: table that it fills
-- COLUMN node: node
-- COLUMN job_id: job
-- COLUMN ts: start of the window
-- COLUMN end_ts: end of the window
-- COLUMN ok: it worked
-- COLUMN row_count: rows that it gave
-- COLUMN missing_fields: columns that it cannot fill here
-- COLUMN message: why not, or what was left out
-- COLUMN origin: file or source
-- CAVEAT: A source that is not listed was not looking: an empty table then proves nothing.
SELECT source, covers, node, job_id, ts, end_ts, ok, "rows" AS row_count, missing_fields, message, origin
FROM source_health
WHERE ($job_id IS NULL OR job_id IS NULL OR job_id = $job_id) AND ($node IS NULL OR node IS NULL OR node = $node)
ORDER BY source, covers NULLS LAST, node NULLS FIRST, ts NULLS FIRST, origin

-- raised_by: Which ranks raised an exception of one type: how many, the lowest and the highest.
-- TABLES: log_event
-- PARAMS: job_id VARCHAR, name VARCHAR, attempt BIGINT = NULL
-- NEEDS: log_event.kind = exception
-- EMPTY: VARCHAR, BIGINT, BIGINT, BIGINT
-- PRUNE: job_id
-- COLUMN name: type as printed
-- COLUMN ranks: ranks that raised it
-- COLUMN lowest: lowest of them
-- COLUMN highest: highest of them
-- CAVEAT: A rank that was ended before it could print is not among them.
SELECT $name::VARCHAR AS name, count(DISTINCT rank) AS ranks, min(rank) AS lowest, max(rank) AS highest
FROM log_event
WHERE kind = 'exception' AND name = $name AND job_id = $job_id AND ($attempt IS NULL OR attempt IS NULL OR attempt = $attempt)
HAVING count(rank) > 0

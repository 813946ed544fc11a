"""Words of Slurm's in a job's log that are not about this job: a program printed, or copied, them. Accounting tells them apart.

slurmstepd names the job that it speaks of. Where accounting has the job of the log, a line that names another one is of another one,
and one that names this job and an end which accounting contradicts is nobody's. Readers show such events as of the kind `echo`.

A kill for memory in a step that accounting has with another end stays: it is this step's by name, a warning is due, and
`agent_tools/facts/memory.py` says what speaks against it.
"""

from __future__ import annotations

from store.rows import LogEvent, SlurmJob, SlurmStep

KIND = "echo"
_OF = ("slurm", "host_oom")
MAY_BE = f"kind IN {_OF}"
"""The events that may be echoes, in SQL: in most logs there is none, and to tell which are takes longer than to see that."""
ACCOUNTS = (SlurmJob.TABLE, SlurmStep.TABLE)

_ENDS = ("cancelled", "time_limit", "deadline", "preempted", "requeued", "node_failure", "step_aborted", "unkillable")
_LIMITS = ("time_limit", "deadline")
_ONCE = ("preempted", "requeued", "node_failure")
"""Ends that Slurm makes of a whole job, which then has not completed, or failed, by itself; but its next run may have."""
FAR = 0.8
"""Share of its time limit below which a job that ended by itself has not met it."""
_MEMORY = r"(?i)oom[_-]kill|out[ -]of[ -]memory|OOM Killed"


def concerns(table: str) -> bool:
    """Whether events of this kind stand in the table."""
    return table == LogEvent.TABLE


def accounts(jobs: str, steps: str, runs: str) -> str:
    """SQL that gives a row for each job of what `marked` has to know: its ids, its steps, its end; from SQL of three tables."""
    # A row that does not know its job's other names tells nothing of whose the words are.
    return (
        "SELECT j.*, s.steps, coalesce(j.job_id IN (SELECT job_id FROM "
        f"({runs}) WHERE job_id IS NOT NULL), false) AS several FROM (SELECT job_id, list_distinct(flatten(list([job_id, job_id_raw]))) AS ids, "
        "bool_or(het_job_id IS NOT NULL) AS het, count(DISTINCT coalesce(attempt, 1)) AS runs, max(restarts) AS restarts, "
        "arg_max(upper(state), ts) AS state, max(elapsed_s / nullif(time_limit_s, 0)) AS used, bool_or(job_id_raw IS NOT NULL) AS named "
        f"FROM ({jobs}) WHERE job_id IS NOT NULL GROUP BY job_id) AS j "
        f"LEFT JOIN (SELECT job_id, list(DISTINCT step_id) AS steps FROM ({steps}) WHERE step_id IS NOT NULL GROUP BY job_id) AS s "
        "ON s.job_id = j.job_id"
    )


def marked(rows: str, known: str) -> str:
    """SQL that gives the rows of `log_event` with the kind of those that are not about their job; `known`: SQL of `accounts`' rows.

    Another job's: it names a job, neither this one nor, of a heterogeneous one, a component. An out-of-memory kill may name a step as
    well, and accounting has that. Contradicted: the job ended by itself, long before its limit; or it is known to have run but once,
    and its logs do not hold several runs (`log_run`).
    """
    of_job = "json_extract_string(TRY_CAST(l.detail AS JSON), '$.job')"
    of_step = "json_extract_string(TRY_CAST(l.detail AS JSON), '$.step')"
    memory = f"(l.kind = 'host_oom' OR regexp_matches(l.message, '{_MEMORY}'))"
    job = (
        f"(regexp_matches({of_job}, '^\\d+([_+]\\d+)?$') AND o.named AND NOT o.het AND NOT list_contains(o.ids, {of_job}) "
        f"AND ({memory} OR l.name IN {_ENDS}))"
    )
    step = f"({memory} AND list_contains(o.ids, {of_job}) AND length({of_step}) < 10 AND NOT list_contains(o.steps, {of_step}))"
    by_itself = (
        "(json_extract_string(TRY_CAST(l.detail AS JSON), '$.scope') = 'job' AND NOT o.het AND o.state IN ('COMPLETED', 'FAILED') "
        f"AND (l.name IN {_LIMITS} AND o.used < {FAR} OR l.name IN {_ONCE} AND o.runs = 1 AND o.restarts = 0 AND NOT o.several))"
    )
    echo = " OR ".join(f"coalesce({c}, false)" for c in (job, step, by_itself))
    return (
        f"SELECT l.* REPLACE (CASE WHEN l.{MAY_BE} AND ({echo}) THEN '{KIND}' ELSE l.kind END AS kind) "
        f"FROM ({rows}) AS l LEFT JOIN ({known}) AS o ON o.job_id = l.job_id"
    )

"""Which of several jobs in a store is meant."""

from __future__ import annotations

import re
from dataclasses import dataclass

from agent_tools.evidence import Asks

MOST = 5000
"""Jobs that are looked at; a folder with more needs its job named."""

BAD = frozenset(
    {"FAILED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY", "CANCELLED", "PREEMPTED", "BOOT_FAIL", "DEADLINE", "REVOKED"}
)
"""States of jobs that did not end well."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A job that was found: `lines` counts the log lines of its own, `dependency` is Slurm's expression."""

    job_id: str
    lines: int
    dependency: str = ""
    submit_ts: str = ""
    state: str = ""
    name: str = ""
    reason: str = ""


def candidates(reader: Asks) -> list[Candidate]:
    """Every job that the store knows; where nothing else names one, those that GPUs' samples are labelled with."""
    found = reader.ask("jobs_found", max_rows=MOST).dicts() or reader.ask("jobs_sampled", max_rows=MOST).dicts()
    return [
        Candidate(
            str(r["job_id"]),
            int(r.get("lines") or 0),
            str(r.get("dependency") or ""),
            str(r.get("submit_ts") or ""),
            str(r.get("state") or ""),
            str(r.get("name") or ""),
            str(r.get("state_reason") or ""),
        )
        for r in found
    ]


def meant(found: list[Candidate], *, one_file: bool = False) -> Candidate | None:
    """The job whose log is there; of several, the last of their dependency chain; None where that does not decide.

    Of the jobs of a single accounting file, the only one that ended badly is the one that somebody asks about, and of those that all
    wait for the same reason any, for it is the answer for each; of those of a folder without a log, the only one of which more is
    told than that it is in the queue.
    """
    if len(found) == 1:
        return found[0]
    logged = [c for c in found if c.lines > 0]
    if len(logged) == 1:
        return logged[0]
    pool = logged or found
    last = _last_of_chain(pool)
    if last is None and one_file and not logged:
        bad = [c for c in found if c.state and c.state.upper().split()[0] in BAD]
        return bad[0] if len(bad) == 1 else found[0] if wait_alike(found) else None
    if last is None and not logged:
        # The queue's listing tells of everybody's jobs, and of none when it was submitted: what was asked of by its number does.
        asked = [c for c in found if c.submit_ts]
        return asked[0] if len(asked) == 1 else None
    return last


def wait_alike(found: list[Candidate]) -> bool:
    """Whether there are several jobs, and all of them are in the queue for one and the same reason, whatever nodes it names."""
    reasons = {c.reason.partition(",")[0] for c in found}
    return len(found) > 1 and {c.state for c in found} == {"PENDING"} and len(reasons) == 1 and "" not in reasons


def aliased(reader: Asks, job: str) -> str | None:
    """The job that a number means which Slurm shows otherwise; None where it is nobody's, or that of several tasks.

    A log is mostly called by a task's own number (`%j`), and of a heterogeneous job the first component runs the script.
    """
    rows = [(str(r["meant"]), bool(r["own"])) for r in reader.ask("job_alias", job_id=job).dicts()]
    own = [name for name, is_own in rows if is_own]
    first = [name for name, _ in rows if name == f"{job}+0"]
    if len(own) == 1 or len(first) == 1:
        return (first or own)[0]
    return rows[0][0] if len(rows) == 1 else None


def nameless(reader: Asks, name: str) -> str | None:
    """What to call the job where there is nothing but the telemetry of nodes, or Slurm's word on them: the files' own name."""
    return name if reader.ask("lone_nodes", job_id=name).rows or reader.ask("nodes_in_trouble").rows else None


def _last_of_chain(pool: list[Candidate]) -> Candidate | None:
    by_id = {c.job_id: c for c in pool}
    parents = {c.job_id: [n for n in re.findall(r"\d+(?:_\d+|\+\d+)?", c.dependency) if n in by_id] for c in pool}
    depended = {p for ps in parents.values() for p in ps}
    ends = [c for c in pool if c.job_id not in depended and parents[c.job_id]]
    if len(ends) != 1:
        return None
    seen: set[str] = set()
    walk = [ends[0].job_id]
    while walk:
        here = walk.pop()
        if here not in seen:
            seen.add(here)
            walk += parents[here]
    # A job outside the chain could be the one that is meant just as well.
    return ends[0] if len(seen) == len(pool) else None

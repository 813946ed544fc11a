"""An earlier attempt of the job that ran out of the same memory: to run it again as it is cannot help.

An end by itself may be chance, another tenant of the card or a worker's race; that it came again is what a requeue or a rerun was to show.
"""

from __future__ import annotations

from agent_tools.facts import Facts, RowView
from agent_tools.families.base import Assessment
from agent_tools.families.wording import claim
from store import lazy

_MEMORY = lazy.compile(r"OutOfMemory|ResourceExhausted|RESOURCE_EXHAUSTED|out of memory")
_AS_IT_IS = "Running the job again as it is cannot help: it was tried, and ended for the same reason."
_FIRST = "Change what the job asks for or how much it uses before it runs again; a requeue or a rerun without that is lost time."


def refused_before(facts: Facts, row: RowView | None, result: Assessment) -> None:
    """A request for GPU memory that was refused under the attempt before, too; `row` is the one that is told of this attempt."""
    number = _attempt_before(facts)
    if number is None or row is None:
        return
    before = facts.table("oom_events", attempt=number).where(
        lambda r: (r.text("file"), r.get("line_no")) != (row.text("file"), row.get("line_no"))
    )
    if before:
        last = before[-1]
        asked = f" {last['requested_gib']} GiB" if last.has("requested_gib") else ""
        _say(f"The attempt before it was refused{asked} as well ({last['file']} line {last['line_no']}).", result)
    elif (run := _run_before(facts, row, number + 1)) is not None:
        text = f"The run before it in {run['file']} ended with {run['ended_by']} (line {run['ended_line']}) as well."
        _say(text, result)


def _run_before(facts: Facts, row: RowView, attempts: int) -> RowView | None:
    """The last run but one of a file without times, which holds as many as there were attempts, all with the same end."""
    runs = [r for r in facts.log_runs if r.text("file") == row.text("file")]
    ends = {(r.text("ended_how"), r.text("ended_by")) for r in runs if r.has("ended_line")}
    alike = len(ends) == 1 and all(how == "program" and _MEMORY.search(name) for how, name in ends)
    return runs[-2] if alike and len(runs) == attempts and all(r.has("ended_line") for r in runs) else None


def killed_before(facts: Facts, result: Assessment) -> None:
    """Slurm's word that the attempt before was out of host memory, too."""
    number = _attempt_before(facts)
    rows = [] if number is None else facts.table("job_attempts").where(lambda r: r.get("attempt") == number)
    if rows and rows[-1].text("state") == "OUT_OF_MEMORY":
        _say(f"Slurm records {rows[-1]['state']} of attempt {rows[-1]['attempt']}, before it, as well.", result)


def _attempt_before(facts: Facts) -> int | None:
    o = facts.overview
    if o is None or (o.number("attempts") or 0) <= 1 or (o.number("attempt") or 0) <= 1:
        return None
    return int(o.number("attempt") or 0) - 1


def _say(text: str, result: Assessment) -> None:
    result.speaks_for.append(claim(text))
    result.implies.append(claim(_AS_IT_IS))
    result.actions.insert(0, claim(_FIRST))

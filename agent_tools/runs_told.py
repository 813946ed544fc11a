"""What a verdict says of the runs that one log holds: which lines the last one spans, and how those before it ended.

A fault of an earlier run is told and explains nothing. Where two runs cannot be told from two parts of one, and they did not
end alike, the verdict is less sure and says why.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby, pairwise

from agent_tools.facts import Facts, RowView
from agent_tools.facts.last_run import sound_at_last
from agent_tools.facts.on_cpu import on_cpu
from agent_tools.families.base import Assessment
from agent_tools.families.wording import claim, missing
from agent_tools.say import count
from agent_tools.verdict import Claim

UNSPLIT = 0.55
"""Highest confidence where it is open whether what failed first in a log is of the run that the verdict is about."""
_MOST = 4
"""Earlier runs that are told one by one."""
_RESTARTS, _JUST_ABOVE = 3, 200
"""Restarts that are told one by one, and so many lines above such a word its reason stands."""
_WORDS = {
    "job": "Slurm's word {0} (line {1})",
    "launcher": "the launcher's word {0} (line {1})",
    "program": "{0} (line {1})",
    "finished": "the word that it was done (line {1})",
}


def runs_before(facts: Facts) -> list[Claim]:
    """The runs before the last of each file that holds several for sure, the latest first."""
    told: list[Claim] = []
    for runs in _files(facts):
        last = runs[-1]
        if count(last, "sure_runs") < 2 or sound_at_last(facts.overview, runs) is not None:
            continue
        begin = next(r for r in reversed(runs) if r.get("certain"))
        before = [r for r in runs if count(r, "run") < count(begin, "run")]
        told.append(
            claim(
                f"{last['file']} holds {last['sure_runs']} runs, one after the other: this is about the last, from line "
                f"{begin['first_line']} on."
            )
        )
        told += [
            claim(f"Run {r['run']} before it, lines {r['first_line']} to {r['last_line']}, {_end(r)}.")
            for r in before[: -_MOST - 1 : -1]
        ]
    return told


def restarted(facts: Facts) -> list[Claim]:
    """That a launcher started its workers anew within the run, and what had ended before: a run that came through hides it."""
    rows = facts.table("launcher_failures")
    again = [r for r in rows if r.text("name") == "restart"]
    told: list[Claim] = []
    for row in again[:_RESTARTS]:
        before = [
            r
            for r in rows
            if r.text("name") == "child_failed"
            and r.text("file") == row.text("file")
            and 0 < count(row, "line_no") - count(r, "line_no") <= _JUST_ABOVE
        ]
        why = f" Before that it had said: {before[0]['message']}" if before else ""
        told.append(
            claim(
                f"The launcher started its workers again ({row['file']} line {row['line_no']}): {row['message']}{why}"
            )
        )
    return told


def without_gpus(facts: Facts) -> list[Claim]:
    """That the framework, or the program, says that it works on the CPU."""
    told = on_cpu(facts)
    if told is None:
        return []
    row = told.row
    what = (
        "By its own words the work was done on the CPU" if told.sure else "If JAX is what trained, it did so on the CPU"
    )
    return [claim(f"{what}: {row['message']} ({row['file']} line {row['line_no']}).")]


def doubt(facts: Facts, chosen: Assessment) -> None:
    """Make a verdict less sure that may rest on a run before the one in question."""
    if chosen.code == "U0" or facts.attempt is not None or facts.ending.succeeded:
        return
    sound = sound_at_last(facts.overview, facts.log_runs)
    if sound is not None:
        chosen.confidence = min(chosen.confidence, UNSPLIT)
        chosen.missing.append(
            missing(
                f"Which of the runs in {sound['file']} gave the job its exit status: the last one says that it had done.",
                "a step of its own for each run (srun), or the batch script",
            )
        )
        return
    for runs in _files(facts):
        for before, after in pairwise(runs):
            if after.get("certain") or before.text("ended_how") in ("", "finished"):
                continue
            later = [r for r in runs if count(r, "run") >= count(after, "run")]
            if all(r.text("ended_by") == before.text("ended_by") for r in later):
                continue
            chosen.confidence = min(chosen.confidence, UNSPLIT)
            chosen.missing.append(
                missing(
                    f"Whether {after['file']} from line {after['first_line']} on is another run than what {before['ended_by']} "
                    f"(line {before['ended_line']}) ended.",
                    "times in the log, or accounting of every attempt (sacct --duplicates)",
                )
            )
            return


def _files(facts: Facts) -> Iterator[list[RowView]]:
    if facts.attempt is not None:
        return  # Slurm told the attempts apart
    for _, rows in groupby(facts.log_runs, key=lambda r: r.text("file")):
        yield list(rows)


def _end(run: RowView) -> str:
    how = run.text("ended_how")
    if how not in _WORDS:
        return "says nothing of its end"
    return "ended with " + _WORDS[how].format(run["ended_by"], run["ended_line"])

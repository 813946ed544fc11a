"""Records of sacct with bars between their columns and no header above them (`-n`): which column is which.

The command that printed them names its columns where it was copied along. Without it a column is told by what alone can stand in
it, in every record: a state of Slurm's, a status with its signal. What a column may be besides (a time may be the start or the
submission, a duration the limit) is not guessed: it has no name.
"""

from __future__ import annotations

from collections.abc import Sequence

from collector.formats import slurm_values as sv
from collector.formats.delimited import Layout
from store import lazy

_COMMAND = lazy.compile(r"(?:^|[\s/])sacct\s.*?\s(?:-\w*o|--format|--fields)[ =]?\s*[\"']?(?P<names>[A-Za-z][\w,%]*)")
_JOB = lazy.compile(r"\d{1,20}(?:_(?:\d{1,10}|\[[^\]]*\]))?(?:\+\d{1,6})?(?:\.[\w+-]+)?")
_STATUS = lazy.compile(r"\d{1,3}:\d{1,3}")


def layout_of(texts: Sequence[str]) -> tuple[Layout | None, int]:
    """The layout of records without a header, and how many lines stand before the first; (None, 0) where they are none."""
    at = next((i for i, t in enumerate(texts) if "|" in t and _JOB.fullmatch(t.partition("|")[0].strip())), None)
    if at is None:
        return None, 0
    printed = next((m["names"].lower() for t in reversed(texts[:at]) if (m := _COMMAND.search(t))), None)
    named = [n.partition("%")[0] for n in printed.split(",")] if printed else None
    rows = [t.strip().split("|") for t in texts[at:] if t.strip()]
    trailing = all(cells[-1] == "" for cells in rows)
    rows = [cells[:-1] for cells in rows] if trailing else rows
    if named is not None and "jobid" in named and all(len(cells) == len(named) for cells in rows):
        return Layout(named, trailing=trailing), at
    if any(t.strip() for t in texts[:at]) or len({len(cells) for cells in rows}) != 1:
        return None, 0
    names = _told(rows)
    return (Layout(names, trailing=trailing), at) if names else (None, 0)


def _told(rows: Sequence[Sequence[str]]) -> list[str] | None:
    """The columns' names by what stands in them; None where not every record begins with a job and has one state."""
    columns = [[cell.strip() for cell in column] for column in zip(*rows, strict=True)]
    states = [i for i, column in enumerate(columns) if all(sv.state(cell)[0] in sv.BASE_STATES for cell in column)]
    if not all(map(_JOB.fullmatch, columns[0])) or len(states) != 1:
        return None
    statuses = [i for i, column in enumerate(columns) if all(map(_STATUS.fullmatch, column))]
    known = {0: "jobid", states[0]: "state"} | ({statuses[0]: "exitcode"} if len(statuses) == 1 else {})
    return [known.get(i, f"column {i + 1}") for i in range(len(columns))]

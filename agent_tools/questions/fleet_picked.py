"""What the examiner makes of a question for jobs that stand out: the longest, those of so many GPUs, those that wasted most."""

from __future__ import annotations

import re
from typing import Any

from agent_tools.questions.fleet_lines import ended
from agent_tools.questions.fleet_use import MAX_SAID, of_user
from agent_tools.questions.lookup_says import asked
from agent_tools.tools.base import Deps
from store import lazy

LONGEST = r"\blong(?:est|er)\b(?:[ -]running\b)?|\bmost time\b"
EXTREMES: tuple[tuple[str, str, int, str], ...] = (
    (LONGEST, "elapsed_s", 1, "ran for the most time"),
    (r"\bshortest\b", "elapsed_s", -1, "ran for the least time"),
    (r"\b(?:largest|biggest)\b|\bmost gpus\b", "gpus", 1, "held the most GPUs"),
    (r"\bsmallest\b|\bfewest gpus\b", "gpus", -1, "held the fewest GPUs"),
    (r"\bmost nodes\b", "node_count", 1, "held the most nodes"),
    (
        r"\b(?:most|worst)\b.*\bwast\w+|\bwast\w+\b.*\bmost\b",
        "gpu_hours_wasted",
        1,
        "wasted the most GPU time, by its verdict",
    ),
)
"""Words for the one job that stands out, the column in which it does, which end of it, and how that is said."""
AMOUNT = lazy.compile(
    r"(?i)\b(?:(?P<how>more than|longer than|over|above|at least|less than|shorter than|fewer than|under|below|at most) (?P<n>\d{1,6}) (?P<gpu>gpu[ -]?(?=h))?(?P<of>gpus?|nodes?|hours?|h|minutes?|min|days?)"
    r"|(?:us(?:e|es|ed|ing)|with|on|of|for|ha(?:s|ve|d)|h[oe]lds?|holding|need\w*|request\w*|got|exactly|all|jobs|runs|any) (?:exactly |just |only )?(?P<exactly>\d{1,6})[ -](?P<unit>gpus?|nodes?))\b(?![ -](?:hours?|h\b|time))"
)
_MEASURES: dict[str, tuple[str, int, str]] = {
    "g": ("gpus", 1, "with {} GPUs"),
    "n": ("node_count", 1, "on {} nodes"),
    "m": ("elapsed_s", 60, "after {}"),
    "h": ("elapsed_s", 3600, "after {}"),
    "d": ("elapsed_s", 86_400, "after {}"),
}
"""What an amount's unit is of, in that of the column; and how it is said."""
NONE = "No job that these words name is in the store."
NONE_OF_FAMILY = "No stored verdict on such a job is of that family; inquest watch stores them."
NONE_OF_CAUSE = "No stored verdict on such a job is of that kind; inquest watch stores them."
ALL_JUDGED = "Each job that these words name has a stored verdict."
ALL = 20_000
"""Jobs among which one is looked for that stands out."""


def of_amount(deps: Deps, amount: re.Match[str], given: dict[str, Any]) -> tuple[list[str], list[str]]:
    """The jobs that held or lasted more, or less, than a question says."""
    jobs = asked(deps, "find_jobs", told=False, max_rows=ALL, **given)
    if jobs is None:
        return [], []
    column, unit, said = _MEASURES[(amount["of"] or amount["unit"])[0].lower()]
    known = [(r, float(v)) for r, row in enumerate(jobs.dicts()) if isinstance(v := row[column], int | float)]
    fits = [r for r, v in known if as_said(amount, v / unit)]
    told = [f"{ended(jobs, r)[:-1]}, {said.format(jobs.ref(column, r))}." for r in fits[:MAX_SAID]]
    return told or [NONE], [jobs.id]


def restarted(deps: Deps, given: dict[str, Any]) -> tuple[list[str], list[str]]:
    """The jobs that ran again after their first attempt."""
    jobs = asked(deps, "find_jobs", told=False, max_rows=ALL, **given)
    if jobs is None:
        return [], []
    again = [r for r, row in enumerate(jobs.dicts()) if isinstance(row["attempt"], int) and row["attempt"] > 1]
    last: dict[str, int] = {}
    for r in again:
        last.setdefault(str(jobs.value("job_id", r)), r)
    return [f"{ended(jobs, r)[:-1]}, in attempt {jobs.ref('attempt', r)}." for r in [*last.values()][:MAX_SAID]] or [
        NONE
    ], [jobs.id]


def as_said(amount: re.Match[str], value: float) -> bool:
    """Whether a value, in the unit that a question states, is within the amount that it states."""
    if amount["exactly"]:
        return value == int(amount["exactly"])
    how, bound = amount["how"].lower(), int(amount["n"])
    if how in ("at least", "at most"):
        return value >= bound if how == "at least" else value <= bound
    return value > bound if how in ("more than", "longer than", "over", "above") else value < bound


def without_verdict(deps: Deps, given: dict[str, Any]) -> tuple[list[str], list[str]]:
    """The jobs on which no verdict is stored, the last first."""
    jobs = asked(deps, "find_jobs", told=False, max_rows=ALL, **given)
    if jobs is None:
        return [], []
    rows = [r for r, row in enumerate(jobs.dicts()) if row["family"] is None]
    return [ended(jobs, r) for r in rows[:MAX_SAID]] or ([ALL_JUDGED] if jobs.rows else [NONE]), [jobs.id]


def wasters(deps: Deps, question: str, given: dict[str, Any]) -> tuple[list[str], list[str]]:
    """The jobs whose verdicts count most GPU time as wasted, or all that count more than a question says."""
    jobs = asked(deps, "find_jobs", told=False, max_rows=ALL, **given)
    if jobs is None:
        return [], []
    hours = {r: float(v) for r, row in enumerate(jobs.dicts()) if isinstance(v := row["gpu_hours_wasted"], int | float)}
    if not hours:
        return [NONE_OF_CAUSE], [jobs.id]
    bound = AMOUNT.search(question)
    if bound is not None and bound["of"] and bound["of"][0].lower() == "h":
        hours = {r: v for r, v in hours.items() if as_said(bound, v)}
    most = sorted((r for r, v in hours.items() if v > 0), key=lambda r: (-hours[r], r))
    return [f"{ended(jobs, r)[:-1]}, {jobs.ref('gpu_hours_wasted', r)} wasted." for r in most[:MAX_SAID]] or [NONE], [
        jobs.id
    ]


def extreme(deps: Deps, given: dict[str, Any], column: str, end: int, how: str) -> tuple[list[str], list[str]]:
    """The job that has most or least of something, and how many there are to be first among."""
    jobs = asked(deps, "find_jobs", max_rows=ALL, **given)
    if jobs is None:
        return [], []
    known = {r: end * float(v) for r, row in enumerate(jobs.dicts()) if isinstance(v := row[column], int | float)}
    if not known:
        return [NONE_OF_FAMILY if column == "gpu_hours_wasted" else NONE], [jobs.id]
    most = max(known.values())
    first, *others = [r for r, v in known.items() if v == most]
    of = (
        "Job"
        if len({row["job_id"] for row in jobs.dicts()}) == len(jobs.rows)
        else f"Attempt {jobs.ref('attempt', first)} of job"
    )
    text = f"{of} {jobs.ref('job_id', first)}{of_user(jobs, first)} {how}, {jobs.ref(column, first)}, and {'is' if jobs.value('state', first) == 'RUNNING' else 'ended as'} {jobs.ref('state', first)}."
    return [text, *(f"So did job {jobs.ref('job_id', r)}, {jobs.ref(column, r)}." for r in others[:MAX_SAID])], [
        jobs.id
    ]

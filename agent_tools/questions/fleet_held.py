"""What the examiner makes of a question for what jobs took of the cluster: the GPU time that they held, and how long they waited for it."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

from agent_tools.evidence import Evidence
from agent_tools.questions.fleet_picked import ALL, AMOUNT, NONE, as_said
from agent_tools.questions.fleet_use import MAX_SAID, Said, declined
from agent_tools.questions.lookup_says import asked
from agent_tools.tools.base import Deps
from store import lazy

_TIME = r"(?:times?|how long|long(?:er|est)?|shortest|average|mean|median|most|hours?|minutes?|delay\w*)"
_QUEUED = r"(?:wait\w*|queu\w*|pend(?:ing|ed))"
_WAITS = lazy.compile(rf"(?i)\b{_TIME}\b.{{0,60}}\b{_QUEUED}\b|\b{_QUEUED}\b.{{0,30}}\b{_TIME}\b")
_HELD = lazy.compile(r"(?i)\b(?:gpu|card|compute)[- ]?(?:hours?|time|minutes?|days?)\b")
_OTHERWISE = lazy.compile(r"(?i)\b(?:wast\w*|idl\w*|unused|lost|los(?:e|ing)|thrown)\b")
_WHO = lazy.compile(r"(?i)\bwho(?:se)?\b")
_JOBS = lazy.compile(
    r"(?i)\b(?:which|what|top|longest|biggest|list|show|any)\b.{0,20}\b(?:jobs?|runs?)\b|\b(?:per|by|each|every) job\b"
)
_NOBODY_WAITED = "Of no such job it is known how long it waited."
_NOT_KNOWN = "Of no such job it is known how many GPUs it held and for how long."
_KINDS: tuple[tuple[str, str, str, str], ...] = (
    (
        r"\b(?:temperatures?|temps?|hot\w*|heat\w*|warm\w*|cool\w*|thermals?|overheat\w*)\b",
        "temp_max_c",
        "core temperature {temp_last_c}, at most {temp_max_c}",
        "temp_last_c",
    ),
    (r"\b(?:power|watts?|draw\w*)\b", "power_max_w", "power {power_last_w}, at most {power_max_w}", "power_last_w"),
    (
        r"\b(?:memory|vram)\b",
        "fb_max_bytes",
        "memory in use {fb_last_bytes}, at most {fb_max_bytes}",
        "fb_last_bytes",
    ),
)
"""Words of a question, the column of `node_gpus` by which the GPUs stand in order, how it is said, and what must be known for it."""
_NO_MEASURE = lazy.compile(
    r"(?i)\b(?:out of|host|system|cpu|jobs|runs|ran|fail\w*|crash\w*|kill\w*|throttl\w*|errors?|leak\w*)\b"
)
_MOST = lazy.compile(
    r"(?i)\b(?:(?:hot|warm|cool)test|highest|most|max\w*|top|too hot|overheat\w*)\b.*\b(?:nodes?|hosts?|machines?|servers?|gpus?|cards?|cluster|fleet)\b"
    r"|\b(?:nodes?|hosts?|machines?|servers?|gpus?|cards?)\b.*\b(?:hottest|warmest|highest|most|too hot|overheat\w*)\b|\b(?:above|over|more than) \d+|\bhottest\b"
)
_OF_ONE = lazy.compile(r"(?i)\b(?:jobs?|ranks?|runs?|attempts?|process\w*|users?|steps?)\b")
_NOW = lazy.compile(r"(?i)\b(?:now|currently|at the moment|is|are)\b")
_ABOVE = lazy.compile(r"(?i)\b(?:above|over|more than)\s+(\d{1,5})\b")
_NOWHERE = "Nothing of the kind is recorded of a GPU of any node in that time."
_NOT_MEASURED = "Nothing of the kind is recorded of a GPU of this node in that time."


def of_waits(question: str) -> bool:
    """Whether a question is for how long jobs waited in the queue."""
    return _WAITS.search(question) is not None


def of_held(question: str) -> bool:
    """Whether a question is for the GPU time that somebody held, and not for what of it was lost."""
    return _HELD.search(question) is not None and _OTHERWISE.search(question) is None


def of_most(question: str) -> bool:
    """Whether a question is for the nodes or GPUs of the cluster that are the hottest, draw the most or hold the most memory."""
    return of_measures(question) and _MOST.search(question) is not None and _OF_ONE.search(question) is None


def of_measures(question: str) -> bool:
    """Whether a question about a node is for what its GPUs measured."""
    return any(re.search(words, question, re.I) for words, *_ in _KINDS) and _NO_MEASURE.search(question) is None


def waits(deps: Deps, question: str, by: str | None, given: dict[str, Any], only: Collection[str] = ()) -> Said:
    """How long jobs waited, by whom or what the question counts by or names; of some alone where it names several."""
    by = _each(question, by, given)
    by = by if by in ("user", "partition", "name", "day") else "all"
    found = [asked(deps, "queue_waits", by=each, **given) for each in dict.fromkeys((by, "all"))]
    said: list[str] = []
    for e in (e for e in found if e is not None):
        rows = [(r, row["value"]) for r, row in enumerate(e.dicts()) if row["value"] and row["started"]]
        for r, value in [(r, v) for r, v in rows if not only or v in {*only, "all"}][:MAX_SAID]:
            who = "Such jobs together" if value == "all" else e.ref("value", r)
            said.append(
                f"{who}: {e.ref('mean_s', r)} in the queue on average and {e.ref('median_s', r)} in the median, over {e.ref('started', r)} attempts that started;"
                f" the longest was job {e.ref('longest_job', r)} with {e.ref('longest_s', r)}."
            )
    last = found[-1]
    if last is not None and last.rows and last.value("waiting"):
        said.append(f"Attempts that are pending: {last.ref('waiting')}.")
    return said or [_NOBODY_WAITED if any(e is not None and e.rows for e in found) else NONE], [
        e.id for e in found if e is not None
    ]


def held(deps: Deps, question: str, by: str | None, given: dict[str, Any], only: Collection[str] = ()) -> Said:
    """The GPU time that was held, the most first: by jobs, or by whom or what the question counts by or names."""
    amount = AMOUNT.search(question)
    amount = amount if amount is not None and amount["gpu"] else None
    by = "job" if _JOBS.search(question) or amount is not None else _each(question, by, given) or "all"
    by = "all" if by == "family" else by
    each = asked(deps, "fleet_tally", by=by, max_rows=ALL, **given)
    whole = asked(deps, "fleet_tally", by="all", **given) if by != "all" and amount is None else None
    if each is None or not each.rows:
        return [NONE], [each.id] if each is not None else []
    hours = {r: float(v) for r, row in enumerate(each.dicts()) if isinstance(v := row["gpu_hours_held"], int | float)}
    if not hours:
        return [_NOT_KNOWN], [each.id]
    if amount is not None:
        hours = {r: v for r, v in hours.items() if as_said(amount, v)}
    most = sorted(
        (r for r in hours if each.value("value", r) in (only or {row["value"] for row in each.dicts()} - {None})),
        key=lambda r: (-hours[r], r),
    )
    said = [_holding(each, r, by) for r in most[:MAX_SAID]]
    said += [_holding(whole, 0, "all")] if whole is not None and whole.rows and len(most) > 1 else []
    return said or [NONE], [e.id for e in (each, whole) if e is not None]


def _each(question: str, by: str | None, given: dict[str, Any]) -> str | None:
    """By what is counted: as the question says, else by what it names, so that the answer names it too."""
    if by is None and _WHO.search(question):
        return "user"
    return by or next((name for name in ("user", "partition", "name") if name in given), None)


def _holding(e: Evidence, r: int, by: str) -> str:
    who = "In all" if by == "all" else f"Job {e.ref('value', r)}" if by == "job" else e.ref("value", r)
    return f"{who}: {e.ref('gpu_hours_held', r)} of GPU time held in {e.ref('attempts', r)} attempts."


def measured(deps: Deps, node: str | None, question: str, times: dict[str, Any]) -> Said:
    """What the GPUs of a node (or of any node, the most first) measured last and at most, of what a question asks for."""
    e = asked(deps, "node_gpus", node=node, **times) if node else asked(deps, "node_gpus", max_rows=ALL, **times)
    if e is None:
        return declined(deps), []
    said: list[str] = []
    for words, column, how, needed in _KINDS:
        if not re.search(words, question, re.I):
            continue
        column = needed if node is None and _NOW.search(question) else column
        known = {r: float(v) for r, row in enumerate(e.dicts()) if isinstance(v := row[column], int | float)}
        if node is None and (bound := _ABOVE.search(question)) is not None and not column.startswith("fb_"):
            known = {r: v for r, v in known.items() if v > float(bound[1])}
        for r in sorted(known, key=lambda r: (-known[r], r))[:MAX_SAID]:
            if e.value(needed, r) is None:
                continue
            card = f"GPU {e.ref('gpu' if e.value('gpu', r) is not None else 'gpu_uuid', r)}"
            values = how.format_map({c.name: e.ref(c.name, r) for c in e.columns})
            said.append(f"{card} of {e.ref('node', r)}, measured last at {e.ref('last_ts', r)}: {values}.")
    return said or [_NOT_MEASURED if node else _NOWHERE], [e.id]

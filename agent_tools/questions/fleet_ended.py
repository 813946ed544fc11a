"""What the examiner makes of a question for the last jobs, for those that ended by a status or signal, and for two times beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from signal import Signals
from typing import Any

from agent_tools.evidence import Evidence
from agent_tools.questions.fleet_lines import FAILED, FAILED_WORDS, ended, tally
from agent_tools.questions.fleet_picked import ALL, NONE
from agent_tools.questions.fleet_use import MAX_SAID, Said
from agent_tools.questions.lookup_says import asked
from agent_tools.questions.when import window
from agent_tools.tools.base import Deps
from store import lazy

_LAST = lazy.compile(
    r"(?i)\b(?:last|latest|newest|(?:most )?recent)\s+(?:(?P<n>\d{1,3})\s+)?(?:\w+ ){0,2}(?:jobs?|runs?|attempts?)\b"
    r"|\b(?P<m>\d{1,3})\s+(?:last|latest|newest|(?:most )?recent)\b|\b(?:run|submit\w*|launch\w*)\s+last\b"
)
_SEVERAL, _FEW = lazy.compile(r"(?i)\b(?:jobs|runs|attempts)\b"), 3
_STATUS = lazy.compile(
    r"(?i)\b(?:(?:exit|return)[ -]?(?:code|status)|exited with(?: code| status)?|rc)\s*[=:]?\s*(\d{1,3})\b"
)
_SIGNAL = lazy.compile(r"(?i)\b(sig[a-z]{2,6})\b|\bsignal\s+(\d{1,2})\b")
_TIME = lazy.compile(
    r"(?i)\b(?:(?:this|last|past) (?:week|month|year)|today|yesterday|last night"
    r"|(?:in )?(?:january|february|march|april|may|june|july|august|september|october|november|december))\b"
)
_BESIDE = lazy.compile(r"(?i)\b(?:compar\w*|versus|vs|than|or|difference)\b")
_NONE_THEN = "No job that these words name is in the store for either time."


def of_status(question: str) -> tuple[int | None, int | None] | None:
    """The exit status or the signal by which a question wants jobs; None for any other question."""
    if (status := _STATUS.search(question)) is not None:
        code = int(status[1])
        return code, code - 128 if code > 128 else None
    if (signal := _SIGNAL.search(question)) is not None:
        known = Signals.__members__.get(signal[1].upper()) if signal[1] else int(signal[2])
        return (128 + known, int(known)) if known else None
    return None


def by_status(deps: Deps, meant: tuple[int | None, int | None], given: dict[str, Any]) -> Said:
    """The jobs that ended with that status, or by the signal that a shell tells so."""
    jobs = asked(deps, "find_jobs", told=False, max_rows=ALL, **given)
    if jobs is None:
        return [], []
    code, signal = meant
    said: list[str] = []
    for r, row in enumerate(jobs.dicts()):
        if row["exit_code"] is not None and row["exit_code"] == code:
            said.append(f"{ended(jobs, r)[:-1]}, exit status {jobs.ref('exit_code', r)}.")
        elif signal and row["exit_signal"] == signal:
            said.append(f"{ended(jobs, r)[:-1]}, by signal {jobs.ref('exit_signal', r)}.")
    return said[:MAX_SAID] or [NONE], [jobs.id]


def of_last(question: str) -> int:
    """How many of the last jobs a question wants; 0 for any other question."""
    found = _LAST.search(question)
    if found is None:
        return 0
    if number := found["n"] or found["m"]:
        return min(int(number), MAX_SAID)
    return MAX_SAID if _SEVERAL.search(found[0]) else _FEW


def last(deps: Deps, question: str, many: int, given: dict[str, Any]) -> Said:
    """The last jobs, the newest first, of those that failed where the question is for them."""
    jobs = asked(
        deps, "find_jobs", told=False, max_rows=ALL, **given
    )  # the last that failed may be behind many that did not
    if jobs is None:
        return [], []
    failed = FAILED_WORDS.search(question) is not None
    rows = [r for r, row in enumerate(jobs.dicts()) if not failed or row["state"] in FAILED]
    return [ended(jobs, r) for r in rows[:many]] or [NONE], [jobs.id]


def two_times(question: str, now: datetime) -> Sequence[dict[str, str]]:
    """The bounds of the two times that a question sets beside each other; none for any other question."""
    named = list(dict.fromkeys(m[0].lower().removeprefix("in ") for m in _TIME.finditer(question)))
    if len(named) != 2 or _BESIDE.search(question) is None:
        return []
    found = [window(text if " " in text else f"in {text}", now) for text in named]
    spans = [{k: v for k, v in (("since", s), ("until", u)) if v is not None} for s, u in found]
    for this, before in ((0, 1), (1, 0)):
        word, unit = named[this].partition(" ")[::2]
        if word == "this" and named[before].endswith(f" {unit}"):
            # the whole week before this one, and not the last seven days
            begun = spans[this]["since"]
            spans[before] = {"since": _one_before(begun, unit), "until": begun}
    return spans if all(spans) else []


def _one_before(begun: str, unit: str) -> str:
    """The begin of the week, month or year before the one that has this begin."""
    at = datetime.fromisoformat(begun)
    if unit == "week":
        at -= timedelta(days=7)
    else:
        at = (at - timedelta(days=1)).replace(day=1)
        at = at.replace(month=1) if unit == "year" else at
    return f"{at:%Y-%m-%dT%H:%M:%SZ}"


def beside_times(deps: Deps, spans: Sequence[dict[str, str]], given: dict[str, Any]) -> Said:
    """How jobs ended in each of two times."""
    said: list[str] = []
    counts: list[tuple[str, Evidence]] = []
    for span, which in zip(spans, ("first", "last"), strict=True):
        limits: dict[str, Any] = {**given, **span}
        e = asked(deps, "fleet_tally", by="all", **limits)
        if e is None or not e.rows:
            continue
        counts.append((which, e))
        said += [f"Of the time named {which}: {t[0].lower()}{t[1:]}" for t in tally(e, "all")]
    if len(said) == 1:
        said = [f"{said[0][:-1]}; of the other no such job is in the store."]
    return [*_which_more(counts), *said] or [_NONE_THEN], [e.id for _, e in counts]


def _which_more(counts: Sequence[tuple[str, Evidence]]) -> list[str]:
    """In which of two times more attempts failed."""
    if len(counts) != 2:
        return []
    less, more = sorted(counts, key=lambda c: int(str(c[1].value("failed") or 0)))
    if less[1].value("failed") == more[1].value("failed"):
        return [f"As many attempts failed in each of the times: {more[1].ref('failed')}."]
    return [
        f"More attempts failed in the time named {more[0]}: {more[1].ref('failed')}, beside {less[1].ref('failed')} in the other."
    ]

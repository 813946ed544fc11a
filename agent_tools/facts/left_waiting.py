"""An error of one rank, printed with no traceback, after which the others waited for that rank until their watchdogs spoke.

A logger's word of an error may be that of something caught. Where nothing was trained after it, and the rank that printed it
is not among those that gave up waiting in a collective, it never came back to them.
"""

from __future__ import annotations

import re

from agent_tools.facts.core import Facts
from agent_tools.facts.views import RowView
from store import lazy

_BESIDE = lazy.compile(
    r"\bwandb\b|[Ww]eights ?& ?[Bb]iases|mlflow|comet|neptune|telemetry|tensorboard|\b[Rr]etry(?:ing)?\b", re.IGNORECASE
)
"""Services that a training does without, and what is tried again."""


def left_waiting(facts: Facts, row: RowView) -> RowView | None:
    """The first time-out of the other ranks after `row`, a row with file, line_no and rank; None where they did not wait for it."""
    line, file = row.number("line_no") or 0, row.text("file")
    steps = facts.progress.steps
    told = facts.table("nccl_events").one_of("name", "collective_timeout")
    if not told or not line or _BESIDE.search(row.text("message")):
        return None
    if any(r.text("file") != file or (r.number("line_no") or 0) < line for r in told):
        return None
    if steps is not None and (steps.text("file") != file or (steps.number("last_line") or 0) > line):
        return None
    ranks = {int(r.number("rank") or 0) for r in told if r.has("rank")}
    if not ranks:
        return None
    # Who printed it is not always named: then one of the ranks below the highest has to be lacking.
    silent = int(row.number("rank") or 0) not in ranks if row.has("rank") else len(ranks) <= max(ranks)
    return told[0] if silent else None


def hung_before(facts: Facts, row: RowView) -> bool:
    """Whether a collective had timed out before this was printed in the same file: then it is what the end of a hang is like."""
    told = facts.table("nccl_events").one_of("name", "collective_timeout")
    line = row.number("line_no") or 0
    return any(r.text("file") == row.text("file") and 0 < (r.number("line_no") or 0) < line for r in told)


def unreached_service(facts: Facts) -> RowView | None:
    """The last word of a service that could not be reached, where the other ranks waited after it for whoever said so."""
    words = facts.table("other_events").where(lambda r: r.text("kind") == "network" and r.text("severity") == "error")
    return next((r for r in reversed(list(words)) if left_waiting(facts, r) is not None), None)

"""XIDs that applications cause, beside a CUDA error of the program: the driver's word of the same access, and no fault of a card.

The same code on one GPU again and again, over runs that have nothing else in common, is the hardware's; so what else that GPU
reported is looked up.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from agent_tools.facts import Facts, RowView
from agent_tools.facts.exceptions import Raised
from agent_tools.families.base import Assessment
from agent_tools.families.faulted_gpus import event_said, same_gpu
from agent_tools.families.wording import claim, gpu_of, missing
from agent_tools.verdict import Claim

_ACCESS = frozenset({13.0, 31.0})
"""An exception of the graphics engine, and a page fault: what the driver reports of an illegal access."""
_LOOKED_BACK_D = 14
_OPEN = 0.6
"""Highest confidence in the program's error where the same GPU had reported the same code before this run."""
_BETWEEN_S = 3600.0
"""Reports so far apart are of different work."""


def access_xid(facts: Facts) -> RowView | None:
    """The first event of the run by which the driver reports an illegal access; None where there is none."""
    return next((r for r in facts.table("gpu_events") if r.number("xid") in _ACCESS), None)


def asserted(facts: Facts, cause: Raised) -> list[Claim]:
    """The kernel's own check that failed: it says what was out of bounds, where the runtime's error says only that one failed."""
    row = next((r for r in facts.table("cuda_errors") if r.text("name") == "device_assert"), None)
    if row is None or "assert" not in cause.message:
        return []
    return [claim(f"The kernel's own check says why: {row['message']} ({row['file']} line {row['line_no']}).")]


def told_by_driver(facts: Facts, result: Assessment) -> None:
    """Say beside a CUDA error of the program what the driver reported of it, and doubt the program where that GPU does it again."""
    row = access_xid(facts)
    if row is None:
        return
    result.speaks_for.append(
        claim(
            f"{event_said(row)} Applications cause this code: it is the driver's word of the same access.", "supported"
        )
    )
    before = _before(facts, row)
    if before is None:
        result.missing.append(
            missing(
                f"Whether {gpu_of(row)} reports this code in other jobs too, which alone would make it the hardware's.",
                "the kernel log of that node over other jobs (gpu_event)",
            )
        )
        return
    result.confidence, result.attribution = min(result.confidence, _OPEN), "undetermined"
    again = f"{gpu_of(before)} had reported XID {before['xid']} before this run too, {before['events']} times since {before['event_ts']}"
    result.speaks_for.append(claim(f"{again}."))
    result.implies.append(
        claim(
            "The same code on the same GPU again and again, whatever runs there, points at the hardware.", "hypothesis"
        )
    )
    result.actions.append(claim(f"Rerun without {gpu_of(row)}: if the error stays away, have that GPU tested."))
    result.warnings.append(claim(f"{again}: have it looked at.", "supported"))


def _before(facts: Facts, row: RowView) -> RowView | None:
    """The same code on this GPU alone, on several occasions in the two weeks before the run; None where that is not known.

    A program that goes wrong does so on whatever GPUs it gets, and more than once where it is started again.
    """
    begin = facts.scope["from_ts"]
    if not begin:
        return None
    since = (_time(begin) - timedelta(days=_LOOKED_BACK_D)).isoformat()
    alike = [r for r in facts.table("gpu_events", from_ts=since, to_ts=begin) if r.get("xid") == row.get("xid")]
    others = [
        r for r in (*alike, *facts.table("gpu_events")) if r.get("xid") == row.get("xid") and not same_gpu(r, row)
    ]
    own = next((r for r in alike if same_gpu(r, row)), None)
    if own is None or others:
        return None
    # The answer reaches some minutes into the run, whose own events are not meant.
    last = min(_time(own.text("last_ts")), _time(begin))
    return own if (last - _time(own.text("event_ts"))).total_seconds() >= _BETWEEN_S else None


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))

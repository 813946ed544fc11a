"""Early warnings on a job that still runs: the families' own judgement on what is there so far, and nothing weaker.

A running job has no end to explain, so only what is confirmed by itself counts: a collective that is stuck, a GPU that
reports a fault, a loss that is gone. Silence alone is a hang when it lasts far longer than any pause before.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from agent_tools.cost import cost
from agent_tools.evidence import Asks, Ledger
from agent_tools.facts import Facts
from agent_tools.families import b2_gpu_fault, c2_collective_hang, e1_loss_divergence
from agent_tools.families.base import Assessment
from agent_tools.references import render_text

SURE = 0.6
QUIET_S, TIMES_USUAL, TIMES_LONGEST = 600.0, 20.0, 3.0


@dataclass(slots=True)
class Early:
    """A warning in words. `kind` is hang, gpu or diverged; `held` the GPU-hours that the job has held so far."""

    kind: str
    title: str
    headline: str
    confidence: float
    attribution: str
    shows: list[str] = field(default_factory=list[str])
    actions: list[str] = field(default_factory=list[str])
    held: float | None = None


def early(reader: Asks, job_id: str, attempt: int | None, now: datetime) -> list[Early]:
    """The warnings that hold at the moment `now` (UTC), at most one of each kind. Raises StoreError."""
    ledger = Ledger()
    facts = Facts(reader, ledger, job_id, attempt)
    found = [
        made
        for kind, title, assessment in (
            ("gpu", "a GPU reports a fault", b2_gpu_fault.assess(facts)),
            ("hang", "the job hangs in a collective", c2_collective_hang.assess(facts)),
            ("diverged", "the loss is lost", e1_loss_divergence.assess(facts)),
        )
        if (made := _judged(kind, title, assessment, ledger)) is not None
    ]
    if not any(e.kind == "hang" for e in found):
        found += _silent(facts, ledger, now)
    if found:
        held = cost(reader, ledger, job_id, attempt, "C2").gpu_hours_held
        for made in found:
            made.held = held
    return found


def _judged(kind: str, title: str, a: Assessment, ledger: Ledger) -> Early | None:
    if a.status != "confirmed" or a.confidence < SURE:
        return None
    return Early(
        kind,
        title,
        _words(a.headline, ledger),
        a.confidence,
        a.attribution,
        [_words(c.text, ledger) for c in a.speaks_for[:4]],
        [_words(c.text, ledger) for c in a.actions[:3]],
    )


def _silent(facts: Facts, ledger: Ledger, now: datetime) -> list[Early]:
    row = facts.table("quiet_now", now_ts=now.isoformat()).first
    if row is None or (row.number("reports") or 0) < 8:
        return []
    quiet, usual, longest = (row.number(c) or 0.0 for c in ("quiet_s", "usual_gap_s", "longest_gap_s"))
    if quiet < max(QUIET_S, TIMES_USUAL * usual, TIMES_LONGEST * longest):
        return []
    return [
        Early(
            "hang",
            "no progress",
            _words(f"The job has reported no progress for {row['quiet_min']} minutes.", ledger),
            0.6,
            "undetermined",
            [
                _words(f"The usual pause between two reports is {row['usual_gap_s']} s.", ledger),
                _words(f"The longest so far was {row['longest_gap_s']} s.", ledger),
            ],
            [
                "Look at a stack of every rank (py-spy dump) before you end the job.",
                "An evaluation or a save may be long.",
            ],
        )
    ]


def _words(text: str, ledger: Ledger) -> str:
    return "".join(s.text for s in render_text(text, ledger))

"""How a job ended: Slurm's accounting, its events, and what slurmstepd and srun wrote into the log."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from agent_tools.facts.views import RowView, View

FAILED_STATES = {"FAILED", "OUT_OF_MEMORY", "NODE_FAIL", "TIMEOUT", "DEADLINE", "BOOT_FAIL", "PREEMPTED", "CANCELLED"}

_WORDS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("time_limit", re.compile(r"DUE TO TIME ?-?LIMIT|time limit exhausted|Job step aborted.*time limit", re.I)),
    ("preempted", re.compile(r"DUE TO PREEMPT", re.I)),
    ("requeued", re.compile(r"DUE TO JOB REQUEUE|JOB REQUEUED?\b|has been requeued", re.I)),
    ("node_fail", re.compile(r"DUE TO NODE FAIL|Node failure on|node \S+ (has )?failed|DUE TO NODE|launch failed.*node", re.I)),
    ("host_oom", re.compile(r"oom[_-]kill|out[ -]of[ -]memory|exceeded (job|step|virtual|memory) .{0,30}(memory|limit)|OOM Kill", re.I)),
    ("cancelled", re.compile(r"CANCELLED AT|\bCANCELLED\b.{0,40}\*\*\*|Cancelled by|revoked", re.I)),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Ending:
    """`marks` maps what was said of the end (time_limit, preempted, requeued, node_fail, host_oom, cancelled) to a reference."""

    state: str
    marks: dict[str, RowView] = field(default_factory=dict[str, RowView])
    succeeded: bool = False
    failed: bool = False

    def says(self, mark: str) -> bool:
        """Whether the log's Slurm lines say so."""
        return mark in self.marks


def read_ending(overview: RowView | None, messages: View, events: View) -> Ending:
    """Judge accounting's row, the log's Slurm lines and the scheduler's events."""
    state = overview.text("state").upper() if overview else ""
    marks: dict[str, RowView] = {}
    for row in messages:
        text = f"{row.text('name')} {row.text('message')}"
        for mark, pattern in _WORDS:
            if pattern.search(text):
                marks.setdefault(mark, row)
                break
    for row in events:
        word = f"{row.text('event')} {row.text('state')}".lower()
        if "preempt" in word:
            marks.setdefault("preempted", row)
        if "requeue" in word:
            marks.setdefault("requeued", row)
        if "node_fail" in word:
            marks.setdefault("node_fail", row)
    code = overview.number("exit_code") if overview else None
    signal = overview.number("exit_signal") if overview else None
    succeeded = state == "COMPLETED" and not code and not signal
    return Ending(state, marks, succeeded, state in FAILED_STATES or bool(code) or bool(signal))

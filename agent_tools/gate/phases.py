"""Is what is put into training of a run that trained? `The crash came during training` is false of one that reported no step.

The crash came during training: [[E6.name]].            a report of the run is known
Training had begun when [[E6.name]] was raised.
"""

from __future__ import annotations

from collections.abc import Sequence

from agent_tools.evidence import CellValue, Evidence, Ledger
from agent_tools.gate.clauses import size
from agent_tools.references import masked
from store import lazy

_TRAINING = lazy.compile(
    r"(?i)\b(?:during|amid|midway through|in the middle of|in the midst of|in the course of|while|whilst) training\b|\bmid-?training\b"
    r"|\btraining (?:had (?:already )?(?:begun|started)|was (?:already )?(?:under ?way|running|going on|in progress|in full swing))\b"
    r"|\b(?:after|once) training (?:had |has )?(?:begun|began|started)\b|\bwhile (?:it|the (?:job|run|model)) (?:was training|trained)\b"
    r"|\b(?:stopped|ended|halted|interrupted|broke off|killed|aborted|cut short) (?:the )?training\b"
    r"|\b(?<!no )training (?:stopped|ended|broke off|halted|ceased|stalled)\b|\b(?:got|came|made it) (?:as far as|to) (?:its|the) first (?:training )?step\b"
)
_DENIED = lazy.compile(
    r"(?i)\b(?:no|not|never|before|until|unless|whether|if|nor|without)\b[^,;:]{0,32}$|n['’]t\b[^,;:]{0,32}$"
)
_REPORTS = {"train_summary": "reports", "short_run": "reports", "run_ending": "reports", "loss_shape": "points"}
"""Answers that say how often a run reported on its training, and in which column."""


def untrained(text: str, cells: Sequence[CellValue], ledger: Ledger) -> str:
    """The words that put something into training, of a job of which no report is known; "" where one is, or nothing is said."""
    own = masked(text)
    found = next((m for m in _TRAINING.finditer(own) if not _DENIED.search(own[: m.start()])), None)
    jobs = {str(job) for c in cells if (job := ledger.get(c.id).params.get("job_id")) is not None}
    if found is None or any(_reported(e, jobs) for e in ledger.all()):
        return ""
    return found[0].lower()


def _reported(evidence: Evidence, jobs: set[str]) -> bool:
    column = _REPORTS.get(evidence.query)
    job = evidence.params.get("job_id")
    if column is None or (jobs and str(job) not in jobs) or not any(c.name == column for c in evidence.columns):
        return False
    counts = [size(evidence.value(column, r)) for r in range(len(evidence.rows))]
    return any(isinstance(n, float) and n > 0 for n in counts)

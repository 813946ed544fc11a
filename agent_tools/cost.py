"""GPU time that the job held, and how much of it the failure cost.

Wasted is what has to be run again: everything after the last checkpoint where one is known, everything where the job never
made progress, nothing where it did what it was asked to. Slow runs wasted something, but how much needs a baseline.
"""

from __future__ import annotations

from agent_tools.evidence import Asks, Evidence, Ledger
from agent_tools.verdict import Cost
from store.result import StoreError

_NOTHING_DONE = frozenset({"A1", "A4", "C1"})
_LOST_SINCE_CHECKPOINT = frozenset({"A2", "A3", "B1", "B2", "C2", "C3", "F1", "F3", "F4"})
_STOOD_STILL = frozenset({"C2", "C3"})
_NOTHING_LOST = frozenset({"G1"})
_LAST = ("the last completed collective", "the last launch of a kernel")


def cost(reader: Asks, ledger: Ledger, job_id: str, attempt: int | None, family: str) -> Cost:
    """Held and wasted GPU-hours, each a cell that `basis` cites; None where accounting does not say."""
    try:
        evidence = ledger.ask(reader, "job_cost", tool="cost", job_id=job_id, attempt=attempt)
    except StoreError:
        return Cost(basis="The cost could not be asked for.")
    held = _hours(evidence, "gpu_hours_held")
    if held is None:
        return Cost(basis="No accounting that is here says how many GPUs the job held, or for how long.")
    ledger.mark_shown(evidence.id)
    said = f"GPU-hours held, all attempts: {evidence.ref('gpu_hours_held')}."
    column, why = _wasted(evidence, family)
    rest = _at_rest(evidence, reader, ledger, job_id, attempt) if family in _STOOD_STILL else None
    if rest is not None and column != "gpu_hours_held":
        when = f"{rest.ref('gpu_hours_still')} of GPU time came after {_LAST[rest.value('told_by') == 'launches']}"
        if column is None:
            why = f"Wasted, at the least: {when}; how much before that has to be run again is not known."
            return Cost(gpu_hours_held=held, gpu_hours_wasted=_hours(rest, "gpu_hours_still"), basis=f"{said} {why}")
        why = f"{why}; {when}"
    if column is None:
        return Cost(
            gpu_hours_held=held, gpu_hours_wasted=0.0 if family in _NOTHING_LOST else None, basis=f"{said} {why}"
        )
    return Cost(
        gpu_hours_held=held,
        gpu_hours_wasted=_hours(evidence, column),
        basis=f"{said} Wasted: {evidence.ref(column)} ({why}).",
    )


def _wasted(evidence: Evidence, family: str) -> tuple[str | None, str]:
    idle = family == "C3" and evidence.value("steps") == 0 and evidence.value("checkpoints") == 0
    if family in _NOTHING_DONE or idle:
        return "gpu_hours_held", "no step was done"
    if family in _NOTHING_LOST:
        return None, "Nothing has to be run again."
    if family == "E2" and evidence.value("gpu_hours_last") is not None:
        return "gpu_hours_last", "the whole last attempt: it did not go on from the checkpoint"
    if family == "E3" and evidence.value("gpu_hours_last") is not None:
        return "gpu_hours_last", "the whole last attempt: so few steps train nothing"
    if family == "E1" and _hours(evidence, "gpu_hours_after_bad") is not None:
        return "gpu_hours_after_bad", "the time after the first loss that is not finite"
    if family in _LOST_SINCE_CHECKPOINT:
        return _since_checkpoint(evidence, family)
    return None, "Wasted: not known without a baseline for this workload."


def _since_checkpoint(evidence: Evidence, family: str) -> tuple[str | None, str]:
    if evidence.value("last_state") == "RUNNING" and family not in _STOOD_STILL:
        return None, "Wasted: not known while the job runs."
    still = ""
    if family in _STOOD_STILL and _hours(evidence, "gpu_hours_after_progress") is not None:
        still = f"; {evidence.ref('gpu_hours_after_progress')} of GPU time went by while the job stood still"
    if _hours(evidence, "gpu_hours_after_checkpoint") is not None:
        return "gpu_hours_after_checkpoint", f"the time after the last checkpoint of the last attempt{still}"
    if evidence.value("checkpoints") == 0 and evidence.value("gpu_hours_last") is not None:
        why = (
            "its log names no saved checkpoint"
            if evidence.value("logged")
            else "no log is here that could name a checkpoint"
        )
        return "gpu_hours_last", f"the whole last attempt: {why}{still}"
    if _hours(evidence, "gpu_hours_after_steps") is not None and family not in _STOOD_STILL:
        return "gpu_hours_after_steps", "by the share of steps that came after the last checkpoint"
    if still:
        return (
            "gpu_hours_after_progress",
            "at the least: that long the job stood still; the last checkpoint has no time",
        )
    return None, "Wasted: not known, the last checkpoint has no time."


def _at_rest(evidence: Evidence, reader: Asks, ledger: Ledger, job_id: str, attempt: int | None) -> Evidence | None:
    """Since when a run stood still by what it did on its GPUs, where no report of the log has a time that says so."""
    if _hours(evidence, "gpu_hours_after_progress") is not None:
        return None
    try:
        rest = ledger.ask(reader, "gpu_hours_still", tool="cost", job_id=job_id, attempt=attempt)
    except StoreError:
        return None
    if _hours(rest, "gpu_hours_still") is None:
        return None
    ledger.mark_shown(rest.id)
    return rest


def _hours(evidence: Evidence, column: str) -> float | None:
    value = evidence.value(column)
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None

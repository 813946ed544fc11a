"""Steps that failed, or were cancelled or timed out: in a job that Slurm calls completed, because its script went on, or in one of which nothing else is known."""

from __future__ import annotations

from collections.abc import Sequence

from agent_tools.facts.core import Facts
from agent_tools.facts.views import RowView

_SHELLS = frozenset({"batch", "extern", "interactive"})
_ENDED = frozenset({"CANCELLED", "TIMEOUT", "OUT_OF_MEMORY", "NODE_FAIL"})
"""States of a step that was ended, whatever the status with which its program took it."""
_SIGNALS = range(1, 65)
_OOM = 125
"""What Slurm puts in a signal's place where the out-of-memory killer struck."""


def failed_steps(facts: Facts, *, of_any: bool = False) -> Sequence[RowView]:
    """The steps that were ended, or have an exit status or a signal, the first first; those of a job that did not complete only with `of_any`."""
    completed = facts.ending.succeeded or facts.ending.hidden is not None
    if not (of_any or completed) or not facts.has("slurm_step"):
        return ()
    return facts.table("job_steps").where(
        lambda r: (
            r.text("step_id") not in _SHELLS
            and not _of_attempt_before(facts, r)
            and bool(
                r.number("exit_code") or exit_signal(r) or r.number("exit_signal") == _OOM or r.text("state") in _ENDED
            )
        )
    )


def left_by_script(facts: Facts) -> RowView | None:
    """The step that Slurm ended because the batch script had ended well without waiting for it; None where there is none.

    SOURCE: Slurm's job_complete() ends what is left of a job's steps once the batch script has exited. Nobody is named for it then.
    """
    o = facts.overview
    if o is None or facts.state != "COMPLETED" or not o.has("end_ts") or not facts.has("slurm_step"):
        return None
    rows = facts.table("job_steps").where(
        lambda r: (
            r.text("step_id").isdigit()
            and r.text("state") == "CANCELLED"
            and not r.has("cancelled_by")
            and r.text("end_ts") >= o.text("end_ts")
        )
    )
    return next(iter(rows), None)


def _of_attempt_before(facts: Facts, step: RowView) -> bool:
    """Whether a step is one of an attempt that was over before the last one began: its end is told with the requeue."""
    o = facts.overview
    if o is None:
        return False
    if step.has("attempt") and o.has("attempt"):
        return (step.number("attempt") or 0) < (o.number("attempt") or 0)
    return step.has("end_ts") and o.has("start_ts") and step.text("end_ts") <= o.text("start_ts")


def step_words(row: RowView) -> str:
    """`step 0 (python) ended as FAILED with exit status 9`."""
    name = f" ({row['name']})" if row.has("name") else ""
    text = f"step {row['step_id']}{name} ended as {row['state']}"
    if row.number("exit_code"):
        return f"{text} with exit status {row['exit_code']}"
    return f"{text} by signal {row['exit_signal']}" if exit_signal(row) else text


def exit_signal(row: RowView) -> int:
    """The signal in the second half of Slurm's exit code, else 0: from 65 on that half is a word of Slurm's own."""
    number = int(row.number("exit_signal") or 0)
    return number if number in _SIGNALS else 0

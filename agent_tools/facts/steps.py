"""Steps that failed inside a job that Slurm records as completed: the batch script went on, and its last command decided."""

from __future__ import annotations

from collections.abc import Sequence

from agent_tools.facts.core import Facts
from agent_tools.facts.views import RowView

_SHELLS = frozenset({"batch", "extern", "interactive"})
_NO_SIGNAL = 126


def failed_steps(facts: Facts) -> Sequence[RowView]:
    """The steps with an exit status or a signal, the first first; none where the job itself is recorded as failed."""
    if not facts.ending.succeeded or not facts.has("slurm_step"):
        return ()
    return facts.table("job_steps").where(
        lambda r: r.text("step_id") not in _SHELLS and bool(r.number("exit_code") or _signal(r))
    )


def step_words(row: RowView) -> str:
    """`step 0 (python) ended as FAILED with exit status 9`."""
    name = f" ({row['name']})" if row.has("name") else ""
    text = f"step {row['step_id']}{name} ended as {row['state']}"
    if row.number("exit_code"):
        return f"{text} with exit status {row['exit_code']}"
    return f"{text} by signal {row['exit_signal']}"


def _signal(row: RowView) -> float:
    number = row.number("exit_signal") or 0
    return number if number < _NO_SIGNAL else 0

"""Components of a heterogeneous job: accounting gives all of them one end, and only one of them may have failed.

    4840+0   FAILED 4:0     the script; its part of the step completed
    4840+1   FAILED 4:0     its part of the step failed

Only the first component runs the script and has the output; the exit status of all is the script's, which may pass over a step's.
"""

from __future__ import annotations

from agent_tools.facts.core import Facts
from agent_tools.facts.steps import step_words
from agent_tools.facts.views import RowView
from store import lazy

_COMPONENT = lazy.compile(r"(\d+)\+(\d+)\Z")
_MOST = 16
"""Components that are looked at; most such jobs have two or three."""


def failed_elsewhere(facts: Facts) -> str:
    """What to say of a component that did not fail by itself, with the one that did; empty for every other job."""
    found = _COMPONENT.match(facts.job_id)
    if (
        found is None
        or facts.state not in ("FAILED", "COMPLETED")
        or any(_failed(r) for r in _steps(facts, facts.job_id))
    ):
        return ""
    for number in range(_MOST):
        other = f"{found[1]}+{number}"
        if other == facts.job_id:
            continue
        overview = facts.table("job_overview", job_id=other).first
        if overview is None:
            break
        step = next((r for r in _steps(facts, other) if _failed(r)), None)
        if step is not None:
            return f"This component did not fail: {overview['job_id']} did, whose {step_words(step)}."
    if facts.state == "COMPLETED":  # whatever the script made of it
        return ""
    lead = facts.table("job_overview", job_id=f"{found[1]}+0").first if int(found[2]) else None
    script = next((r for r in facts.table("job_steps", job_id=f"{found[1]}+0") if r.text("step_id") == "batch"), None)
    if lead is None or script is None or not _failed(script):
        return ""
    return f"This component did not fail: the script did, which ran in {lead['job_id']} and ended as {script['state']}."


def _steps(facts: Facts, job_id: str) -> list[RowView]:
    return [r for r in facts.table("job_steps", job_id=job_id) if r.text("step_id").isdigit()]


def _failed(step: RowView) -> bool:
    return step.text("state") not in ("COMPLETED", "RUNNING", "")

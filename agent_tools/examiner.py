"""The examiner: the deterministic reasoner. It needs no key and no network, asks what the tools ask, passes the same gate.

It looks at the job as a model does first, and answers with the draft that the differential made, read and gated as a model's
answer is. The agents' framework is not loaded for it: that would be a third of all that a verdict takes.
"""

from __future__ import annotations

from pydantic import ValidationError

from agent_tools.citations import Gate
from agent_tools.sight import first_sight
from agent_tools.tools.base import Deps
from agent_tools.verdict import Draft
from agent_tools.written import WrittenDraft

CALLS = 2
"""What it asks for: the overview and the differential."""


def answer(deps: Deps) -> tuple[Draft, list[str]]:
    """The differential's draft where the gate lets it pass; else what of it does, and each problem with the rest."""
    first_sight(deps)
    deps.emit("differential")
    deps.ledger.show_all()
    gate = Gate()
    try:
        draft = WrittenDraft.model_validate(deps.draft.model_dump())
    except ValidationError:
        report = gate.prune(deps.draft, deps.ledger, deps.assessments, deps.draft)
        return report.draft, report.problems
    report = gate.check(draft, deps.ledger, deps.assessments, deps.draft)
    if report.ok:
        return report.draft, []
    deps.emit(f"the gate refuses {len(report.problems)} sentences")
    report = gate.prune(deps.draft, deps.ledger, deps.assessments, deps.draft)
    return report.draft, report.problems

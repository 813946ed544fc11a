"""What an answer may repeat: the sentences of the verdict that the rules give on the one job that it speaks of.

    "This was a decision of the scheduler or an operator."      cites nothing, and is the verdict's own inference

Said beside the cells of another job it would be told of that one, so there nothing may be repeated.
"""

from __future__ import annotations

from agent_tools.evidence import Ledger
from agent_tools.questions.answer import Answer, answer_texts
from agent_tools.references import BadReference, cited, resolve
from agent_tools.verdict import ClaimStatus, Draft


def flat(text: str) -> str:
    """A sentence by its words."""
    return " ".join(text.split())


def repeated(answer: Answer, ledger: Ledger, own: tuple[str, Draft] | None) -> dict[str, ClaimStatus]:
    """The sentences that an answer may repeat, each with its status; none where the answer cites anything of another job."""
    if own is None or not all(_of(ref, own[0], ledger) for ref in cited(answer_texts(answer))):
        return {}
    draft = own[1]
    told: dict[str, ClaimStatus] = {flat(r.text): "established" for r in draft.ruled_out}
    told |= {flat(c.text): c.status for c in (*draft.shows, *draft.implies)}
    return told


def _of(ref: str, job: str, ledger: Ledger) -> bool:
    """Whether a cell is of a job, by its row or by what was asked; of no job at all is not of this one."""
    try:
        cell = resolve(ref, ledger)
    except BadReference:
        return False
    evidence = ledger.get(cell.id)
    known = {c.name for c in evidence.columns}
    whose = evidence.value("job_id", cell.row) if "job_id" in known else evidence.params.get("job_id")
    return str(whose) == job

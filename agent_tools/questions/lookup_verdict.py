"""What the examiner says of its own verdict on the open job: whose the fault is, what it cost, how sure it is, and what else it could be."""

from __future__ import annotations

from agent_tools.cost import cost
from agent_tools.families.base import ruling
from agent_tools.questions.fleet import of_many
from agent_tools.tools.base import Deps
from agent_tools.verdict import Missing
from store import lazy

_OURS = r"(?:my|our|their|the (?:user|job)'?s?) (?:own )?(?:code|fault|job|program|script|bug|mistake|side|end)"
_THEIRS = r"(?:cluster|hardware|nodes?|gpus?|machines?|systems?|infra\w*|platform|network|storage|admins?|operators?)"
_WHOSE = lazy.compile(
    rf"(?i)\b(?:is|was) (?:it|this|that) {_OURS}\b|\b{_OURS} or (?:(?:is|was) it )?(?:the |your |a )?{_THEIRS}\b|\b{_THEIRS} or (?:(?:is|was) it )?{_OURS}\b"
    r"|\bwhose (?:fault|problem|mistake|doing)\b|\bwho(?:'s| is| was)? (?:to blame|at fault|responsible)\b"
    r"|\bwhom? (?:do|should|must|can) (?:i|we) (?:call|page|ask|tell|blame|talk)\b"
)
_SURE = lazy.compile(
    r"(?i)\b(?:how|are you) (?:sure|certain|confident|reliable)\b|\bconfidence\b|\bcan (?:i|we) (?:trust|rely)\b|\bdo you really\b"
)
_ELSE = lazy.compile(
    r"(?i)\bwhat else (?:could|might|may|can|would|is|was) (?:it|this|that|be|have)\b|\b(?:something|anything) else\b|\bother (?:possible )?(?:causes?|explanations?|possibilit\w+|reasons?|suspects?)\b"
    r"|\balternativ\w+\b|\b(?:what|which) .{0,30}(?:ruled out|rule out|exclude\w*)\b"
)
_COST = lazy.compile(
    r"(?i)\bhow (?:much|many|expensive)\b.*\b(?:lost|los[et]|wast\w*|cost\w*|gpu[- ]?hours?|thrown away)\b|\bgpu[- ]?hours?\b|\bwhat did (?:it|this|that) cost\b"
)
_ANOTHER_S = lazy.compile(r"(?i)\b(?:did|does|do|has|have|by) (?!(?:it|this|that|the|my|our|we|i)\b)\w+|\w['’]s\b")
"""Of somebody else than the open job."""
_OF = {
    "job": "By the verdict it is a matter of the job, and not of the nodes or GPUs.",
    "infrastructure": "By the verdict it is a matter of the infrastructure, and not of the job.",
    "scheduler": "By the verdict it is a matter of the scheduler, and neither of the job nor of its nodes.",
    "user": "By the verdict it is a matter of who stopped the job.",
    "none": "By the verdict nothing is at fault.",
    "undetermined": "The verdict leaves open whose it is.",
}
_BANDS: tuple[tuple[float, str], ...] = (
    (0.85, "The verdict is sure of it; inquest why gives its confidence as a figure."),
    (0.65, "The verdict holds it for likely; inquest why gives its confidence as a figure."),
    (0.0, "The verdict is not sure of it; inquest why gives its confidence as a figure."),
)
MAX_SAID = 6


def of_verdict(deps: Deps, question: str) -> tuple[list[str], list[Missing]]:
    """Sentences, and what stays open; nothing for a question about anything else."""
    draft = deps.draft
    if _WHOSE.search(question):
        why = [*(c.text for c in draft.implies[:3]), *(c.text for c in draft.shows[:3])]
        return [_OF[draft.attribution], draft.headline, *why], draft.cannot_decide[:3]
    if _COST.search(question) and not _ANOTHER_S.search(question) and not of_many(question, opened=True):
        spent = cost(deps.reader, deps.ledger, deps.job(), deps.attempt, draft.family)
        held, _, wasted = spent.basis.partition(". Wasted: ")
        return [f"{held}. Wasted: {wasted}" if wasted else held, draft.headline], []
    if _SURE.search(question):
        band = next(text for least, text in _BANDS if draft.confidence >= least)
        return [band, draft.headline, *(c.text for c in draft.shows[:4])], draft.cannot_decide[:MAX_SAID]
    if _ELSE.search(question):
        others = [a for a in deps.assessments if a.code != draft.family]
        held = [a.headline for a in others if a.status in ("confirmed", "suspected") and a.code != "U0"]
        undecided = [ruling(a) for a in others if a.status == "undecidable"]
        ruled = [ruling(a) for a in others if a.status == "ruled_out"]
        lead = [] if held or undecided else ["Nothing else is left open."]
        return [*lead, *held, *undecided, *ruled][: 2 * MAX_SAID], draft.cannot_decide[:MAX_SAID]
    return [], []

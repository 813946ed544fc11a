"""Does a draft agree with what the families found? Family, mode, attribution, confidence, causes, and who is ruled out.

A reasoner may disagree with the differential, but not silently, not with high confidence, and never towards "healthy" or
"the hardware" against what the families say.
"""

from __future__ import annotations

from collections.abc import Sequence

from agent_tools.families.base import Assessment
from agent_tools.gate.grounds import Grounds, assessment_texts, title
from agent_tools.references import cited
from agent_tools.verdict import FAMILIES, Claim, Draft, RuledOut

CAP_UNASSESSED = 0.5
"""Highest confidence where no family assessed anything."""
CAP_OTHER = 0.6
CAP_UNDECIDABLE = 0.4
CAP_RULED_OUT = 0.3
_STATUS = {"confirmed": "secondary", "suspected": "secondary", "undecidable": "undecidable", "ruled_out": "ruled_out"}
_POSITIVE = frozenset({"G1", "B2"})
"""Families that a draft cannot conclude against their own assessment: health needs positive evidence, and so does
blaming a GPU."""


def disagreements(draft: Draft, assessments: Sequence[Assessment]) -> list[str]:
    """What the author of the draft has to change, in words that say how."""
    if draft.family not in FAMILIES:
        return [f"family {draft.family!r} does not exist; choose one of {', '.join(FAMILIES)}"]
    problems: list[str] = []
    modes = FAMILIES[draft.family][1]
    if draft.mode is not None and draft.mode not in modes:
        allowed = ", ".join(modes) or "none: leave it null"
        problems.append(f"mode {draft.mode!r} is no mode of {draft.family}; its modes: {allowed}")
    own = _own(draft, assessments)
    if own is None:
        return problems
    if own.status in ("confirmed", "suspected"):
        if "undetermined" not in (own.attribution, draft.attribution) and own.attribution != draft.attribution:
            problems.append(f"attribution {draft.attribution!r}: the assessment of {own.code} says {own.attribution!r}")
        if draft.mode in modes and draft.mode != own.mode:
            theirs = repr(own.mode) if own.mode else "none: leave it out, a guess is a hypothesis"
            problems.append(f"mode {draft.mode!r}: the assessment of {own.code} says {theirs}")
    elif draft.family in _POSITIVE:
        problems.append(f"{own.code} cannot be concluded: its assessment is {own.status}. {own.counterfactual}".strip())
    elif own.status == "ruled_out" and not _argued(draft, own):
        problems.append(
            f"the differential rules {own.code} out: {own.counterfactual or 'see its assessment'} To conclude it all the "
            "same, add to implies a hypothesis that begins 'Against the differential:' and cites a cell which the "
            "counterfactual does not; otherwise choose another family"
        )
    return problems


def settle(draft: Draft, assessments: Sequence[Assessment], grounds: Grounds, preferred: Draft | None) -> Draft:
    """The draft with what follows from the assessments: capped confidence, causes' status, every other family."""
    own = _own(draft, assessments)
    update: dict[str, object] = {
        "implies": [_cause(claim, own, grounds) for claim in draft.implies],
        "ruled_out": _others(draft, assessments, grounds, preferred),
        **_left_out(draft, preferred),
    }
    cap, note = _cap(draft, own, preferred)
    if draft.confidence > cap:
        update["confidence"] = cap
    if note:
        update["warnings"] = [*draft.warnings, Claim(text=note, status="established")]
    if own is not None and draft.mode is None and own.mode in FAMILIES[draft.family][1]:
        update["mode"] = own.mode
    undecided = draft.family == "U0" and preferred is not None and preferred.family != "U0"
    unfounded = undecided or (own is not None and own.status in ("undecidable", "ruled_out"))
    if unfounded and (own is None or draft.attribution != own.attribution):  # who is to act follows from a cause
        update["attribution"] = "undetermined"
    return draft.model_copy(update=update)


def _left_out(draft: Draft, preferred: Draft | None) -> dict[str, object]:
    """What the author left to the differential: what Slurm says and when, and of the same family what else was found and is to
    be done."""
    if preferred is None:
        return {}
    names = ["disposition", "timeline", *(["warnings", "actions"] if preferred.family == draft.family else [])]
    return {name: getattr(preferred, name) for name in names if not getattr(draft, name)}


def _own(draft: Draft, assessments: Sequence[Assessment]) -> Assessment | None:
    return next((a for a in assessments if a.code == draft.family), None)


def _argued(draft: Draft, own: Assessment) -> bool:
    known = set(cited([own.counterfactual]))
    return any(
        c.status == "hypothesis"
        and c.text.lower().startswith("against the differential")
        and set(cited([c.text])) - known
        for c in draft.implies
    )


def _cap(draft: Draft, own: Assessment | None, preferred: Draft | None) -> tuple[float, str]:
    """Highest confidence, and the sentence that shows a disagreement ("" where there is none)."""
    if preferred is not None and preferred.family == draft.family:
        return preferred.confidence, ""
    if draft.family == "U0" and preferred is None:
        return 1.0, ""
    note = ""
    if preferred is not None:
        note = (
            f"The differential concludes {preferred.family} ({title(preferred.family)}) instead: {preferred.headline}"
        )
    if own is None:
        return CAP_UNASSESSED, note
    match own.status:
        case "ruled_out":
            return CAP_RULED_OUT, note or f"The differential rules {own.code} out: {own.counterfactual}"
        case "undecidable":
            return CAP_UNDECIDABLE, note
        case _:
            return (min(CAP_OTHER, own.confidence) if preferred is not None else own.confidence), note


def _cause(claim: Claim, own: Assessment | None, grounds: Grounds) -> Claim:
    """A cause keeps its status where the concluded family supports it; otherwise it is a hypothesis."""
    if claim.status == "hypothesis":
        return claim
    if own is not None and own.status in ("confirmed", "suspected"):
        if grounds.verbatim(claim.text):
            return claim
        if set(cited([claim.text])) & set(cited(assessment_texts(own))):
            return claim if own.status == "confirmed" else claim.model_copy(update={"status": "supported"})
    return claim.model_copy(update={"status": "hypothesis"})


def _others(
    draft: Draft, assessments: Sequence[Assessment], grounds: Grounds, preferred: Draft | None
) -> list[RuledOut]:
    """Every family but the concluded one, once, with the status that its assessment has."""
    said = {entry.family: entry for entry in reversed(draft.ruled_out)}
    ours = {entry.family: entry for entry in preferred.ruled_out} if preferred else {}
    found = {a.code: a for a in assessments}
    entries: list[RuledOut] = []
    for code in FAMILIES:
        if code in (draft.family, "U0"):
            continue
        entry, own, assessment = said.get(code), ours.get(code), found.get(code)
        backed = entry is not None and (cited([entry.text]) or grounds.verbatim(entry.text))
        if entry is not None and backed and assessment is not None:
            status = own.status if own is not None else _status(entry, assessment)
            entries.append(entry.model_copy(update={"status": status}))
        elif own is not None:
            entries.append(own)
        elif assessment is not None:
            text = assessment.counterfactual or assessment.headline or "Its assessment gives no reason."
            entries.append(
                RuledOut.model_validate({"family": code, "status": _STATUS[assessment.status], "text": text})
            )
        else:
            entries.append(RuledOut(family=code, status="undecidable", text="This family was not assessed."))
    return entries


def _status(entry: RuledOut, assessment: Assessment) -> str:
    """`secondary` says that something is present: only where the assessment found it, or a family was explained away."""
    if entry.status == "secondary" and assessment.status in ("confirmed", "suspected"):
        return "secondary"
    return _STATUS[assessment.status]

"""The citation gate: nothing reaches a verdict but what shown cells say and what the families' findings allow.

`Gate.check` is for a reasoner that can write again: it says what is wrong and how to mend it. `Gate.prune` is for one that
cannot: sentences that do not hold are dropped and the reasons are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import ValidationError

from agent_tools.evidence import Ledger
from agent_tools.families.base import Assessment
from agent_tools.gate import accord
from agent_tools.gate.backing import Backing
from agent_tools.gate.causes import Stand, cause_word
from agent_tools.gate.grounds import Grounds, draft_texts
from agent_tools.gate.owners import of_other_than
from agent_tools.gate.refusal import beyond, described, remedy
from agent_tools.gate.sentences import Checked, Kind, check
from agent_tools.gate.uncited import Uncited
from agent_tools.references import BadReference, Span, cited, plain, render_text, resolve
from agent_tools.verdict import FAMILIES, NO_TIME, Claim, Draft, Missing, Moment, RuledOut

__all__ = ["BadReference", "Gate", "GateReport", "Span", "cited", "draft_texts", "plain", "render_text", "resolve"]

_BY_RULES = "By the rules' own findings, which are not repeated here."
"""Beside a family whose own sentence cites what was not shown to the one who wrote the verdict."""
MAX_PROBLEMS = 12
"""Problems that one report lists: a reasoner mends a dozen at a time better than a hundred."""
MAX_IMPLIES = 24
"""Inferences that a draft holds."""


@dataclass(frozen=True, slots=True)
class GateReport:
    """What the gate says. `draft` is the linked draft (of use only when `ok`). `beyond` names the sentences that say more than
    what they cite: in the draft they have become hypotheses."""

    ok: bool
    problems: list[str]
    draft: Draft
    beyond: list[str] = field(default_factory=list[str])


class Gate:
    """Checks drafts. It has no state: the ledger and the assessments say what holds."""

    def check(
        self,
        draft: Draft,
        ledger: Ledger,
        assessments: Sequence[Assessment],
        preferred: Draft | None = None,
        *,
        job: str = "",
    ) -> GateReport:
        """Check a draft; `preferred` is the differential's own. Problems name the place and the remedy.

        `job` is the one that the verdict is about, "" where it is not known: what is of another names that one."""
        grounds = Grounds(ledger, assessments, preferred)
        problems = accord.disagreements(draft, assessments)
        problems += _uncited(draft, grounds)
        stand = Stand(ledger, assessments)
        problems += _blaming(draft, stand, grounds)
        problems += _causal(draft, stand, grounds)
        backing = Backing(ledger, assessments)
        uncited = Uncited(grounds, stand, backing, assessments, [preferred] if preferred else [])
        draft = uncited.as_offered(draft, "cannot_decide")
        walk = _Walk(grounds, job)
        linked = walk.draft(draft, _keep)
        problems += walk.problems + _uncited_places(linked, uncited)
        if problems:
            more = len(problems) - MAX_PROBLEMS
            listed = problems[:MAX_PROBLEMS] + ([f"... and {more} more of the kind"] if more > 0 else [])
            return GateReport(False, listed, linked, _beyond(linked, backing, grounds))
        further = _beyond(linked, backing, grounds)
        linked, problems = _backed(linked, backing, stand, grounds, preferred)
        if problems:
            return GateReport(False, problems, linked, further)
        return replace(self._finish(accord.settle(linked, assessments, grounds, preferred), grounds), beyond=further)

    def prune(
        self,
        draft: Draft,
        ledger: Ledger,
        assessments: Sequence[Assessment],
        preferred: Draft | None = None,
        *,
        job: str = "",
    ) -> GateReport:
        """The draft without the sentences that do not hold; `problems` says which and why. Always passes."""
        grounds = Grounds(ledger, assessments, preferred)
        problems = accord.disagreements(draft, assessments)
        if problems:
            known = FAMILIES.get(draft.family)
            keep_family = known is not None and not any("cannot be concluded" in p for p in problems)
            draft = draft.model_copy(
                update={
                    "family": draft.family if keep_family else "U0",
                    "mode": draft.mode if known and keep_family and draft.mode in known[1] else None,
                    "confidence": min(draft.confidence, accord.CAP_RULED_OUT),
                    "attribution": "undetermined",
                }
            )
        walk = _Walk(grounds, job)
        pruned = walk.draft(draft, _drop)
        if not pruned.headline.strip():
            pruned = pruned.model_copy(update={"headline": FAMILIES[pruned.family][0]})
        report = self._finish(accord.settle(pruned, assessments, grounds, preferred), grounds)
        return GateReport(True, problems + walk.problems + report.problems, report.draft)

    def _finish(self, settled: Draft, grounds: Grounds) -> GateReport:
        """What the families contributed goes through the same check; of it, what does not hold is dropped."""
        walk = _Walk(grounds)
        done = walk.draft(settled, _drop)
        assessed = {r.family for r in done.ruled_out}
        lost = [r for r in settled.ruled_out if r.family not in assessed]
        rest = [RuledOut(family=r.family, status=r.status, text=_BY_RULES) for r in lost]
        order = list(FAMILIES)
        entries = sorted([*done.ruled_out, *rest], key=lambda r: order.index(r.family))
        done = done.model_copy(update={"ruled_out": entries})
        try:
            return GateReport(True, walk.problems, Draft.model_validate(done.model_dump()))
        except ValidationError as error:
            return GateReport(False, [f"{e['loc']}: {e['msg']}" for e in error.errors()], settled)


def _backed(
    draft: Draft, backing: Backing, stand: Stand, grounds: Grounds, preferred: Draft | None
) -> tuple[Draft, list[str]]:
    """The draft with what says more than its cells made a hypothesis, or left to the differential; and what cannot be either."""

    def more(text: str) -> list[str]:
        return [] if not text.strip() or grounds.verbatim(text) else backing.unbacked(text)

    guesses = [c for c in (*draft.shows, *draft.warnings) if more(c.text)]
    update: dict[str, Any] = {
        "shows": [c for c in draft.shows if not more(c.text)],
        "warnings": [c for c in draft.warnings if not more(c.text)],
        "disposition": "" if more(draft.disposition) else draft.disposition,
        "timeline": [m for m in draft.timeline if not more(m.text)],
        "ruled_out": [r for r in draft.ruled_out if not more(r.text)],
    }
    theirs = preferred if preferred is not None and preferred.family == draft.family else None
    if theirs is not None and draft.shows and not update["shows"]:
        update["shows"] = theirs.shows
    problems: list[str] = []
    if words := more(draft.headline):
        if theirs is not None:
            update["headline"] = theirs.headline
            guesses.insert(0, Claim(text=draft.headline))
        else:
            problems.append(f"headline {remedy(words, described(draft.headline, grounds.ledger))}")
    implied = [
        _guess(c) if (stand.causal(c.text) and not grounds.verbatim(c.text)) or more(c.text) else c
        for c in draft.implies
    ]
    room = MAX_IMPLIES - len(implied)
    problems += [f"shows: {c.text[:60]!r} {remedy(more(c.text))}" for c in guesses[room:]]
    update["implies"] = [*implied, *(_guess(c) for c in guesses[:room])]
    return draft.model_copy(update=update), problems


def _beyond(draft: Draft, backing: Backing, grounds: Grounds) -> list[str]:
    """The sentences of a draft that say more than what they cite, but for those that do not hold anyway."""
    places = [("headline", draft.headline), ("disposition", draft.disposition)]
    for name, claims in (("shows", draft.shows), ("warnings", draft.warnings)):
        places += [(f"{name}[{i}]", c.text) for i, c in enumerate(claims)]
    places += [(f"implies[{i}]", c.text) for i, c in enumerate(draft.implies) if c.status != "hypothesis"]
    places += [(f"timeline[{i}]", m.text) for i, m in enumerate(draft.timeline)]
    places += [(f"ruled_out[{i}]", r.text) for i, r in enumerate(draft.ruled_out)]
    return [
        beyond(place, words)
        for place, text in places
        if text.strip() and cited([text]) and not grounds.verbatim(text) and not check(text, grounds).problems
        if (words := backing.unbacked(text))
    ][:MAX_PROBLEMS]


def _guess(claim: Claim) -> Claim:
    return claim.model_copy(update={"status": "hypothesis"})


Choose = Callable[[Checked], bool]


def _keep(_: Checked) -> bool:
    return True


def _drop(checked: Checked) -> bool:
    return not checked.problems


class _Walk:
    """Goes through every sentence of a draft, collecting problems and rebuilding the draft with linked text."""

    def __init__(self, grounds: Grounds, job: str = "") -> None:
        self.grounds = grounds
        self.job = job
        self.problems: list[str] = []

    def draft(self, draft: Draft, choose: Choose) -> Draft:
        """The draft with checked sentences; `choose` says which stay."""

        def one(text: str, place: str, kind: Kind = "claim") -> Checked:
            checked = check(text, self.grounds, kind)
            if kind == "claim" and not checked.problems and not self.grounds.verbatim(checked.text):
                why = of_other_than(checked.text, self.grounds.ledger, self.job)
                checked.problems += [why] if why else []
            self.problems += [f"{place}: {p}" for p in checked.problems]
            return checked

        def claims(items: list[Claim], place: str, kind: Kind = "claim") -> list[Claim]:
            found = [(item, one(item.text, f"{place}[{i}]", kind)) for i, item in enumerate(items)]
            return [item.model_copy(update={"text": c.text}) for item, c in found if choose(c) and c.text.strip()]

        def missing(i: int, item: Missing) -> Missing | None:
            text = one(item.text, f"cannot_decide[{i}]")
            signal = one(item.signal, f"cannot_decide[{i}].signal", "advice")
            if not choose(text):
                return None
            return Missing(text=text.text, signal=signal.text if choose(signal) else "")

        def moment(i: int, item: Moment) -> Moment | None:
            ts, text = one(item.ts, f"timeline[{i}].ts", "time"), one(item.text, f"timeline[{i}].text")
            return Moment(ts=ts.text, text=text.text) if choose(ts) and choose(text) else None

        def other(i: int, item: RuledOut) -> RuledOut | None:
            if item.family not in FAMILIES:
                self.problems.append(f"ruled_out[{i}]: family {item.family!r} does not exist")
                return None
            text = one(item.text, f"ruled_out[{i}] ({item.family})")
            return item.model_copy(update={"text": text.text}) if choose(text) else None

        headline, disposition = one(draft.headline, "headline"), one(draft.disposition, "disposition")
        update: dict[str, Any] = {
            "headline": headline.text if choose(headline) else "",
            "disposition": disposition.text if choose(disposition) else "",
            "shows": claims(draft.shows, "shows"),
            "implies": claims(draft.implies, "implies"),
            "warnings": claims(draft.warnings, "warnings"),
            "actions": claims(draft.actions, "actions", "advice"),
            "cannot_decide": [m for i, item in enumerate(draft.cannot_decide) if (m := missing(i, item))],
            "ruled_out": [r for i, item in enumerate(draft.ruled_out) if (r := other(i, item))],
            "timeline": [m for i, item in enumerate(draft.timeline) if (m := moment(i, item))],
        }
        return draft.model_copy(update=update)


def _uncited(draft: Draft, grounds: Grounds) -> list[str]:
    """Observations rest on cells: one without a reference must be a sentence of the families."""
    problems: list[str] = []
    headline = check(draft.headline, grounds)
    if not headline.problems and not cited([headline.text]) and not grounds.verbatim(draft.headline):
        problems.append("headline cites nothing: name the cell that shows it, or take the differential's own sentence")
    observed = [("disposition", draft.disposition)] if draft.disposition.strip() else []
    for name, claims in (("shows", draft.shows), ("warnings", draft.warnings)):
        observed += [(f"{name}[{i}]", c.text) for i, c in enumerate(claims)]
    for i, moment in enumerate(draft.timeline):
        observed.append((f"timeline[{i}]", moment.text))
    return problems + [
        f"{place} cites nothing: an observation needs the cell that shows it"
        for place, text in observed
        if not grounds.verbatim(text) and not cited([check(text, grounds).text])
    ]


def _uncited_places(draft: Draft, uncited: Uncited) -> list[str]:
    """What needs no cell claims nothing: what cannot be decided is a question, and what to do is offered or only looks."""
    places = [(f"cannot_decide[{i}]", text) for i, m in enumerate(draft.cannot_decide) for text in (m.text, m.signal)]
    places += [(f"timeline[{i}].ts", m.ts) for i, m in enumerate(draft.timeline) if m.ts != NO_TIME]
    return [f"{place} {why}" for place, text in places for why in uncited.open(text)] + [
        f"actions[{i}] {why}" for i, c in enumerate(draft.actions) for why in uncited.advice(c.text)
    ]


def _blaming(draft: Draft, stand: Stand, grounds: Grounds) -> list[str]:
    """Hardware is blamed on the cells of a finding that blames it, or in a hypothesis that is marked as one."""
    claims = [*draft.shows, *draft.warnings, *(c for c in draft.implies if c.status != "hypothesis")]
    moments = [text for m in draft.timeline for text in (m.ts, m.text)]
    said = [draft.headline, draft.disposition, *(c.text for c in claims), *moments, *(r.text for r in draft.ruled_out)]
    wrong = [text for text in said if stand.blames(check(text, grounds).text)]
    return [
        f"{text[:60]!r} blames hardware, and nothing that it cites does: say what was measured, or make it a hypothesis under implies"
        for text in wrong
        if not grounds.verbatim(text)
    ]


def _causal(draft: Draft, stand: Stand, grounds: Grounds) -> list[str]:
    """A cause outside `implies` follows from what it cites, or is the families' own sentence."""
    places = [("headline", draft.headline), ("disposition", draft.disposition)]
    for name, claims in (("shows", draft.shows), ("warnings", draft.warnings)):
        places += [(f"{name}[{i}]", c.text) for i, c in enumerate(claims)]
    places += [(f"ruled_out[{i}]", r.text) for i, r in enumerate(draft.ruled_out)]
    places += [(f"timeline[{i}]", text) for i, m in enumerate(draft.timeline) for text in (m.ts, m.text)]
    return [
        f"{place} states a cause that nothing it cites states, by {cause_word(text)!r}: cite the assessment that does, say what was seen, or make it a "
        "hypothesis under implies"
        for place, text in places
        if not grounds.verbatim(text) and stand.causal(check(text, grounds).text)
    ]

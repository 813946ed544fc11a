"""The gate for answers to free questions: the sentences' figures and names as in a verdict, and no cause out of thin air.

A sentence that says why something happened, or that blames hardware, needs more than a cell that happens to be true: it
rests on a family's assessment of an opened job, on a stored verdict, or on the record of who ended a process. Otherwise
it is a hypothesis and is called one. So is an observation that says more than the rows that it cites.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import get_args

from agent_tools.evidence import Ledger
from agent_tools.families.base import Assessment
from agent_tools.gate.backing import Backing
from agent_tools.gate.causes import Stand, cause_word
from agent_tools.gate.grounds import Grounds
from agent_tools.gate.owners import of_other_than
from agent_tools.gate.refusal import beyond, described, remedy
from agent_tools.gate.repeats import flat, repeated
from agent_tools.gate.sentences import Checked, Kind, check
from agent_tools.gate.uncited import Uncited
from agent_tools.questions.answer import Answer
from agent_tools.questions.meanings import known
from agent_tools.references import cited
from agent_tools.verdict import Claim, ClaimStatus, Draft, Missing

MAX_PROBLEMS = 12
MAX_IMPLIES = 12
"""Inferences that an answer holds."""


@dataclass(frozen=True, slots=True)
class AnswerReport:
    """What the gate says. `answer` is the linked answer (of use only when `ok`). `beyond` names the observations that say more
    than what they cite: in the answer they have become hypotheses."""

    ok: bool
    problems: list[str]
    answer: Answer
    beyond: list[str] = field(default_factory=list[str])


def check_answer(
    answer: Answer,
    ledger: Ledger,
    assessments: Sequence[Assessment],
    *,
    ours: bool = False,
    drafts: Sequence[tuple[str, Draft]] = (),
    job: str = "",
) -> AnswerReport:
    """Check an answer; problems name the place and the remedy.

    `drafts` are the jobs that were opened, each with its verdict by the rules. Where it is one, an answer that speaks of no other
    job may repeat its sentences as what they are there, uncited where they are. `ours` are sentences that a program wrote about the very rows that it cites: their words need no backing.
    `job` is the one that the answer is told to be about, "" for none: what is of another names that one.
    """
    grounds = Grounds(ledger, assessments)
    stand = Stand(ledger, assessments)
    backing = Backing(ledger, assessments)
    uncited = Uncited(grounds, stand, backing, assessments, [d for _, d in drafts])
    told = repeated(answer, ledger, drafts[0] if len(drafts) == 1 else None)
    answer = (
        answer
        if ours
        else uncited.as_offered(answer, "cannot_answer", cited([answer.short, *(c.text for c in answer.shows)]))
    )
    problems: list[str] = []

    def one(text: str, place: str, kind: Kind = "claim") -> Checked:
        checked = check(text, grounds, kind, ours=ours)
        problems.extend(f"{place}: {p}" for p in checked.problems)
        if kind == "claim" and not checked.problems and (why := of_other_than(checked.text, ledger, job)):
            problems.append(f"{place}: {why}")
        return checked

    short = one(answer.short, "short").text
    shows = [c.model_copy(update={"text": one(c.text, f"shows[{i}]").text}) for i, c in enumerate(answer.shows)]
    implies = [c.model_copy(update={"text": one(c.text, f"implies[{i}]").text}) for i, c in enumerate(answer.implies)]
    missing = [
        Missing(
            text=one(m.text, f"cannot_answer[{i}]").text, signal=one(m.signal, f"cannot_answer[{i}]", "advice").text
        )
        for i, m in enumerate(answer.cannot_answer)
    ]
    actions = [
        c.model_copy(update={"text": one(c.text, f"actions[{i}]", "advice").text}) for i, c in enumerate(answer.actions)
    ]
    if not cited([short]) and not missing and not (ours and short in known()):
        problems.append("short cites nothing: cite the cells that answer, or say under cannot_answer what is missing")
    elif not cited([short]) and not ours and not grounds.verbatim(answer.short):
        problems += [f"short {why}" for why in uncited.open(short)]
    problems += [
        f"shows[{i}] cites nothing: an observation needs the cell that shows it"
        for i, c in enumerate(shows)
        if not cited([c.text]) and told.get(flat(c.text)) != "established"
    ]
    for place, text in [("short", short), *((f"shows[{i}]", c.text) for i, c in enumerate(shows))]:
        if ours and text in known():
            continue
        if stand.blames(text):
            problems.append(
                f"{place} blames hardware, and neither an assessment of an opened job nor a stored verdict that it cites does: "
                "say what was measured instead"
            )
        elif stand.causal(text):
            problems.append(
                f"{place} states a cause that nothing it cites states, by {cause_word(text)!r}: open the job and cite its assessment, cite a stored "
                "verdict, or move the sentence to implies as a hypothesis"
            )
    if not ours:
        for i, m in enumerate(missing):
            problems += [f"cannot_answer[{i}] {why}" for text in (m.text, m.signal) for why in uncited.open(text)]
        for i, c in enumerate(actions):
            problems += [f"actions[{i}] {why}" for why in uncited.advice(c.text)]
    implies = [_status(c, told.get(flat(c.text))) or stand.status(c) for c in implies]
    further: list[str] = []
    if not ours:
        if not grounds.verbatim(answer.short) and cited([short]) and (words := backing.unbacked(short)):
            problems.append(f"short {remedy(words, described(short, ledger))}, or say it in hypotheses")
        further = [
            beyond(f"shows[{i}]", words)
            for i, c in enumerate(shows)
            if cited([c.text]) and not grounds.verbatim(c.text) and (words := backing.unbacked(c.text))
        ]
        shows, guesses = _sorted(shows, backing, grounds)
        implies = [
            c if flat(c.text) in told or grounds.verbatim(c.text) or not backing.unbacked(c.text) else _guess(c)
            for c in implies
        ]
        room = MAX_IMPLIES - len(implies)
        problems += [f"shows: {c.text[:60]!r} {remedy(backing.unbacked(c.text))}" for c in guesses[room:]]
        implies += guesses[:room]
    listed = problems[:MAX_PROBLEMS] + (
        [f"... and {len(problems) - MAX_PROBLEMS} more"] if len(problems) > MAX_PROBLEMS else []
    )
    linked = Answer(short=short, shows=shows, implies=implies, cannot_answer=missing, actions=actions)
    return AnswerReport(not problems, listed, linked, further)


def _status(claim: Claim, known: ClaimStatus | None) -> Claim | None:
    """A repeated inference with the status that it has in the verdict, or the weaker one of its author; None for any other."""
    if known is None:
        return None
    order = get_args(ClaimStatus)
    return claim.model_copy(update={"status": max(claim.status, known, key=order.index)})


def _sorted(shows: Sequence[Claim], backing: Backing, grounds: Grounds) -> tuple[list[Claim], list[Claim]]:
    """Observations that say what their rows say, and those that say more: these are hypotheses."""
    held = [grounds.verbatim(c.text) or not backing.unbacked(c.text) for c in shows]
    return [c for c, h in zip(shows, held, strict=True) if h], [
        _guess(c) for c, h in zip(shows, held, strict=True) if not h
    ]


def _guess(claim: Claim) -> Claim:
    return claim.model_copy(update={"status": "hypothesis"})

"""Every string that a model can fill is gated: the fields are taken from the schema, so that a new one is tried too."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any, get_args, get_origin

import pytest
from pydantic import BaseModel

from agent_tools.endpoints.written import WrittenAnswer, WrittenDraft
from agent_tools.families.base import Assessment
from agent_tools.gate.answer_gate import check_answer
from agent_tools.gate.citations import Gate
from agent_tools.questions.answer import Answer
from agent_tools.verdict import Draft
from tests.agent_tools.gate.gatekit import assessments, draft, ledger

LEDGER = ledger()
FOUND = [
    *assessments(),
    Assessment("A2", "ruled_out", attribution="job", counterfactual="No signal: the job ended as [[E1.state]]."),
]
GUESSED = [
    "The job finished well.",
    "It was the network.",
    "The network caused it.",
    "A user killed the job of [[E1.node]].",
    "The GPU is broken.",
    "The GPU on [[E1.node]] is broken.",
    "The node was taken down by a faulty NVLink.",
    "What is certain is this: the card is faulty.",
]
"""False; as a hypothesis, and called one, each may stand."""
NEVER = [
    "Rank 17 failed.",
    "It lost seven ranks.",
    "See https://evil.example/x.",
    "![x](https://evil.example/x)",
    "<b>fine</b>",
    "The node was gpu-08.",
    "It ended as [[E9.state]].",
    "It reached [[E3.temp_c]].",
    "Rank [[E2:2.rank]] failed.",
    "\u0420ank failed on \u0441\u0435ven.",
]
"""False in any place."""
Path = tuple[str | int, ...]


def leaves(model: type[BaseModel], at: Path = ()) -> Iterator[Path]:
    """Where a model has a string of its author's own, items of lists as the first one."""
    for name, field in model.model_fields.items():
        yield from _leaves(field.annotation, (*at, name))


def _leaves(kind: Any, at: Path) -> Iterator[Path]:
    if kind is str:
        yield at
    elif isinstance(kind, type) and issubclass(kind, BaseModel):
        yield from leaves(kind, at)
    elif get_origin(kind) is list:
        yield from _leaves(get_args(kind)[0], (*at, 0))
    elif get_origin(kind) is not None:
        for part in get_args(kind):  # an alternative; a literal's parts are values and no types
            yield from _leaves(part, at)


DRAFT: dict[str, Any] = {
    **draft().model_dump(),
    "implies": [{"text": "The memory plan is larger than the card."}],
    "cannot_decide": [{"text": "Whether it leaked.", "signal": "cgroup_sample"}],
    "ruled_out": [{"family": "A2", "text": "The job ended as [[E1.state]]."}],
    "warnings": [{"text": "Slurm restarted it [[E1.restarts]] times."}],
    "actions": [{"text": "Check the size of the batch."}],
    "timeline": [{"ts": "[[E1.end_ts]]", "text": "The job ended as [[E1.state]]."}],
    "disposition": "Slurm says [[E1.state]]",
}
ANSWER: dict[str, Any] = {
    "short": "The job ended as [[E1.state]].",
    "shows": [{"text": "It ran on [[E1.node]]."}],
    "implies": [{"text": "Its memory was too small.", "status": "hypothesis"}],
    "cannot_answer": [{"text": "Whether the owner started it.", "signal": "sacct"}],
    "actions": [{"text": "Check the size of the batch."}],
}


def planted(honest: dict[str, Any], at: Path, lie: str) -> dict[str, Any]:
    made: Any = deepcopy(honest)
    inner = made
    for step in at[:-1]:
        inner = inner[step]
    inner[at[-1]] = lie
    return made


def kept(made: BaseModel, lie: str, guess: bool) -> bool:
    """Whether a lie stands in what passed, as anything but a hypothesis."""
    said = made.model_dump()
    claims = said["implies"]
    said["implies"] = [c for c in claims if not (guess and c["status"] == "hypothesis")]
    return lie.rstrip(".") in str(said)


def test_the_fields_are_found():
    found = set(leaves(Draft))
    assert {("headline",), ("mode",), ("timeline", 0, "ts"), ("cannot_decide", 0, "signal")} <= found
    assert ("attribution",) not in found
    assert set(leaves(WrittenDraft)) == found
    assert set(leaves(WrittenAnswer)) == set(leaves(Answer))


def test_the_honest_ones_pass():
    assert Gate().check(Draft.model_validate(DRAFT), LEDGER, FOUND).problems == []
    assert check_answer(Answer.model_validate(ANSWER), LEDGER, FOUND).problems == []


@pytest.mark.parametrize("at", sorted(leaves(Draft), key=str), ids=str)
@pytest.mark.parametrize("lie", [*GUESSED, *NEVER])
def test_no_field_of_a_verdict_takes_a_lie(at: Path, lie: str):
    made = Draft.model_validate(planted(DRAFT, at, lie[:80]))
    for preferred in (None, draft()):
        report = Gate().check(made, LEDGER, FOUND, preferred)
        assert not (report.ok and kept(report.draft, lie[:80], lie in GUESSED))
    assert not kept(Gate().prune(made, LEDGER, FOUND).draft, lie, lie in GUESSED) or lie in GUESSED


@pytest.mark.parametrize("at", sorted(leaves(Answer), key=str), ids=str)
@pytest.mark.parametrize("lie", [*GUESSED, *NEVER])
def test_no_field_of_an_answer_takes_a_lie(at: Path, lie: str):
    report = check_answer(Answer.model_validate(planted(ANSWER, at, lie)), LEDGER, FOUND)
    assert not (report.ok and kept(report.answer, lie, lie in GUESSED))


@pytest.mark.parametrize(
    "text",
    [
        "Whether the GPU is faulty.",
        "How much memory each rank used.",
        "Memory of the host was not sampled.",
    ],
)
def test_what_is_open_may_be_said(text: str):
    made = Draft.model_validate(planted(DRAFT, ("cannot_decide", 0, "text"), text))
    assert Gate().check(made, LEDGER, FOUND).problems == []
    asked = Answer.model_validate(planted(ANSWER, ("cannot_answer", 0, "text"), text))
    assert check_answer(asked, LEDGER, FOUND).problems == []


@pytest.mark.parametrize(
    "text",
    [
        "Check whether the node is healthy.",
        "Run `dcgmi diag -r 3` on the node.",
        "Ask the operators.",
    ],
)
def test_advice_may_be_given(text: str):
    made = Draft.model_validate(planted(DRAFT, ("actions", 0, "text"), text))
    assert Gate().check(made, LEDGER, FOUND).problems == []
    said = Answer.model_validate(planted(ANSWER, ("actions", 0, "text"), text))
    report = check_answer(said, LEDGER, FOUND)
    assert report.problems == []
    assert report.answer.actions == said.actions

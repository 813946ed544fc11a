"""An answer that is told while it is written: only what is whole, in reading order, and has passed the gate."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_tools.endpoints.growing import Growing
from agent_tools.endpoints.written import WrittenAnswer
from agent_tools.gate.answer_gate import check_answer
from agent_tools.questions.answer import Answer, answer_texts
from tests.agent_tools.gate.gatekit import assessments, ledger

LEDGER, FOUND = ledger(), assessments()
SHORT = "The job ended as [[E1.state]]."
TRUE = "Rank [[E2.rank]] asked for [[E2.requested_bytes]]."
ALSO = "It ran on [[E1.node]]."
LIE = "Rank 17 asked for 4 GiB."


def passed(part: Answer) -> Answer | None:
    report = check_answer(part, LEDGER, FOUND)
    return report.answer if report.ok else None


def told(raw: str, size: int = 1) -> list[list[str]]:
    """What is told, each time, of an answer that comes in pieces."""
    parts: list[list[str]] = []
    growing = Growing(passed, lambda part: parts.append(answer_texts(part)))
    for i in range(0, len(raw), size):
        growing.more(raw[i : i + size])
    return parts


@pytest.mark.parametrize("size", [1, 5, 10_000])
def test_each_sentence_is_told_once_it_is_whole(size: int):
    raw = json.dumps({"short": SHORT, "shows": [TRUE], "implies": [ALSO], "hypotheses": ["The network did it."]})
    assert told(raw, size) == [
        [SHORT],
        [SHORT, TRUE],
        [SHORT, TRUE, ALSO],
        [SHORT, TRUE, ALSO, "The network did it."],
    ]


def test_nothing_is_told_before_its_last_character():
    raw = json.dumps({"short": SHORT})
    assert told(raw[: raw.index("]]")]) == []
    assert told(raw[: raw.rindex('"')]) == []
    assert told(raw[: raw.rindex('"') + 1]) == [[SHORT]]


@pytest.mark.parametrize("size", [1, 10_000])
def test_a_lie_between_two_honest_sentences_ends_it(size: int):
    assert told(json.dumps({"short": SHORT, "shows": [TRUE, LIE, ALSO]}), size)[-1] == [SHORT, TRUE]
    assert told(json.dumps({"short": LIE, "shows": [TRUE, ALSO]}), size) == []
    blames = "The GPU of [[E1.node]] is broken."
    assert told(json.dumps({"short": SHORT, "shows": [TRUE, blames, ALSO]}), size)[-1] == [SHORT, TRUE]


def test_what_only_the_whole_can_decide_waits_for_it():
    """A short answer that cites nothing stands beside what cannot be answered; that comes last."""
    raw = json.dumps(
        {"short": "It cannot be told.", "cannot_answer": [{"text": "Whether a user did it.", "signal": "sacct"}]}
    )
    assert told(raw) == []
    assert check_answer(Answer.model_validate(json.loads(raw)), LEDGER, FOUND).ok


@pytest.mark.parametrize(
    ("made", "certain"),
    [
        ({"shows": [TRUE], "short": SHORT}, [SHORT, TRUE]),
        ({"short": SHORT, "implies": [ALSO], "shows": [TRUE]}, [SHORT, TRUE]),
        ({"short": SHORT, "shows": [{"text": TRUE, "status": "hypothesis"}]}, [SHORT]),
        ({"short": SHORT, "shows": TRUE}, [SHORT]),
        ({"short": SHORT, "implies": [ALSO]}, [SHORT]),
        ({"short": ["a"]}, []),
        ([SHORT], []),
    ],
    ids=str,
)
def test_another_order_or_shape_is_told_as_far_as_it_is_certain(made: Any, certain: list[str]):
    assert (told(json.dumps(made)) or [[]])[-1] == certain


def test_a_key_that_comes_twice_is_told_anew():
    assert told(f'{{"short": "{SHORT}", "shows": ["{TRUE}"], "short": "{ALSO}"}}') == [
        [SHORT],
        [SHORT, TRUE],
        [ALSO],
        [ALSO, TRUE],
    ]


@pytest.mark.parametrize("raw", ["", "{", "null", "[]", "not JSON", '{"short": 3}', "{" * 5000, '{"short": "\\ud83d'])
def test_what_is_no_answer_says_nothing(raw: str):
    assert told(raw) == []


SENTENCES = st.sampled_from(
    [TRUE, ALSO, LIE, SHORT, "It was the network.", "x [[E9.y]]", "nothing", "[[E2.util]] of it"]
)
LISTS = st.lists(SENTENCES, max_size=4)


@settings(max_examples=150, deadline=None)
@given(
    SENTENCES,
    st.permutations(["shows", "implies", "hypotheses"]),
    st.fixed_dictionaries({"shows": LISTS, "implies": LISTS, "hypotheses": LISTS}),
    st.integers(1, 60),
)
def test_all_that_is_told_passes_the_gate_and_begins_the_whole_where_that_passes(
    short: str, order: list[str], lists: dict[str, list[str]], size: int
):
    written = {"short": short, **{place: lists[place] for place in order}}
    parts = told(json.dumps(written), size)
    for part, more in pairwise(parts):
        assert more[: len(part)] == part
        assert len(more) == len(part) + 1
    whole = check_answer(WrittenAnswer.model_validate(written), LEDGER, FOUND)
    if whole.ok:
        texts = answer_texts(whole.answer)
        assert all(texts[: len(part)] == part for part in parts)
        if order == ["shows", "implies", "hypotheses"]:
            assert parts[-1] == texts

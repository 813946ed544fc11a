"""Several questions in one message are each answered; of them only the first was."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from agent_tools.questions.parts import parts
from store import Reader, Writer
from tests.agent_tools.questions.lookupkit import asked, job


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    lake = tmp_path_factory.mktemp("parts") / "lake"
    rows = [job("1", 0, "FAILED", "n1"), job("2", 1, "COMPLETED", "n2", user="lin")]
    Writer(lake, durable=False).append(rows, batch="b")
    with Reader(lake) as opened:
        yield opened


def test_each_is_answered_in_its_turn(reader: Reader) -> None:
    _, short, said = asked(reader, "Which jobs failed? And who ran job 2?")
    assert short.startswith("Job 1 of mira ended as FAILED")
    assert said[-1].startswith("Attempt 1 (pretrain of lin, partition batch): COMPLETED")


def test_the_job_that_the_first_opens_is_that_of_the_next(reader: Reader) -> None:
    investigation, _, said = asked(reader, "why did job 1 fail? which nodes did it run on?")
    assert investigation.job_id == "1" and any(", on n1 with 8 GPUs" in t for t in said)


def test_what_a_word_means_stands_beside_what_was_seen_of_it(reader: Reader) -> None:
    investigation, short, said = asked(reader, "what is xid 79? which jobs of zoe failed?")
    assert short.startswith("XID 79: the GPU is no longer on the PCIe bus")
    assert said == ["No user, node, partition or job is known here by the name zoe."]
    assert investigation.turns[-1].question == "what is xid 79? which jobs of zoe failed?"


@pytest.mark.parametrize(
    ("message", "questions"),
    [
        ("why? it ran well yesterday", 1),
        ("is it slow? no", 1),
        ("is rank 3 slow? I think so", 1),
        ("what is 'why?' in the log?", 1),
        ("which jobs failed? also, what ran on n1", 2),
        ("what is a? what is b? what is c? what is d?", 4),
        ("what is a? what is b? what is c? what is d? what is e?", 1),
    ],
)
def test_what_is_no_second_question_stays_where_it_is(message: str, questions: int) -> None:
    found = parts(message)
    assert len(found) == questions and (questions > 1 or found == [message])

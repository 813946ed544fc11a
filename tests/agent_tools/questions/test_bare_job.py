"""A job that a question names by its number alone is that job, where the number stands as a job's would."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from agent_tools.questions.several import bare_job, jobs_of
from store import Reader, Writer
from tests.agent_tools.questions.lookupkit import asked, job


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    lake = tmp_path_factory.mktemp("bare") / "lake"
    rows = [job("4101", 0, "FAILED", "n1"), job("4102", 1, "FAILED", "n2"), job("4103", 2, "FAILED", "n1")]
    Writer(lake, durable=False).append(rows, batch="b")
    with Reader(lake) as opened:
        yield opened


@pytest.mark.parametrize(
    "question",
    [
        "why did 4102 fail",
        "4102?",
        "what happened to #4102?",
        "did 4102 run out of memory?",
        "was 4102 on n2?",
        "explain 4102",
    ],
)
def test_the_number_alone_opens_the_job(reader: Reader, question: str) -> None:
    """Everybody's failed jobs were listed for it."""
    investigation, short, said = asked(reader, question)
    assert investigation.job_id == "4102"
    assert not any("4101" in text or "4103" in text for text in (short, *said))


def test_a_number_that_no_job_has_is_told(reader: Reader) -> None:
    _, short, said = asked(reader, "why did 99999 fail?")
    assert (short, said) == ("No user, node, partition or job is known here by the name 99999.", [])


def test_two_numbers_are_two_jobs(reader: Reader) -> None:
    _, short, said = asked(reader, "did 4101 and 4103 fail on the same node?")
    assert short.startswith("Job 4101: ") and said[0].startswith("Job 4103: ")
    assert said[-1].endswith("the same nodes.")
    _, short, said = asked(reader, "was 4102 on the same node?", "4101")
    assert said[-1].endswith("no node in common.")


@pytest.mark.parametrize(
    "question",
    [
        "how did 2026 go?",
        "which jobs used more than 100 GPUs?",
        "list 100 jobs",
        "did 512 ranks start?",
        "what is xid 119?",
        "did the loss fall after step 1200?",
        "was 250 W drawn?",
        "why was it at 100% memory?",
        "runs of 300 s",
        "what happened at 10:30?",
        "why did the loss go from 100 to 250?",
        "which jobs have a batch size of 512?",
    ],
)
def test_a_number_of_something_else_is_no_job(question: str) -> None:
    assert bare_job(question) is None
    assert jobs_of(question) == []


def test_while_a_job_is_open_a_number_may_be_one_of_its_own(reader: Reader) -> None:
    for question in ("why was 512 too much?", "did 1319 die first?"):
        investigation, short, said = asked(reader, question, "4102")
        assert investigation.job_id == "4102"
        assert not any("known here by the name" in text or "No job of that id" in text for text in (short, *said))

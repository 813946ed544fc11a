"""Whose jobs a question is about: users, whether the store knows them or not, and the names of jobs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from agent_tools.questions.investigation import Investigation
from agent_tools.questions.whom import names_some
from store import Reader, Writer
from tests.agent_tools.questions.lookupkit import asked, job

NOBODY = "No job that these words name is in the store."
UNKNOWN = "No user, node, partition or job is known here by the name"


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    lake = tmp_path_factory.mktemp("whom") / "lake"
    rows = [
        job("1", 0, "FAILED", "n1", name="moe-7b-1"),
        job("2", 1, "COMPLETED", "n2", name="moe-7b-2"),
        job("3", 2, "FAILED", "n3", user="lin", name="align"),
        job("4", 3, "TIMEOUT", "n3", user="lin", name="loss-sweep-3"),
        job("5", 4, "FAILED", "n4", user="ada", name="failed"),
    ]
    Writer(lake, durable=False).append(rows, batch="b")
    with Reader(lake) as opened:
        yield opened


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("jobs of user ../x", "../x"),
        ("jobs of user ' OR 1=1", "' OR 1=1"),
        ('what did user "bob" run?', "bob"),
        ("list the jobs of user nobody", "nobody"),
        ("bob's failed jobs", "bob"),
        ("what did bob run?", "bob"),
        ("jobs of bob", "bob"),
        ("how many GPU hours did user bob use?", "bob"),
        ("average wait time of bob", "bob"),
        ("how did the jobs named foobar end?", "foobar"),
        ("show failed jobs of partition debug", "debug"),
    ],
)
def test_whom_the_store_does_not_know_has_no_jobs(reader: Reader, question: str, name: str) -> None:
    """Left out, the name would narrow nothing, and everybody's jobs be told for that user's."""
    assert asked(reader, question)[1:] == (f"{UNKNOWN} {name}.", [])


@pytest.mark.parametrize("question", ["failures by user in March 2026", "the cluster's jobs", "did any job run?"])
def test_what_stands_where_a_user_may_is_not_always_one(reader: Reader, question: str) -> None:
    assert not asked(reader, question)[1].startswith((NOBODY, UNKNOWN))


def test_jobs_are_known_by_their_name_and_by_how_it_begins(reader: Reader) -> None:
    _, short, said = asked(reader, "was moe-7b ever successful?")
    assert short.startswith("Job 2 of mira ended as COMPLETED")
    assert said == ["Jobs that are COMPLETED: 1.", "Jobs that are FAILED: 1."]
    assert asked(reader, "did moe-7b-1 succeed?")[1] == "None of them completed."
    assert asked(reader, "when did moe-7b last run?")[1].startswith("Job 2 of mira")
    investigation, short, _ = asked(reader, "who ran moe-7b-2?")
    assert investigation.job_id == "2" and "(moe-7b-2 of mira" in short, "of one job alone all can be told"
    investigation, short, _ = asked(reader, "why did loss-sweep-3 time out?")
    assert investigation.job_id == "4" and "limit" in short
    assert asked(reader, "what killed loss-sweep-3?")[1] == short
    assert asked(reader, "when did lin last submit a job?")[1].startswith("Job 4 of lin")


def test_a_word_of_the_question_is_no_name_unless_it_is_called_one(reader: Reader) -> None:
    assert not names_some(Investigation(reader).deps(), "which jobs failed?")
    assert not names_some(Investigation(reader).deps(), "whose loss diverged?")
    _, short, said = asked(reader, 'how did the jobs named "failed" end?')
    assert short.startswith("Job 5 of ada") and len(said) == 1


def test_users_that_are_named_beside_each_other_are_told_alone(reader: Reader) -> None:
    _, short, said = asked(reader, "compare lin with ada")
    assert [t.split(":")[0] for t in (short, *said)] == ["lin", "ada"]


def test_what_names_nothing_that_is_known_is_told_what_can_be_asked(reader: Reader) -> None:
    for question in ("what is the weather?", "what is the weather today?", "tell me a joke", "help"):
        _, short, said = asked(reader, question)
        assert short.startswith("These words name nothing that is looked up without a model.") and said == []
    _, short, said = asked(reader, "what is the weather?", "3")
    assert short.startswith("These words name nothing") and said, "of the open job its verdict stands behind it"
    assert asked(reader, "what is going on?")[1].startswith("Job 5 of ada ended as FAILED")

"""Without a model: the last jobs, those that ended by a status or a signal, and two times beside each other."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from agent_tools.questions.fleet_ended import of_last, of_status, two_times
from store import Reader, Writer
from tests.agent_tools.questions.lookupkit import asked, job

SUNDAY = datetime(2026, 11, 29, 2, tzinfo=UTC)


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    lake = tmp_path_factory.mktemp("ended") / "lake"
    rows = [
        *(job(f"41{n:02}", n, "COMPLETED", "n1", user="lin") for n in range(12)),
        job("4120", 20, "FAILED", "n1", exit_code=137),
        job("4121", 21, "FAILED", "n1", exit_code=0, exit_signal=9),
        job("4122", 22, "FAILED", "n2", exit_code=1),
        job(
            "4123",
            23,
            "PENDING",
            "",
            start_ts=None,
            end_ts=None,
            exit_code=None,
            elapsed_s=None,
            state_reason="Priority",
        ),
    ]
    Writer(lake, durable=False).append(rows, batch="b")
    with Reader(lake) as opened:
        yield opened


def named(short: str, said: list[str]) -> list[str]:
    return [t.split()[1] for t in (short, *said) if t.startswith("Job ")]


@pytest.mark.parametrize(
    ("question", "jobs"),
    [
        ("last 2 failed jobs", ["4122", "4121"]),
        ("3 most recent jobs of lin", ["4111", "4110", "4109"]),
        ("what did lin run last?", ["4111", "4110", "4109"]),
        ("jobs with exit code 137", ["4121", "4120"]),
        ("which jobs were killed by SIGKILL?", ["4121", "4120"]),
        ("jobs that exited with status 1", ["4122"]),
    ],
)
def test_these_jobs_are_told_one_by_one(reader: Reader, question: str, jobs: list[str]) -> None:
    """They were counted by their states, or declined as one job's matter."""
    assert named(*asked(reader, question)[1:]) == jobs


def test_what_waits_is_told_though_a_free_node_is_asked_for_in_the_same_breath(reader: Reader) -> None:
    _, short, said = asked(reader, "show me the pending jobs, who waits and why, and which node is free")
    assert short == "Jobs that are PENDING: 1." and said[0].endswith("PENDING with the reason Priority.")


def test_of_two_times_each_is_told(reader: Reader) -> None:
    """The one that was named last was left out without a word."""
    _, short, said = asked(reader, "were there more failures in february or march?")
    assert short.startswith("Of the time named last: in all: 3 of ") and said == []
    assert short.endswith("; of the other no such job is in the store.")


@pytest.mark.parametrize(
    ("failed", "more"),
    [
        (("FAILED", "FAILED"), "As many attempts failed in each of the times: 1."),
        (("FAILED", "COMPLETED"), "More attempts failed in the time named first: 1, beside 0 in the other."),
        (("COMPLETED", "FAILED"), "More attempts failed in the time named last: 1, beside 0 in the other."),
    ],
)
def test_in_which_of_two_times_more_failed_is_said(tmp_path: Path, failed: tuple[str, str], more: str) -> None:
    """The counts stood there, and which is the larger was left to the reader."""
    rows = [job(f"{n}", 31 * n, state, "n1") for n, state in enumerate(failed)]
    Writer(tmp_path, durable=False).append(rows, batch="b")
    with Reader(tmp_path) as opened:
        _, short, said = asked(opened, "were there more failures in march or april?")
    assert short == more and len(said) == 2


def test_the_week_before_this_one_is_a_whole_one() -> None:
    this, last = two_times("compare this week with last week", SUNDAY)
    assert this == {"since": "2026-11-23T00:00:00Z"}
    assert last == {"since": "2026-11-16T00:00:00Z", "until": "2026-11-23T00:00:00Z"}
    last, this = two_times("did more jobs fail last month than this month?", SUNDAY)
    assert last == {"since": "2026-10-01T00:00:00Z", "until": "2026-11-01T00:00:00Z"}
    october, november = two_times("more failures in october or november?", SUNDAY)
    assert (october["since"], november["until"]) == ("2026-10-01T00:00:00Z", "2026-12-01T00:00:00Z")


@pytest.mark.parametrize(
    "question",
    [
        "which jobs failed this week?",
        "did it fail today and was it slow?",
        "jobs since yesterday",
        "what ran last week?",
    ],
)
def test_one_time_is_no_two(question: str) -> None:
    assert two_times(question, SUNDAY) == []


def test_the_last_that_failed_is_found_behind_many_that_did_not(tmp_path: Path) -> None:
    """It was looked for among the first two hundred, and said to be none."""
    rows = [job("51", 0, "FAILED", "n1"), *(job(f"6{n:03}", 1 + n, "COMPLETED", "n1") for n in range(260))]
    Writer(tmp_path, durable=False).append(rows, batch="b")
    with Reader(tmp_path) as opened:
        assert named(*asked(opened, "last failed job")[1:]) == ["51"]


@pytest.mark.parametrize(
    "question",
    [
        "which jobs failed last week?",
        "was the last checkpoint saved?",
        "what was the last loss?",
        "status of the cluster",
        "the longest job",
        "which sigma was used?",
        "significant changes",
    ],
)
def test_other_questions_are_none_of_these(question: str) -> None:
    assert of_last(question) == 0 and of_status(question) is None

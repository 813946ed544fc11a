"""What is answered without a model over many jobs: the one that stands out, those of a cause, and the cluster's GPUs."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from agent_tools.questions.investigation import Investigation
from agent_tools.viewer import Guarded, Viewer
from store import Reader, Writer
from store.rows import GpuEvent, Row, Verdict
from tests.agent_tools.questions.lookupkit import T, asked, job


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    lake = tmp_path_factory.mktemp("fleet") / "lake"
    lost = GpuEvent(
        node="n2", gpu=3, event="xid", xid=79, ts=T + timedelta(days=7, minutes=58), message="fallen off the bus"
    )
    Writer(lake, durable=False).append([job("12", 7, "FAILED", "n1,n2"), lost], batch="b")
    with Reader(lake) as opened:
        yield opened


def test_what_only_one_job_s_telemetry_answers_is_not_answered_by_a_list_of_jobs(reader: Reader):
    assert asked(reader, "which jobs saved checkpoints?")[1].startswith("No job is open that this")
    assert (
        asked(reader, "which cards were throttled?")[1]
        == "No stored verdict on such a job is of that kind; inquest watch stores them."
    )


def test_the_gpus_of_the_cluster_are_told_by_what_the_driver_reported(reader: Reader):
    _, short, _ = asked(reader, "did any GPU report an XID in March 2026?")
    assert short == "GPU 3 of n2: xid 79, events: 1, the last at 2026-03-16 10:58:00 UTC."
    assert asked(reader, "were there ECC errors on n2 before March 2026?")[1].startswith(
        "No event of that kind is recorded of a GPU"
    )
    theirs = Investigation(Guarded(reader, Viewer("lin"))).ask("which GPUs had errors?")
    assert theirs.short == "Only an operator may ask about the GPUs of a whole cluster."


def test_the_one_job_that_stands_out_is_named_and_so_are_its_equals(tmp_path: Path):
    rows: list[Row] = [
        job("1", 0, "COMPLETED", "n1", elapsed_s=60.0),
        job("2", 1, "FAILED", "n1,n2", elapsed_s=7200.0),
        job("3", 2, "COMPLETED", "n3,n4", elapsed_s=600.0),
    ]
    Writer(tmp_path, durable=False).append(rows, batch="b")
    with Reader(tmp_path) as opened:
        assert (
            asked(opened, "what is the longest job?")[1]
            == "Job 2 of mira ran for the most time, 2 h, and ended as FAILED."
        )
        assert asked(opened, "which job was the shortest?")[1].startswith("Job 1 of mira ran for the least time")
        _, short, said = asked(opened, "which job held the most nodes?")
        assert short.startswith("Job 3 of mira held the most nodes, 2")
        assert said == ["So did job 2, 2."]
        assert "longest" not in asked(opened, "which job wasted the most?")[1], "no verdict counts it"


def test_a_question_for_a_cause_finds_the_jobs_whose_verdict_names_it(tmp_path: Path):
    """Slurm calls a job that ran out of a card's memory failed; that no verdict is stored does not say that there was none."""
    stored = Verdict(job_id="2", attempt=1, ts=T, family="B1", attribution="job", confidence=0.9)
    rows: list[Row] = [job("1", 0, "OUT_OF_MEMORY", "n1"), job("2", 1, "FAILED", "n1"), job("3", 2, "FAILED", "n3")]
    for folder, more in (("with", [stored]), ("without", [])):
        Writer(tmp_path / folder, durable=False).append([*rows, *more], batch="b")
    with Reader(tmp_path / "with") as opened:
        _, short, said = asked(opened, "which jobs ran out of memory?")
        assert short.endswith("ended as FAILED at 2026-03-10 11:00:00 UTC; its verdict: B1, a matter of job.")
        assert said[0].startswith("Job 1 of mira ended as OUT_OF_MEMORY")
        assert said[1] == "Attempts with a stored verdict: 1 of 3."
    with Reader(tmp_path / "without") as opened:
        _, short, said = asked(opened, "which jobs ran out of GPU memory since March 10?")
        assert short == "Nothing of that kind was recognised in the logs of such jobs that were taken in."
        assert said == ["Attempts with a stored verdict: 0 of 2."]


@pytest.mark.parametrize(
    "question",
    [
        "which jobs other than mira's failed?",
        "which jobs failed except on n1?",
        "which jobs failed but not because of memory?",
        "which jobs did not run on n1?",
        "which jobs did not fail?",
        "which jobs weren't cancelled?",
        "jobs that never finished",
    ],
)
def test_what_a_question_leaves_out_is_not_answered_with_the_very_ones_that_it_leaves_out(
    reader: Reader, question: str
):
    investigation, short, said = asked(reader, question)
    assert short.startswith("What a question leaves out is not looked up without a model")
    assert said == []
    assert investigation.ask(question).cannot_answer[0].text == "Which are left when those are taken away."


def test_an_event_that_is_named_is_told_without_the_others(tmp_path: Path):
    lost = GpuEvent(node="n2", gpu=3, event="xid", xid=79, ts=T + timedelta(minutes=8), message="off the bus")
    later = GpuEvent(node="n1", gpu=5, event="xid", xid=31, ts=T + timedelta(minutes=9), message="MMU fault")
    Writer(tmp_path, durable=False).append([job("12", 0, "FAILED", "n1,n2"), lost, later], batch="b")
    with Reader(tmp_path) as opened:
        for question in ("list xid 79 events", "which GPUs fell off the bus?"):
            _, short, said = asked(opened, question)
            assert short.startswith("GPU 3 of n2: xid 79")
            assert not any("n1" in text for text in said)
        assert asked(opened, "list xid 48 events")[1] == "No event of that kind is recorded of a GPU there."
        assert asked(opened, "which GPUs had xids?")[1].startswith("GPU 5 of n1: xid 31")


def test_the_jobs_that_ran_on_a_node_are_told_though_none_is_open(tmp_path: Path):
    rows: list[Row] = [job("1", 0, "COMPLETED", "gpu-01,gpu-02"), job("2", 1, "FAILED", "gpu-03")]
    Writer(tmp_path, durable=False).append(rows, batch="b")
    with Reader(tmp_path) as opened:
        assert asked(opened, "which jobs ran on gpu-01 in March 2026?")[1].startswith(
            "Job 1 of mira ended as COMPLETED"
        )

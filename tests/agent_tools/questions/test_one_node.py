"""What is asked of one node is answered of it: who is on it, its states, how many jobs failed there, what its cards measured."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

from store import Reader, Writer
from store.rows import GpuEvent, GpuSample, Row, SlurmNodeState
from tests.agent_tools.questions.lookupkit import T, asked, job

NOW = T + timedelta(days=9)


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    lake = tmp_path_factory.mktemp("node") / "lake"
    rows: list[Row] = [
        job("4101", 0, "FAILED", "gpu-07", user="ada"),
        job("4102", 1, "COMPLETED", "gpu-07", user="lin"),
        job("4103", 9, "RUNNING", "gpu-01,gpu-02", user="ada", end_ts=None, exit_code=None),
        job("4104", 2, "FAILED", "gpu-01", user="lin"),
        SlurmNodeState(node="gpu-07", ts=NOW, state="DOWN", state_flags="DRAIN", reason="fan broke", observed=True),
        GpuEvent(node="gpu-07", gpu=3, event="xid", xid=79, ts=T, message="fallen off the bus"),
        GpuEvent(node="gpu-02", gpu=1, event="xid", xid=94, ts=T, message="contained ECC error"),
        *(
            GpuSample(node=n, gpu=0, gpu_uuid=f"GPU-{n}", ts=NOW + timedelta(minutes=m), power_w=300.0 + m, temp_c=60.0)
            for n in ("gpu-01", "gpu-02")
            for m in range(3)
        ),
    ]
    Writer(lake, durable=False).append(rows, batch="b")
    with Reader(lake) as opened:
        yield opened


@pytest.mark.parametrize("question", ["who is using gpu-01?", "who has gpu-01", "who's on gpu-01 rn"])
def test_who_uses_a_node_is_who_runs_there_now(reader: Reader, question: str) -> None:
    """Whose jobs ever failed there was told for it."""
    _, short, said = asked(reader, question)
    assert short.startswith("Job 4103 of ada is RUNNING on gpu-01,gpu-02") and said == []


def test_what_runs_on_several_nodes_is_told_once_and_nothing_that_ended(reader: Reader) -> None:
    _, short, said = asked(reader, "what is running on gpu-01 and gpu-02?")
    assert short.startswith("Job 4103 of ada is RUNNING") and said == []
    assert asked(reader, "what was running on gpu-01 and gpu-02?")[1].startswith("gpu-01: 1 of 2 attempts failed")


def test_why_a_node_is_down_is_what_slurm_noted(reader: Reader) -> None:
    for question in ("why is gpu-07 down?", "why was gpu-07 drained?", "since when is gpu-07 out of service?"):
        assert asked(reader, question)[1] == 'Node gpu-07 is DOWN (DRAIN) since 2026-03-18 10:00:00 UTC: "fan broke".'
    assert asked(reader, "why was gpu-01 drained?")[1] == "This node is not recorded as down or drained."


def test_how_many_jobs_failed_on_a_node_is_a_number(reader: Reader) -> None:
    _, short, said = asked(reader, "how many jobs failed on gpu-07?")
    assert short.startswith("gpu-07: 1 of 2 attempts failed")
    assert any("Job 4101" in text for text in said)


def test_what_several_nodes_measured_is_told_of_each(reader: Reader) -> None:
    _, short, said = asked(reader, "power draw on gpu-01 and gpu-02")
    assert [t.split(", measured")[0] for t in (short, *said)] == ["GPU 0 of gpu-01", "GPU 0 of gpu-02"]


def test_a_node_s_name_is_no_word_of_the_question(reader: Reader) -> None:
    """`gpu-07` made any question one for GPUs, which was declined while no job is open."""
    _, short, _ = asked(reader, "show jobs on gpu-07 between March 1 and March 12")
    assert short.startswith("Job 4102 of lin ended as COMPLETED")
    assert asked(reader, "gpu 3 of gpu-07 history")[1].startswith("GPU 3 of gpu-07: xid 79")


def test_errors_of_the_card_s_memory_are_those_alone(reader: Reader) -> None:
    _, short, said = asked(reader, "which nodes had ECC errors?")
    assert short.startswith("GPU 1 of gpu-02: xid 94") and said == []
    assert len(asked(reader, "which GPUs had XIDs or ECC errors?")[2]) == 1, "both are asked for"

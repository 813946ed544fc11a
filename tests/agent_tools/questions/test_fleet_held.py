"""What jobs took of the cluster and waited for, what the GPUs of a node measured, and nodes beside each other."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

from agent_tools.questions.beside import of_whom_on
from agent_tools.questions.fleet_held import of_held, of_measures, of_waits
from agent_tools.questions.fleet_picked import AMOUNT
from agent_tools.questions.investigation import Investigation
from agent_tools.viewer import Guarded, Viewer
from store import Reader, Writer
from store.rows import GpuEvent, GpuSample, Row
from tests.agent_tools.questions.lookupkit import T, asked, job


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    lake = tmp_path_factory.mktemp("held") / "lake"
    rows: list[Row] = [
        job("1", 0, "FAILED", "gpu-01,gpu-02", gpus=16, submit_ts=T - timedelta(hours=2)),
        job("2", 1, "COMPLETED", "gpu-02", submit_ts=T + timedelta(hours=20)),
        job("3", 2, "COMPLETED", "gpu-03", user="lin", gpus=2, submit_ts=T + timedelta(hours=47)),
        job("4", 3, "PENDING", "", user="lin", gpus=16, submit_ts=T, start_ts=None, end_ts=None, elapsed_s=None),
        job("5", 4, "RUNNING", "gpu-02", user="ada", gpus=4, end_ts=None),
        *(
            GpuSample(node="gpu-02", gpu=g, temp_c=60.0 + 10 * g - m, power_w=300.0, ts=T + timedelta(minutes=m), job_id="1", attempt=1)
            for g in range(2)
            for m in range(4)
        ),
        GpuEvent(node="gpu-02", gpu=1, event="xid", xid=79, ts=T, message="off the bus"),
    ]  # fmt: skip
    Writer(lake, durable=False).append(rows, batch="b")
    with Reader(lake) as opened:
        yield opened


def test_how_long_jobs_wait_is_told_by_whom_the_question_counts(reader: Reader) -> None:
    by_user = {r["value"]: (r["started"], r["mean_s"], r["longest_job"], r["waiting"]) for r in reader.ask("queue_waits", by="user").dicts()}  # fmt: skip
    assert by_user == {"mira": (2, 10800.0, "2", 0), "lin": (1, 3600.0, "3", 1)}
    assert reader.ask("queue_waits", by="colour").dicts() == []
    _, short, said = asked(reader, "average queue time per user")
    assert short.startswith("mira: 3 h in the queue on average") and "job 2" not in said[0]
    assert said[0].startswith("lin: 1 h in the queue") and said[-1] == "Attempts that are pending: 1."
    assert asked(reader, "who waits the longest?")[1].startswith("mira")
    assert asked(reader, "how long do jobs wait in the queue?")[1].startswith(
        "Such jobs together: 2 h 20 min in the queue"
    )
    assert asked(reader, "how long do lin's jobs wait?")[1].startswith("lin: 1 h")
    assert asked(reader, "how long do ada's jobs wait?")[1] == "No job that these words name is in the store."
    mine = Guarded(reader, Viewer("lin")).ask("queue_waits", by="user").dicts()
    assert [r["value"] for r in mine] == ["lin"]


def test_gpu_time_is_what_was_held_and_not_who_failed(reader: Reader) -> None:
    _, short, said = asked(reader, "GPU hours per user")
    assert short == "mira: 24 h of GPU time held in 2 attempts."
    assert said[0] == "ada: 4 h of GPU time held in 1 attempts." and "failed" not in " ".join(said)
    assert asked(reader, "how many GPU hours did lin use?")[1].startswith("lin: 2 h of GPU time")
    _, short, said = asked(reader, "which jobs held more than 7 GPU hours?")
    assert (short, said) == (
        "Job 1: 16 h of GPU time held in 1 attempts.",
        ["Job 2: 8 h of GPU time held in 1 attempts."],
    )
    assert not of_held("how many GPU hours were wasted?") and not of_waits("which jobs are waiting?")


def test_jobs_of_so_many_gpus_or_nodes(reader: Reader) -> None:
    _, short, said = asked(reader, "which jobs used 16 GPUs?")
    assert {t.split(" of ")[0] for t in (short, *said)} == {"Job 1", "Job 4"}
    assert asked(reader, "which jobs ran on 2 nodes?")[1].startswith("Job 1 of mira")
    assert asked(reader, "which jobs ran longer than 2 hours?")[1] == "No job that these words name is in the store."
    assert asked(reader, "which jobs were restarted?")[1] == "No job that these words name is in the store."
    assert asked(reader, "what does C2 mean?")[1].startswith("C2, Collective hang: ")
    assert asked(reader, "failure rate by partition")[1].startswith("batch: 1 of 5 attempts failed")
    assert asked(reader, "jobs with 3 GPUs")[1] == "No job that these words name is in the store."
    assert AMOUNT.search("jobs of 16 GPU hours") is None, "that is no number of GPUs"


def test_the_gpus_of_a_node_are_told_as_they_were_measured_last_and_at_most(reader: Reader) -> None:
    _, short, said = asked(reader, "what is the temperature of gpu-02?")
    assert short == "GPU 1 of gpu-02, measured last at 2026-03-09 10:03:00 UTC: core temperature 67 °C, at most 70 °C."
    assert said[0].startswith("GPU 0 of gpu-02") and len(said) == 1
    assert "power 300 W" in asked(reader, "what power does node gpu-02 draw?")[1]
    assert (
        asked(reader, "how hot is gpu-03?")[1] == "Nothing of the kind is recorded of a GPU of this node in that time."
    )
    theirs = Investigation(Guarded(reader, Viewer("lin"))).ask("what is the temperature of gpu-02?")
    assert theirs.short.startswith("Only an operator may ask")
    assert not of_measures("which jobs ran out of memory on gpu-02?")


def test_each_node_that_is_named_is_told_of(reader: Reader) -> None:
    _, short, said = asked(reader, "compare gpu-01 and gpu-02")
    assert short.startswith("gpu-01: 1 of 1 attempts failed")
    assert said[0].startswith("gpu-02: 1 of 3 attempts failed") and said[1].startswith("GPU 1 of gpu-02: xid 79")
    _, short, said = asked(reader, "compare gpu-03 with gpu-09")
    assert short.startswith("gpu-03: 0 of 1") and said == [
        "No user, node, partition or job is known here by the name gpu-09."
    ]
    _, short, said = asked(reader, "which jobs ran on gpu-01 and gpu-03?")
    assert [t[:6] for t in (short, *said)] == ["gpu-01", "Job 1 ", "gpu-03", "Job 3 "]
    _, short, said = asked(reader, "which jobs ran on both gpu-01 and gpu-02?")
    assert short.startswith("Job 1 of mira") and said == []


def test_who_is_on_a_node_is_who_runs_there(reader: Reader) -> None:
    assert asked(reader, "who is on gpu-02?")[1].startswith("Job 5 of ada is RUNNING on gpu-02")
    assert asked(reader, "who is on gpu-03?")[1] == "No job is recorded as running on this node."
    assert asked(reader, "who was on gpu-03 in March 2026?")[1].startswith("Job 3 of lin ended as COMPLETED")
    assert not of_whom_on("who broke gpu-02?")

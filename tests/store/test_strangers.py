"""Names of processes stay where the job had the node to itself, and go where somebody else was there."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from store import Reader, Writer
from store.result import Cell
from store.rows import GpuEvent, HostEvent, Process, Row, SlurmJob
from store.strangers import scrubbed

T = datetime(2026, 3, 1, 10, tzinfo=UTC)
CRASH = "python[500]: segfault at 0 ip 0 sp 0 error 4 in libtorch.so[7f00+1000]"


def job(id: str, since: int = 0, until: int | None = 60, node: str = "n1", **fields: Any) -> SlurmJob:
    end = None if until is None else T + timedelta(minutes=until)
    start = T + timedelta(minutes=since)
    return SlurmJob(job_id=id, attempt=1, node_list=node, start_ts=start, end_ts=end, ts=end or start, **fields)


def crash(minute: int = 30, **fields: Any) -> HostEvent:
    given: dict[str, Any] = {"pid": 500, "process_name": "python", "message": CRASH, **fields}
    return HostEvent(node="n1", ts=T + timedelta(minutes=minute), event="segfault", **given)


def told(folder: Path, *rows: Row) -> dict[str, Cell]:
    Writer(folder / "lake", durable=False).append([job("1"), *rows], batch="b")
    with Reader(folder / "lake") as reader:
        found = reader.ask("host_events", job_id="1", nodes="n1").dicts()
    assert len(found) == 1
    return found[0]


@pytest.mark.parametrize(
    "beside",
    [
        [],
        [job("2", 61, 90)],
        [job("2", 70, None)],
        [job("2", -90, -2)],
        [job("2", node="n2")],
        [job("2"), Process(job_id="1", node="n1", pid=500, ts=T)],
        [job("2"), Process(job_id="2", node="n1", pid=500, ts=T - timedelta(days=1)), Process(job_id="1", node="n1", pid=500, ts=T)],
    ],
    ids=["nobody else", "a later job", "one that runs since", "an earlier job", "on another node", "its own process", "a number used again"],
)  # fmt: skip
def test_a_name_stays_where_it_is_the_job_s_own_or_nobody_else_was_there(tmp_path: Path, beside: list[Row]) -> None:
    row = told(tmp_path, crash(), *beside)
    assert (row["process_name"], row["pid"], row["message"], row["hidden"]) == ("python", 500, CRASH, None)


@pytest.mark.parametrize(
    "beside",
    [
        [job("2")],
        [job("2", -500, None)],
        [job("2", 20, 29)],
        [Process(job_id="2", node="n1", pid=700, ts=T)],
        [Process(job_id="2", node="n1", pid=500, ts=T)],
        [Process(job_id="1", node="n1", pid=500, ts=T - timedelta(days=1), end_ts=T), Process(job_id="2", node="n1", pid=500, ts=T)],
    ],
    ids=["all along", "it runs on", "ended a minute ago", "known by a process", "by this process", "a number used again"],
)  # fmt: skip
def test_a_name_goes_where_another_job_was_there(tmp_path: Path, beside: list[Row]) -> None:
    row = told(tmp_path, crash(), *beside)
    assert (row["process_name"], row["pid"], row["hidden"]) == (None, None, True)
    assert row["message"] == "a process of another job or of the system"


def test_what_came_when_the_job_was_not_there_is_not_its_to_read(tmp_path: Path) -> None:
    assert told(tmp_path, crash(minute=600))["hidden"] is True


def test_a_control_group_says_whose_a_process_was(tmp_path: Path) -> None:
    for id, whose, raw in (("1", "1", None), ("2", "1", None), ("77", "1", "77")):
        folder = tmp_path / id
        rows = [job("1", job_id_raw=raw)] if raw else []
        row = told(folder, crash(cgroup=f"/slurm/uid_1/job_{id}/step_0"), job("2", 20, 40), *rows)
        assert (row["hidden"] is None) == (id in (whose, raw))


def test_an_array_task_s_group_has_the_numeric_id(tmp_path: Path) -> None:
    rows = [job("8_1", job_id_raw="9"), job("8_2", job_id_raw="10"), crash(cgroup="/slurm/uid_1/job_9/step_0")]
    Writer(tmp_path / "lake", durable=False).append(rows, batch="b")
    with Reader(tmp_path / "lake") as reader:
        assert reader.ask("host_events", job_id="8_1", nodes="n1").dicts()[0]["process_name"] == "python"
        assert reader.ask("host_events", job_id="8_2", nodes="n1").dicts()[0]["process_name"] is None


def test_a_driver_s_word_keeps_the_gpu_and_what_it_did_and_loses_whose_process_it_was(tmp_path: Path) -> None:
    """Which GPUs are asked about is the asker's to say, so that it makes nobody their holder."""
    line = "NVRM: Xid (PCI:0000:1b:00): 31, pid=500, name=python, Ch 00000008"
    event = GpuEvent(node="n1", ts=T + timedelta(minutes=5), event="xid", xid=31, gpu_uuid="GPU-1", pid=500, process_name="python", message=line)  # fmt: skip
    Writer(tmp_path / "lake", durable=False).append([job("1"), job("2"), event], batch="b")
    with Reader(tmp_path / "lake") as reader:
        hidden = reader.ask("gpu_events", job_id="1", nodes="n1", gpus="GPU-1").dicts()[0]
        assert (hidden["process_name"], hidden["xid"], hidden["gpu_uuid"]) == (None, 31, "GPU-1")
        assert hidden["message"] == "NVRM: Xid (PCI:0000:1b:00): 31, [hidden], Ch 00000008"
    Writer(tmp_path / "lake", durable=False).append([Process(job_id="1", node="n1", pid=500, ts=T)], batch="c")
    with Reader(tmp_path / "lake") as reader:
        assert reader.ask("gpu_events", job_id="1", nodes="n1").dicts()[0]["message"] == line


@pytest.mark.parametrize(
    "text",
    [
        "nfs: server nfs-1 not responding, still trying",
        "NVRM: Xid (PCI:0000:1b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
        "mlx5_core 0000:3b:00.0: Port module event: module 0, Cable unplugged",
        "EDAC MC0: 1 CE memory read error on CPU_SrcID#0_MC#0_Chan#0_DIMM#0 (channel:0 slot:0 page:0x1 offset:0x0)",
        "CPU12: Core temperature above threshold, cpu clock throttled (total events = 31)",
        "nvme nvme0: I/O 12 QID 3 timeout, aborting",
    ],
)
def test_what_the_kernel_says_of_the_node_stays_as_it_is(text: str) -> None:
    assert scrubbed(text, "storage") == text

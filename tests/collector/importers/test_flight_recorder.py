"""flight_recorder: rows as dumped, ranks and groups put right, and no pickle that could run anything."""

from __future__ import annotations

import json
import os
import pickle
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from collector.importers.base import ImportContext, ImportFailed
from collector.importers.flight_recorder import FlightRecorder, rank_of

SAMPLES = Path(__file__).parent / "samples"


def read(path: Path) -> tuple[list[Any], ImportContext]:
    ctx = ImportContext(path.name, UTC, job_id="4812")
    return list(FlightRecorder().rows(path, ctx)), ctx


def test_status_and_entries_name_the_same_group() -> None:
    rows, ctx = read(SAMPLES / "_dump_3.json")
    assert ctx.problem_count == 0
    status, tensor, stuck, done = rows
    assert (status.rank, status.comm, status.comm_size, status.comm_rank) == (3, "0:default_pg", 4, 3)
    assert (status.last_enqueued_seq, status.last_completed_seq, status.in_flight) == (12, 11, 1)
    assert (tensor.comm, tensor.comm_rank, tensor.in_flight) == ("12:TP", 1, 0), (
        "the status knows the group by number only"
    )
    assert (stuck.comm, stuck.collective, stuck.seq, stuck.state) == ("0:default_pg", "all_reduce", 12, "started")
    assert (stuck.bytes, stuck.frames) == (4096, "/home/alice/train.py:42 in forward")
    assert stuck.ts == datetime(2026, 3, 1, 10, 0, 0, 123456, tzinfo=UTC)
    assert (done.collective, done.duration_ms, done.bytes, done.job_id) == ("all_gather", 1.5, 32, "4812")


def test_a_rank_that_never_entered_a_group_still_has_its_status(tmp_path: Path) -> None:
    """No entry names the group, but names and numbers were both given in order of creation."""
    path = tmp_path / "rank10.json"
    names = {"0": ("default_pg", "[0, 1]"), "6": ("DP", "[0]"), "73": ("EP", "[0, 1]")}
    status = {"0": 5, "1": 7, "4": 9}
    dump = {
        "pg_config": {k: {"name": k, "desc": d, "ranks": r} for k, (d, r) in names.items()},
        "pg_status": {k: {"last_enqueued_collective": n, "last_completed_collective": n} for k, n in status.items()},
        "entries": [{"pg_id": 1, "process_group": ["6", "DP"], "collective_seq_id": 7, "state": "completed"}],
    }
    path.write_text(json.dumps(dump))
    assert [(r.comm, r.last_enqueued_seq) for r in read(path)[0][:3]] == [
        ("0:default_pg", 5),
        ("6:DP", 7),
        ("73:EP", 9),
    ]
    dump["entries"] = [{"pg_id": 4, "process_group": ["6", "DP"], "collective_seq_id": 7, "state": "completed"}]
    path.write_text(json.dumps(dump))
    assert [r.comm for r in read(path)[0][:3]] == ["0:default_pg", "pg_id 1", "6:DP"], "an entry that disagrees ends it"


def test_a_pickle_of_plain_data_reads_as_the_json_does(tmp_path: Path) -> None:
    plain = json.loads((SAMPLES / "_dump_3.json").read_text())
    path = tmp_path / "_dump_3"
    path.write_bytes(pickle.dumps(plain, protocol=4))
    assert FlightRecorder().claims(path, path.read_bytes()) > 90
    ours, theirs = read(path)[0], read(SAMPLES / "_dump_3.json")[0]
    assert [r.seq for r in ours] == [r.seq for r in theirs]


def test_a_pickle_that_names_a_function_never_runs_it(tmp_path: Path) -> None:
    class Bomb:
        def __reduce__(self) -> tuple[Any, tuple[str]]:
            return os.mkdir, (str(tmp_path / "ran"),)

    path = tmp_path / "nccl_trace_rank_0"
    path.write_bytes(pickle.dumps({"entries": [], "pg_status": Bomb()}))
    with pytest.raises(ImportFailed, match="only plain data"):
        read(path)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "body", [b"\x80\x04\x95", b'{"entries": [', b'{"entries": 5, "pg_status": []}', b"\x80\x04Nq\x00.", b"[1, 2]"]
)
def test_broken_dumps_fail_cleanly_or_give_nothing(tmp_path: Path, body: bytes) -> None:
    path = tmp_path / "dump_1.json"
    path.write_bytes(body)
    try:
        rows, _ = read(path)
    except ImportFailed:
        return
    assert rows == []


@pytest.mark.parametrize(
    ("name", "rank"),
    [
        ("nccl_trace_rank_3", 3),
        ("_dump_12", 12),
        ("rank03.json", 3),
        ("7.pkl", 7),
        ("trace_rank_4.json.gz", 4),
        ("dump", None),
    ],
)
def test_the_rank_in_the_name(name: str, rank: int | None) -> None:
    assert rank_of(name) == rank

"""Chunks that are damaged, of another version, or too many at once: nobody waits for them and nothing of them is lost."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from store import free_sql, incoming, overlay
from store.doctor import doctor
from store.incoming import put, waiting
from store.lake import Lake
from store.reader import Reader
from store.retain import retain
from store.rows import GpuSample
from store.take_in import take_in
from tests.store.test_incoming import NOW, PIDS, event, handed, pids, seen, spooled


def test_a_file_that_cannot_be_read_keeps_nobody_waiting(tmp_path: Path) -> None:
    """It is in no answer, is laid aside by whoever takes it in, told of by doctor, and aged out."""
    lake = tmp_path / "lake"
    chunk = handed(lake, 1, event(1), GpuSample(node="node1", ts=NOW, gpu=0))
    handed(lake, 2)
    (chunk.path / "gpu_sample.csv").write_text("this,is,no,row\n")
    assert pids(lake) == [1, 2]
    assert {f.kind for f in doctor(lake).findings} == {"waiting"}
    done = take_in(lake)
    assert (done.chunks, done.laid_aside) == (2, [f"{chunk.path.name}/gpu_sample.csv"])
    assert pids(lake) == [1, 2]
    examined = doctor(lake)
    assert [f.kind for f in examined.findings] == ["laid aside"] and not examined.healthy
    retain(lake, days=1, now=datetime.now(UTC) + timedelta(days=2))
    assert incoming.laid_aside(Lake(lake)) == []


def test_an_older_versions_chunk_reads_with_nulls(tmp_path: Path) -> None:
    source = spooled(tmp_path / "spool", [])
    (source / incoming.COLUMNS).write_text(json.dumps({"host_event": ["ts", "node", "pid"]}))
    (source / "host_event.csv").write_text('2026-03-01 10:00:00,"node1",1\n')
    put(Lake(tmp_path / "lake"), "node1", "id", source)
    assert pids(tmp_path / "lake") == [1]
    assert take_in(tmp_path / "lake").rows == 1
    assert free_sql.run(tmp_path / "lake", "SELECT pid, message FROM host_event").rows == ((1, None),)


def test_a_newer_versions_chunk_is_read_and_left_to_one_who_knows_it(tmp_path: Path) -> None:
    """A column and a table that we do not know: taking it in would lose them. What we know is in our answers."""
    lake = tmp_path / "lake"
    source = spooled(tmp_path / "spool", [])
    layout = {"host_event": ["ts", "node", "mood", "pid"], "weather": ["ts"]}
    (source / incoming.COLUMNS).write_text(json.dumps(layout))
    (source / "host_event.csv").write_text('2026-03-01 10:00:00,"node1","gloomy",1\n')
    (source / "weather.csv").write_text("2026-03-01 10:00:00\n")
    chunk = put(Lake(lake), "node1", "id", source)
    handed(lake, 2)
    done = take_in(lake)
    assert (done.chunks, done.newer, done.laid_aside, done.error) == (1, 1, [], None)
    assert waiting(Lake(lake)) == [chunk]
    assert pids(lake) == [1, 2]


def test_a_chunk_without_its_columns_is_read_as_this_version_writes_them(tmp_path: Path) -> None:
    source = spooled(tmp_path / "spool", [event(1)])
    (source / incoming.COLUMNS).write_text('{"host_event": ["clu')
    put(Lake(tmp_path / "lake"), "node1", "id", source)
    assert take_in(tmp_path / "lake").rows == 1


def test_more_than_can_be_read_at_once_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What came last is read, the rest is named in every answer until somebody takes it in."""
    lake = tmp_path / "lake"
    for n in range(1, 6):
        handed(lake, n)
    monkeypatch.setattr(overlay, "MOST", 2)
    monkeypatch.setattr(overlay, "PATIENCE_S", 0.001)
    with Reader(lake) as reader:
        found = reader.run(PIDS, {}, 10)
        assert [row[0] for row in found.rows] == [4, 5]
        assert "3 chunks" in found.caveat and found.caveat == reader.lacks
        assert "3 chunks" in free_sql.run(lake, "SELECT 1 FROM host_event").caveat
        take_in(lake)
        assert seen(reader) == [1, 2, 3, 4, 5]
        assert reader.lacks == ""

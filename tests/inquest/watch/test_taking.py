"""The watcher takes in what nodes hand over."""

from __future__ import annotations

import time
from pathlib import Path

from inquest.watch.taking import Taking
from store import incoming
from store.incoming import put, waiting
from store.lake import Lake
from tests.collector.livekit import asked


def handed(lake: Path, n: int) -> None:
    source = lake.parent / f"spool-{n}"
    source.mkdir()
    (source / "host_event.csv").write_text(f"{n}\n")
    (source / incoming.COLUMNS).write_text('{"host_event": ["pid"]}')
    put(Lake(lake), "node1", f"{n:04d}", source)


def test_what_is_handed_over_is_taken_in_by_all_of_several_watchers_once(tmp_path: Path) -> None:
    lake, said = tmp_path / "lake", list[str]()
    watchers = [Taking(lake, said.append, every_s=0.05) for _ in range(3)]
    for watcher in watchers:
        watcher.start()
    for n in range(40):
        handed(lake, n)
    deadline = time.monotonic() + 60
    while waiting(Lake(lake)):
        assert time.monotonic() < deadline, said
        time.sleep(0.05)
    for watcher in watchers:
        watcher.stop()
    assert said == []
    assert asked(lake, "SELECT count(*), count(DISTINCT pid) FROM host_event") == [(40, 40)]


def test_what_is_in_the_way_is_said_once_and_stops_nothing(tmp_path: Path) -> None:
    lake, said = tmp_path / "lake", list[str]()
    handed(lake, 1)
    tables = lake / "tables"
    tables.rmdir()
    tables.write_text("no folder")
    watcher = Taking(lake, said.append)
    watcher.turn()
    watcher.turn()
    assert len(said) == 1 and "stays where it is" in said[0]
    tables.unlink()
    assert watcher.turn().chunks == 1
    handed(lake, 2)
    (chunk,) = waiting(Lake(lake))
    (chunk.path / "host_event.csv").write_text("no number\n")
    assert watcher.turn().laid_aside
    assert "incoming/bad" in said[1]

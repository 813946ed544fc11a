"""Requests to a node's collector: one small file for each node, and whatever else may lie there is none."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from store import triggers
from store.lake import Lake
from store.result import StoreError
from store.retain import retain

GOOD = {"id": "a1", "ts": "2026-03-01T10:00:00+00:00", "node": "gpu01", "job": "4812", "kinds": ["hang"]}


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    lake = Lake(tmp_path / "lake", durable=False)
    lake.create()
    return lake


def test_a_request_is_read_as_it_was_put_and_the_next_one_replaces_it(lake: Lake) -> None:
    path = triggers.place(lake, "gpu01")
    assert triggers.mark(path) is None
    triggers.put(lake, "gpu01", "4812", ["hang", "gpu"])
    first, mark = triggers.read(path), triggers.mark(path)
    assert first is not None
    assert (first.node, first.job, first.kinds) == ("gpu01", "4812", ("hang", "gpu"))
    triggers.put(lake, "gpu01", "4812", ["diverged"])
    second = triggers.read(path)
    assert second is not None and second.id != first.id and triggers.mark(path) != mark
    assert [p.name for p in path.parent.iterdir()] == ["n-gpu01.json"], "nothing half-written is left"


def test_a_name_of_a_node_leads_nowhere_else(lake: Lake) -> None:
    triggers.put(lake, "../../etc/x", "4812", ["hang"])
    assert [p.name for p in (lake.root / "triggers").iterdir()] == ["n-..%2F..%2Fetc%2Fx.json"]


def test_no_lake_is_made_for_it(tmp_path: Path) -> None:
    (tmp_path / "unmounted").mkdir()
    with pytest.raises(StoreError):
        triggers.put(Lake(tmp_path / "unmounted"), "gpu01", "4812", ["hang"])
    assert not list((tmp_path / "unmounted").iterdir())


def test_collectors_of_another_user_can_read_it(lake: Lake) -> None:
    before = os.umask(0o077)
    try:
        triggers.put(lake, "gpu01", "4812", ["hang"])
    finally:
        os.umask(before)
    path = triggers.place(lake, "gpu01")
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o644, 0o755)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b"\xff\xfe",
        b"[" * 4000,
        b" " * 5000,
        json.dumps({**GOOD, "id": ""}).encode(),
        json.dumps({**GOOD, "job": 4812}).encode(),
        json.dumps({**GOOD, "node": "n" * 300}).encode(),
        json.dumps({**GOOD, "kinds": 7}).encode(),
        json.dumps({**GOOD, "kinds": [None]}).encode(),
        json.dumps({**GOOD, "ts": 1e300}).encode(),
        json.dumps({**GOOD, "ts": "yesterday"}).encode(),
        json.dumps({**GOOD, "ts": "2026-03-01T10:00:00"}).encode(),
        json.dumps({k: v for k, v in GOOD.items() if k != "ts"}).encode(),
    ],
)
def test_what_is_broken_is_no_request(lake: Lake, text: bytes) -> None:
    path = triggers.place(lake, "gpu01")
    path.parent.mkdir()
    path.write_bytes(text)
    assert triggers.read(path) is None


def test_a_pipe_or_a_link_in_its_place_is_neither_waited_for_nor_followed(lake: Lake) -> None:
    path = triggers.place(lake, "gpu01")
    path.parent.mkdir()
    os.mkfifo(path)
    assert triggers.read(path) is None
    path.unlink()
    (lake.root / "elsewhere").write_text(json.dumps(GOOD))
    path.symlink_to(lake.root / "elsewhere")
    with pytest.raises(OSError):
        triggers.read(path)


def test_old_ones_go_when_the_lake_is_tidied(lake: Lake) -> None:
    triggers.put(lake, "gpu01", "4812", ["hang"])
    triggers.put(lake, "gpu02", "4812", ["hang"])
    day_old = time.time() - triggers.OLD_S - 60
    os.utime(triggers.place(lake, "gpu01"), (day_old, day_old))
    assert retain(lake, days=30).removed == 1
    assert [p.name for p in (lake.root / "triggers").iterdir()] == ["n-gpu02.json"]

"""One consistent picture, whatever is published while it is taken."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from store import Writer
from store.lake import Lake
from store.manifest import Segment
from store.rows import HostEvent, LogLine
from store.snapshot import DAY_US, Snapshots, Window

T = datetime(2026, 3, 1, 10, tzinfo=UTC)
TABLES = ("host_event", "log_line")


class Scripted(Snapshots):
    """The first readings see what the script says, later ones what is there."""

    def __init__(self, lake: Lake, hidden: list[str]) -> None:
        super().__init__(lake)
        self.hidden = hidden

    def _read(self, table: str, window: Window) -> list[tuple[str, Segment]]:
        if table in self.hidden:
            self.hidden.remove(table)
            return []
        return super()._read(table, window)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    Writer(tmp_path / "lake").append([LogLine(text="old")], batch="old")
    rows = [HostEvent(node="n1", ts=T, message="a"), LogLine(node="n1", ts=T, text="b")]
    Writer(tmp_path / "lake").append(rows, batch="new")
    return Lake(tmp_path / "lake")


def test_a_batch_committed_during_the_first_reading_is_seen_whole(lake: Lake) -> None:
    found = Scripted(lake, ["host_event"]).take(TABLES)
    assert {t: len(o) for t, o in found.items()} == {"host_event": 1, "log_line": 2}


def test_a_batch_that_came_after_the_first_reading_is_not_seen_at_all(lake: Lake) -> None:
    class Late(Snapshots):
        """Its first reading is older than the batch."""

        first = True

        def _read(self, table: str, window: Window) -> list[tuple[str, Segment]]:
            found = super()._read(table, window)
            if self.first:
                found = [(f, s) for f, s in found if s.key == "old"]
            return found

        def _pub(self, key: str) -> str | None:
            self.first = False
            return super()._pub(key)

    found = Late(lake).take(TABLES)
    assert {t: len(o) for t, o in found.items()} == {"host_event": 0, "log_line": 1}


def test_a_question_opens_only_the_segments_of_its_job_node_and_time(tmp_path: Path) -> None:
    lake = Lake(tmp_path / "lake")
    for job in ("1", "2", None):
        for node in ("n1", "n2"):
            Writer(lake).append([HostEvent(node=node, ts=T, job_id=job)], batch=f"{job}{node}")

    def opened(**limits: object) -> int:
        wanted = {"host_event": Window(**limits)}  # pyright: ignore
        (found,), (chosen,) = (Snapshots(lake, settled=s).take(wanted, wanted).values() for s in (False, True))
        assert chosen == found, "from the picture of a settled lake the same is chosen"
        return len(found)

    at = int(T.timestamp()) * 1_000_000
    assert opened() == 6
    one, here = frozenset({"1"}), frozenset({"n-n1"})
    assert opened(jobs=one) == 4, "rows without a job may be the job's"
    assert opened(jobs=frozenset({"1", "2"})) == 6
    assert opened(jobs=one, nodes=here) == 3
    assert opened(jobs=one, nodes=here, either=True) == 4, "those of the other job on this node too"
    assert opened(nodes=here) == 3
    assert opened(node="n2") == 3
    assert opened(start=at) == opened(end=at) == 6
    assert opened(start=at + 1) == opened(end=at - 1) == 0
    assert opened(start=at + 2 * DAY_US) == opened(end=at - 2 * DAY_US) == 0


def test_of_a_settled_lake_each_picture_is_taken_once_and_anew_where_its_files_are_gone(lake: Lake) -> None:
    settled, other = Snapshots(lake, settled=True), Snapshots(lake)
    before = settled.take(TABLES)
    Writer(lake).append([LogLine(node="n1", ts=T, text="later")], batch="later")
    assert [len(s.take(TABLES)["log_line"]) for s in (settled, other)] == [2, 3]
    assert settled.take(TABLES) == before
    assert len(settled.take(["log_line"])["log_line"]) == 2, "of the picture that was taken"
    settled.distrust()
    assert len(settled.take(TABLES)["log_line"]) == 3

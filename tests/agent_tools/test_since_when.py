"""Since when a hung job stood still, and what that cost, where only what its ranks did on their GPUs tells it."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from agent_tools.agent import diagnose
from agent_tools.cost import cost
from agent_tools.evidence import Ledger
from agent_tools.references import plain
from inquest.render.show import markdown_text
from store import Reader, Writer
from store.rows import CudaSample, LogEvent, NcclSample, Row, SlurmJob, TrainStep

T = datetime(2026, 3, 1, 10, tzinfo=UTC)


def at(minute: float) -> datetime:
    return T + timedelta(minutes=minute)


def job(minutes: int = 60) -> SlurmJob:
    return SlurmJob(
        job_id="7", attempt=1, state="TIMEOUT", ts=at(minutes), start_ts=T, end_ts=at(minutes), elapsed_s=minutes * 60.0, gpus=2,
        time_limit_s=minutes * 60.0, node_list="n1", node_count=1,
    )  # fmt: skip


def collectives(until: int, seen: int, ranks: int = 2) -> list[Row]:
    """Of each rank a sample a minute up to `seen`, with collectives up to `until`."""
    return [
        NcclSample(
            job_id="7", attempt=1, ts=at(m), node="n1", comm="c", comm_size=ranks, rank=rank, interval_s=60.0,
            completed=10 if m <= until else 0, enqueued=10 if m <= until else 0, in_flight=0 if m <= until or rank else 1,
            last_enqueued_seq=10 * min(m, until), last_completed_seq=10 * min(m, until),
        )
        for rank in range(ranks) for m in range(1, seen + 1)
    ]  # fmt: skip


def launches(until: int, seen: int) -> list[Row]:
    return [
        CudaSample(
            job_id="7", attempt=1, ts=at(m), node="n1", rank=rank, pid=100 + rank, attached=True, interval_s=60.0,
            launches=50 if m <= until else 0,
        )
        for rank in range(2) for m in range(1, seen + 1)
    ]  # fmt: skip


def saved() -> list[Row]:
    """A checkpoint without a time, which a log names."""
    return [LogEvent(job_id="7", attempt=1, kind="checkpoint", name="saved", file="a", line_no=1, ts_kind="file", ts=T)]


def timed() -> list[Row]:
    return [
        TrainStep(job_id="7", attempt=1, ts=at(n), ts_kind="embedded", file="a", line_no=n + 1, step=n, loss=3 - n / 30)
        for n in range(1, 30)
    ]


@pytest.mark.parametrize(
    ("rows", "wasted", "says"),
    [
        ([*collectives(30, 59), *saved()], 1.0, "1 h of GPU time came after the last completed collective"),
        ([*collectives(30, 59)], 2.0, "1 h of GPU time came after the last completed collective"),
        ([*launches(15, 59), *saved()], 1.5, "1.5 h of GPU time came after the last launch of a kernel"),
        ([*collectives(30, 59), *launches(59, 59), *saved()], 1.0, "the last completed collective"),
        ([*collectives(59, 59), *launches(15, 59), *saved()], None, "the last checkpoint has no time"),
        ([*collectives(30, 30), *saved()], None, "the last checkpoint has no time"),
        ([*collectives(0, 59), *saved()], None, "the last checkpoint has no time"),
        ([*collectives(30, 59), *timed(), *saved()], 1.033, "at the least: that long the job stood still"),
    ],
    ids=["still", "nothing-saved", "launches", "one-loops", "went-on", "unseen-after", "never-any", "log-has-times"],
)
def test_gpu_hours_since_the_ranks_stood_still(
    rows: list[Row], wasted: float | None, says: str, tmp_path: Path
) -> None:
    Writer(tmp_path / "lake").append([job(), *rows], batch="b")
    ledger = Ledger()
    with Reader(tmp_path / "lake") as reader:
        spent = cost(reader, ledger, "7", None, "C2")
        other = cost(reader, Ledger(), "7", None, "A3")
    said = plain(spent.basis, ledger)
    assert says in said
    assert "at the least" in said or wasted is None or wasted == 2.0
    assert spent.gpu_hours_wasted == wasted
    assert "came after the last completed" not in other.basis, "a crash did not stand still"


def test_a_hang_has_the_time_of_its_last_collective(tmp_path: Path) -> None:
    Writer(tmp_path / "lake").append([job(), *collectives(30, 59), *launches(29, 59)], batch="b")
    with Reader(tmp_path / "lake") as reader:
        verdict = diagnose(reader, "7")
    read = " ".join(re.sub(r"\]\(#e\d+\)|\[", "", markdown_text(verdict)).split())
    assert verdict.family == "C2"
    assert "none did after 2026-03-01 10:30" in read, read
    assert "none were after 2026-03-01 10:29" in read, read
    assert re.search(r"2026-03-01 10:30\S* UTC\W+The last collective completed", read), read


def test_a_job_whose_collectives_go_on_has_no_last_one(tmp_path: Path) -> None:
    Writer(tmp_path / "lake").append([job(), *collectives(59, 59), *launches(59, 59)], batch="b")
    with Reader(tmp_path / "lake") as reader:
        verdict = diagnose(reader, "7")
    assert not [m for m in verdict.timeline if "last collective" in m.text]

"""What Slurm did around an end: the run that waits after one that was sent back, also while that one is still being ended."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from collector.sources.base import SourceUnavailable
from inquest.watch import around
from inquest.watch.around import Around
from inquest.watch.shared import Shared
from store import Reader, Writer
from store.rows import Row, SlurmJob, SlurmNodeState, SourceHealth
from tests.inquest.watch.accounts import Accounts

T = datetime.now(UTC).replace(microsecond=0)
BEFORE = SlurmJob(job_id="4833", attempt=1, state="REQUEUED", submit_ts=T, start_ts=T, end_ts=T + timedelta(seconds=9))
# As squeue's JSON of 22.05 has it until the processes are gone: the next run's number, and times of neither run.
COMPLETING = SlurmJob(
    job_id="4833", attempt=2, restarts=1, state="COMPLETING", submit_ts=T, ts=T + timedelta(hours=2),
    start_ts=T + timedelta(seconds=9), node_list="gpu01", node_count=1, state_reason="job requeued in held state",
)  # fmt: skip


def waiting(folder: Path, queued: SlurmJob) -> list[SlurmJob]:
    accounts = Accounts(folder / "accounts")
    accounts.now_running = [queued]
    rows, _ = Around(Shared(accounts)).rows([BEFORE])  # type: ignore[arg-type]
    return [r for r in rows if isinstance(r, SlurmJob)]


def test_a_run_that_is_still_being_ended_waits_already(tmp_path: Path) -> None:
    (told,) = waiting(tmp_path, COMPLETING)
    assert (told.attempt, told.state, told.state_reason) == (2, "PENDING", "job requeued in held state")
    assert (told.start_ts, told.node_list, told.ts) == (None, None, T), "nothing of the run before, and no later word"


@pytest.mark.parametrize(
    "other",
    [
        replace(COMPLETING, restarts=0, attempt=1),
        replace(COMPLETING, state="RUNNING"),
        replace(COMPLETING, job_id="4834"),
    ],
    ids=["it ends for good", "it runs", "another job"],
)
def test_another_state_is_not_taken_for_it(tmp_path: Path, other: SlurmJob) -> None:
    assert waiting(tmp_path, other) == []


@pytest.mark.parametrize(("signal", "looked"), [(54, True), (53, True), (0, False), (9, False)])
def test_the_nodes_are_looked_at_where_slurm_gives_a_code_of_its_own(tmp_path: Path, signal: int, looked: bool) -> None:
    """A prolog that fails before a job at a terminal leaves FAILED, and the node's reason comes a minute later by itself."""
    accounts = Accounts(tmp_path / "accounts")
    accounts.states = [SlurmNodeState(node="gpu07", ts=T, state="DRAINED", reason="Prolog error")]
    job = replace(BEFORE, state="FAILED", exit_code=0, exit_signal=signal, node_list="gpu07")
    rows, _ = Around(Shared(accounts)).rows([job])  # type: ignore[arg-type]
    told = [r for r in rows if not isinstance(r, SourceHealth)]
    assert told == (accounts.states if looked else [])
    assert [(r.node, r.covers, r.ok) for r in rows if isinstance(r, SourceHealth)] == (
        [("gpu07", "slurm_node_state", True)] if looked else []
    )


def test_no_later_end_waits_for_another_look_at_its_node(tmp_path: Path) -> None:
    """It was looked once, for the end of a job that was cancelled there; the collector of that node goes on looking."""
    rows, _ = Around(Shared(Accounts(tmp_path / "accounts"))).rows([replace(BEFORE, node_list="gpu07")])  # type: ignore[arg-type]
    collector = SourceHealth(
        node="gpu07", ts=T, end_ts=T + timedelta(seconds=30), source="nvml", covers="gpu_sample", ok=True
    )
    Writer(tmp_path / "lake").append([*rows, collector], batch="b")
    with Reader(tmp_path / "lake") as reader:
        behind = reader.ask("sources_behind", nodes="gpu07", end_ts=T + timedelta(minutes=2)).dicts()
    assert [r["source"] for r in behind] == ["nvml"]


class _Away(Accounts):
    """Accounting has told of the end, and is away when it is asked about the nodes."""

    away = True

    def node_events(self, since: datetime) -> Iterator[Row]:
        if self.away:
            raise SourceUnavailable("slurmdbd does not answer")
        return super().node_events(since)


def _looks_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(around, "OFTEN_S", 0.0)
    monkeypatch.setattr(around, "SHARE", 0.0)


def test_an_end_waits_for_accounting_that_is_away_for_a_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A job whose prolog failed is CANCELLED by root: without the node's reason an operator would have cancelled it."""
    _looks_at_once(monkeypatch)
    accounts = _Away(tmp_path / "accounts")
    accounts.states = [SlurmNodeState(node="gpu07", ts=T, state="DRAINED", reason="Prolog error")]
    job = replace(BEFORE, state="CANCELLED", cancelled_by="root", node_list="gpu07")
    looking = Around(Shared(accounts))  # type: ignore[arg-type]
    assert looking.rows([job]) == ([], {"4833"})
    accounts.away = False
    rows, later = looking.rows([job])
    assert ([r for r in rows if isinstance(r, SlurmNodeState)], later) == (accounts.states, set())


def test_an_end_does_not_wait_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _looks_at_once(monkeypatch)
    accounts = _Away(tmp_path / "accounts")
    job = replace(BEFORE, state="CANCELLED", node_list="gpu07")
    now = [1000.0]
    monkeypatch.setattr(around.time, "monotonic", lambda: now[0])
    looking = Around(Shared(accounts))  # type: ignore[arg-type]
    waited = []
    for at in (1000.0, 1030.0, 1059.0, 1061.0, 1100.0):
        now[0] = at
        waited.append(looking.rows([job]) == ([], {"4833"}))
    assert waited == [True, True, True, False, False]
    now[0] = 5000.0
    assert looking.rows([job]) == ([], {"4833"}), "another trouble, an hour later"

"""Early warnings on running jobs, with the real lake and families: raised once with evidence and cost, taken back, never a kill."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from agent_tools.early import early
from collector.intake.bundle import import_paths
from inquest.watch import worker
from inquest.watch.attempt import Attempt
from inquest.watch.hand import Hand
from inquest.watch.notify.base import Channel
from inquest.watch.running import Running
from inquest.watch.shared import Shared
from inquest.watch.state import State
from store import Reader, Writer
from store.rows import GpuSample, SlurmJob
from tests.inquest.watch.accounts import Accounts

NOW = datetime.now(UTC).replace(microsecond=0)
START = NOW - timedelta(hours=2)


@pytest.fixture(autouse=True)
def now(monkeypatch: pytest.MonkeyPatch) -> None:
    """The watcher reads the real clock: a test's "now" is when it runs, however long the tests before it took."""
    here = sys.modules[__name__]
    fresh = datetime.now(UTC).replace(microsecond=0)
    monkeypatch.setattr(here, "NOW", fresh)
    monkeypatch.setattr(here, "START", fresh - timedelta(hours=2))


def row(**more: Any) -> SlurmJob:
    """The controller's row of a job that runs."""
    given = {
        "cluster": "lab", "job_id": "4812", "attempt": 1, "ts": NOW, "state": "RUNNING", "start_ts": START, "gpus": 8,
        "elapsed_s": 7200.0, "user": "root", "name": "pretrain", "partition": "batch", "node_list": "gpu01",
    }  # fmt: skip
    return SlurmJob(**{**given, **more})


def steps(path: Path, losses: list[float | str], every_s: int = 10, last: datetime | None = None) -> Path:
    """A log of a training loop, with times, whose last report came at `last`."""
    last = last or NOW
    first = last - timedelta(seconds=every_s * (len(losses) - 1))
    lines = [
        f"[{first + timedelta(seconds=every_s * i):%Y-%m-%d %H:%M:%S}] "
        f"{{'loss': {loss}, 'grad_norm': {'nan' if loss == 'nan' else 1.2}, 'learning_rate': 1e-4, 'epoch': {i / 100}}}"
        for i, loss in enumerate(losses)
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def falling(n: int) -> list[float | str]:
    return [round(4.0 * 0.99**i + 0.05 * (i % 3), 4) for i in range(n)]


def found(lake: Path, now: datetime | None = None) -> dict[str, Any]:
    with Reader(lake) as reader:
        return {e.kind: e for e in early(reader, "4812", None, now or NOW)}


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    Writer(tmp_path / "lake", durable=False).append([row()], batch="job")
    return tmp_path / "lake"


def _import(lake: Path, log: Path) -> None:
    import_paths([log], lake, job_id="4812", cluster="lab", timezone="UTC", durable=False)


def test_a_job_that_goes_well_gets_no_warning(lake: Path, tmp_path: Path) -> None:
    _import(lake, steps(tmp_path / "slurm-4812.out", falling(200)))
    assert found(lake) == {}


def test_a_loss_that_became_nan_is_a_warning_with_evidence_and_cost(lake: Path, tmp_path: Path) -> None:
    _import(lake, steps(tmp_path / "slurm-4812.out", [*falling(60), *["nan"] * 20]))
    warning = found(lake)["diverged"]
    assert "NaN" in warning.headline
    assert any("20 of 80" in s for s in warning.shows)
    assert warning.held == pytest.approx(16.0)


def test_a_serious_error_counter_that_rises_is_a_warning(lake: Path) -> None:
    """A counter that stands where it stood at the start is history and no warning."""
    samples = [
        GpuSample(cluster="lab", node="gpu01", ts=START + timedelta(minutes=i), gpu=g, gpu_uuid=f"GPU-{g}",
                  ecc_dbe_total=4 + (i >= 90) * (g == 3), job_id="4812")
        for i in range(110) for g in (2, 3)
    ]  # fmt: skip
    Writer(lake, durable=False).append(samples[:170], batch="before")
    assert found(lake) == {}
    Writer(lake, durable=False).append(samples[170:], batch="after")
    warning = found(lake)["gpu"]
    assert warning.attribution == "infrastructure"
    assert "GPU 3 of gpu01" in warning.headline


@pytest.mark.parametrize(("quiet", "warned"), [(timedelta(minutes=5), False), (timedelta(minutes=40), True)])
def test_silence_is_a_hang_only_when_it_is_far_longer_than_any_before(
    lake: Path, tmp_path: Path, quiet: timedelta, warned: bool
) -> None:
    _import(lake, steps(tmp_path / "slurm-4812.out", falling(60), last=NOW - quiet))
    assert ("hang" in found(lake)) is warned


def test_a_long_pause_that_the_job_made_before_is_no_hang(lake: Path, tmp_path: Path) -> None:
    """A run that evaluates for half an hour is silent for half an hour."""
    log = steps(tmp_path / "slurm-4812.out", falling(60), last=NOW - timedelta(minutes=70))
    text = log.read_text()
    later = steps(tmp_path / "later", falling(30), last=NOW - timedelta(minutes=25)).read_text()
    log.write_text(text + later)
    assert found(lake) == {}


class Running_:
    """A watcher's view of one running job, through the real worker's work."""

    def __init__(self, folder: Path) -> None:
        self.state = State(folder / "state")
        self.lake = folder / "lake"
        self.accounts = Accounts(folder / "none")
        self.channel = Channel(name="c")
        self.running = Running(Shared(self.accounts), self.state, self.lake, 0.001)
        self.hand = Hand()

    def look(self, job: SlurmJob) -> dict[str, Any]:
        self.accounts.now_running = [job]
        due = self.running.next(lambda a: True)
        assert due is not None
        key, attempt = due
        want = json.loads(worker.request(attempt, self.lake, timezone="UTC", early=True, key=key))
        answer = worker.warned(self.hand, want)
        self.running.answered(want["key"], answer, "", [self.channel])
        return answer

    def told(self) -> list[tuple[str, str]]:
        notes = [json.loads(str(r[0])) for r in self.state.ask("SELECT body FROM note ORDER BY at")]
        return [(n["kind"], n["title"]) for n in notes]


def test_a_warning_comes_once_is_taken_back_and_ends_with_the_job(tmp_path: Path) -> None:
    view = Running_(tmp_path)
    log = tmp_path / "slurm-4812.out"
    job = row(stdout_path=str(log))
    steps(log, [*falling(60), *["nan"] * 20])
    view.look(job)
    view.look(job)
    assert view.told() == [("warning", "the loss is lost")]
    steps(log, falling(120))
    view.look(job)
    assert view.told()[1:] == [("cleared", "the loss is lost")]
    steps(log, [*falling(60), *["nan"] * 20])
    view.look(job)
    assert len(view.told()) == 2, "once for a job and kind"
    ended = Attempt(
        cluster="lab", job_id="4812", attempt=1, state="FAILED", start_ts=START.isoformat(), end_ts=NOW.isoformat()
    )
    view.running.ended(ended)
    assert view.state.ask("SELECT count(*) FROM warning WHERE cleared IS NULL") == [(0,)]
    view.hand.close()


def test_a_job_without_gpus_or_one_that_has_hardly_begun_is_left_alone(tmp_path: Path) -> None:
    view = Running_(tmp_path)
    view.accounts.now_running = [row(gpus=0), row(job_id="4813", elapsed_s=30.0), row(job_id="4814", state="PENDING")]
    assert view.running.next(lambda a: True) is None
    view.hand.close()


def test_an_examination_that_failed_takes_nothing_back(tmp_path: Path) -> None:
    view = Running_(tmp_path)
    log = tmp_path / "slurm-4812.out"
    steps(log, [*falling(60), *["nan"] * 20])
    view.look(row(stdout_path=str(log)))
    due = view.running.next(lambda a: True)
    assert due is not None
    view.running.answered(due[0], None, "StoreError: away", [view.channel])
    assert view.told() == [("warning", "the loss is lost")]
    view.hand.close()

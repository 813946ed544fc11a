"""An early warning reaches the job's nodes: the watcher leaves a request, and a collector keeps these minutes in full."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from collector.gpu.finer import ORIGIN
from inquest.watch.attempt import Attempt
from inquest.watch.waking import Waking
from store import Writer, triggers
from store.lake import Lake
from tests.collector.livekit import asked
from tests.inquest.watch.test_early import Running_, falling, row, steps
from tests.inquest.watch.test_early import now as now  # each test has its own "now" here, too
from tests.software_gpu.driver import POWER, SoftwareGpus, why_not

ROOT = Path(__file__).resolve().parents[3]


def attempt(nodes: str | None, job: str = "4812") -> Attempt:
    return Attempt(cluster="lab", job_id=job, attempt=1, state="RUNNING", nodes=nodes)


def left(lake: Path) -> dict[str, tuple[str, tuple[str, ...]]]:
    """The requests that lie in the lake, by node."""
    found = (triggers.read(p) for p in sorted((lake / "triggers").glob("*.json")))
    return {r.node: (r.job, r.kinds) for r in found if r is not None}


def lake_of(folder: Path) -> Path:
    Lake(folder / "lake", durable=False).create()
    return folder / "lake"


def test_each_node_of_the_job_is_asked(tmp_path: Path) -> None:
    lake = lake_of(tmp_path)
    waking = Waking(lake)
    waking.ask(attempt("gpu[01-03],login1"), ["hang"])
    waking.ask(attempt(None, "4813"), ["hang"])
    waking.wait()
    assert left(lake) == dict.fromkeys(("gpu01", "gpu02", "gpu03", "login1"), ("4812", ("hang",)))


def test_what_cannot_be_left_is_said_and_the_next_is_left_all_the_same(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    lake = tmp_path / "lake"
    waking = Waking(lake)
    waking.ask(attempt("gpu01"), ["hang"])
    waking.ask(attempt("gpu[01"), ["hang"])
    waking.wait()
    lake_of(tmp_path)
    waking.ask(attempt("gpu01"), ["gpu"])
    waking.wait()
    assert left(lake) == {"gpu01": ("4812", ("gpu",))}
    assert capfd.readouterr().err.count("could not be asked") == 2


def test_what_comes_too_late_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """A lake that hung for a minute: the collectors no longer hold what it was about."""
    lake = lake_of(tmp_path)
    monkeypatch.setattr("inquest.watch.waking.LATE_S", -1.0)
    waking = Waking(lake)
    waking.ask(attempt("gpu01"), ["hang"])
    waking.wait()
    assert not (lake / "triggers").exists() and "not all of its nodes" in capfd.readouterr().err


def test_a_lake_that_hangs_keeps_no_warning_waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lake = lake_of(tmp_path)
    inside, free = threading.Event(), threading.Event()
    real = triggers.put

    def hang(lake: Lake, node: str, job: str, kinds: Sequence[str]) -> None:
        inside.set()
        assert free.wait(60)
        real(lake, node, job, kinds)

    monkeypatch.setattr(triggers, "put", hang)
    waking = Waking(lake)
    waking.ask(attempt("gpu00", "0"), ["hang"])
    assert inside.wait(30)
    for number in range(1, 300):  # more than are remembered
        waking.ask(attempt(f"gpu{number:02d}", str(number)), ["hang"])
    assert not left(lake)
    free.set()
    waking.wait()
    assert 1 < len(left(lake)) < 300


def test_a_warning_that_is_known_already_asks_nobody_again(tmp_path: Path) -> None:
    Writer(tmp_path / "lake", durable=False).append([row()], batch="job")
    view = Running_(tmp_path)
    log = tmp_path / "slurm-4812.out"
    steps(log, [*falling(60), *["nan"] * 20])
    job = row(stdout_path=str(log), node_list="gpu[01-02]")
    view.look(job)
    view.running.waking.wait()
    assert left(view.lake) == dict.fromkeys(("gpu01", "gpu02"), ("4812", ("diverged",)))
    for path in (view.lake / "triggers").iterdir():
        path.unlink()
    view.look(job)
    view.running.waking.wait()
    assert left(view.lake) == {}
    view.hand.close()


def test_a_watcher_s_warning_brings_a_collector_s_minutes_in_full_into_the_lake(tmp_path: Path) -> None:
    """The command itself with a software GPU, whose driver saw a peak that no sample of a second did."""
    problem = why_not()
    if problem:
        pytest.skip(problem)
    lake = lake_of(tmp_path)
    gpus = SoftwareGpus(tmp_path / "gpus", count=2)
    words = [sys.executable, "-m", "inquest", "collect", "--source", "nvml", "--lake", str(lake), "--node", "gpu01"]
    child = subprocess.Popen([*words, "--spool", str(tmp_path / "spool")], cwd=ROOT, env=gpus.environment)
    view = Running_(tmp_path)
    try:
        until(lambda: gpus.state.calls > 500, "the collector does not look at the GPUs")
        time.sleep(3)  # what is there when it begins is of nobody knows when
        assert not any(s.asked for s in gpus.gpu(0).samples)
        now = time.time_ns() // 1000
        samples = [(now - 20_000 * i, 911_000 if i == 40 else 640_000) for i in reversed(range(100))]
        gpus.keeps(1, POWER, samples)
        log = tmp_path / "slurm-4812.out"
        steps(log, [*falling(60), *["nan"] * 20])
        view.look(row(stdout_path=str(log), node_list="gpu[01-02]"))
        until(lambda: gpus.gpu(1).samples[POWER].asked > 0, "the warning does not reach the node")
        until(lambda: bool(list((lake / "incoming").glob("n-gpu01@*"))), "what was kept does not reach the lake")
        child.send_signal(signal.SIGTERM)
        assert child.wait(60) == 0
    finally:
        child.kill()
        view.hand.close()
    peak = asked(
        lake, f"SELECT gpu, power_w, round(interval_s, 3) FROM gpu_detail WHERE origin = '{ORIGIN}' AND power_w > 700"
    )
    assert peak == [(1, 911.0, 0.02)]
    seconds = "SELECT gpu, count(*) > 5 FROM gpu_detail WHERE origin = 'nvml' GROUP BY gpu ORDER BY gpu"
    assert asked(lake, seconds) == [(0, True), (1, True)]
    (seen,) = asked(lake, f"SELECT count(*) FROM gpu_detail WHERE origin = '{ORIGIN}' AND ts > now()")[0]
    assert seen == 0


def until(holds: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + 120
    while not holds():
        assert time.monotonic() < deadline, what
        time.sleep(0.1)

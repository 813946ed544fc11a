"""How long a verdict waits for output that still grows: the patience counts from the job's end, not from when it was noticed."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from inquest.watch.loop import Options, Watcher
from inquest.watch.pool import Answer
from inquest.watch.shared import Shared
from inquest.watch.state import State
from tests.inquest.watch.accounts import Accounts, record
from tests.inquest.watch.test_state_outbox import attempt


class Asked:
    """A pool of workers that notes when it was asked, and answers nothing."""

    size = 1
    busy = 0

    @property
    def free(self) -> int:
        return self.size - self.busy

    def __init__(self) -> None:
        self.patience: list[float] = []

    def start(self) -> None:
        pass

    def put(self, key: str, request: str) -> None:
        self.patience.append(json.loads(request)["patience_s"])

    def take(self, seconds: float) -> Sequence[Any]:
        time.sleep(min(seconds, 0.05))
        return ()


def waited(folder: Path, ended_s: float, patience_s: float, upto_s: float, **more: Any) -> tuple[float, list[float]]:
    """Seconds until a worker was asked (`upto_s` where none was), and the patience that was left to it."""
    log, accounts, pool = folder / "slurm.out", Accounts(folder / "accounts.jsonl"), Asked()
    record(accounts.path, datetime.now(UTC) - timedelta(seconds=ended_s), "4812", stdout_path=str(log), **more)
    options = Options(lake=folder / "lake", poll_s=0.1, quiet_s=900.0, patience_s=patience_s, warn_s=0.0)
    watcher = Watcher(Shared(accounts), State(folder / "state"), pool, options)  # type: ignore[arg-type]
    watcher.state.set_mark("began", (datetime.now(UTC) - timedelta(days=1)).isoformat())
    begun = time.monotonic()
    while not pool.patience and time.monotonic() - begun < upto_s:
        with log.open("a") as out:
            out.write("step 1/100 loss 2.31\n")
        watcher.safe_turn()
    return time.monotonic() - begun, pool.patience


@pytest.mark.parametrize(
    ("ended_s", "asked"), [(25.0, True), (3600.0, False)], ids=["just now", "noticed late, or by another clock"]
)
def test_the_patience_counts_from_the_end(tmp_path: Path, ended_s: float, asked: bool) -> None:
    seconds, left = waited(tmp_path, ended_s, patience_s=26.0, upto_s=8.0)
    assert bool(left) is asked
    assert not asked or (seconds < 8.0 and left[0] <= 1.0)


def test_what_never_began_has_no_output_to_wait_for(tmp_path: Path) -> None:
    seconds, left = waited(tmp_path, 0.0, patience_s=60.0, upto_s=8.0, state="CANCELLED", start_ts=None)
    assert seconds < 8.0
    assert left


class OneByOne(Asked):
    """A worker that notes whose attempt it was given, and has it fail at once."""

    def __init__(self) -> None:
        super().__init__()
        self.users: list[str] = []
        self._answers: list[Answer] = []

    def put(self, key: str, request: str) -> None:
        self.users.append(json.loads(request)["attempt"]["user"])
        self._answers.append(Answer(key, None, "no such luck"))
        self.busy += 1

    def take(self, seconds: float) -> Sequence[Any]:
        told, self._answers, self.busy = self._answers, [], 0
        return told


def test_a_job_of_another_user_is_examined_before_the_tasks_that_were_claimed_ahead_of_it(tmp_path: Path) -> None:
    pool, accounts = OneByOne(), Accounts(tmp_path / "accounts.jsonl")
    accounts.path.touch()
    options = Options(lake=tmp_path / "lake", poll_s=3600.0, warn_s=0.0)
    watcher = Watcher(Shared(accounts), State(tmp_path / "state"), pool, options)  # type: ignore[arg-type]
    never = {"start_ts": None, "state": "CANCELLED"}  # has no output to wait for
    watcher.state.add(attempt(f"50_{n}", user="mira", array="50", **never) for n in range(3))
    watcher.turn()
    watcher.state.add([attempt("71", user="dario", **never)])
    for _ in range(3):
        watcher.turn()
    assert pool.users == ["mira", "dario", "mira", "mira"]


def test_a_disk_that_stays_full_is_complained_about_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The log may lie on that disk."""
    options = Options(lake=tmp_path / "lake", warn_s=0.0)
    watcher = Watcher(Shared(Accounts(tmp_path / "accounts")), State(tmp_path / "state"), Asked(), options)  # type: ignore[arg-type]
    for trouble in ("No space left on device", "Stale file handle"):

        def full(_: Watcher, trouble: str = trouble) -> None:
            raise OSError(trouble)

        monkeypatch.setattr(Watcher, "turn", full)
        for _ in range(3):
            watcher.safe_turn()
    assert [line.rpartition(": ")[2] for line in capsys.readouterr().err.splitlines()] == [
        "No space left on device",
        "Stale file handle",
    ]

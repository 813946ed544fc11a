"""A task that is cancelled out of its array's waiting record has its one verdict from the queue, which alone tells of it."""

from __future__ import annotations

import time
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from collector.slurm.replay import Replay
from collector.sources.base import SourceUnavailable
from inquest.watch import cancels, taken_out
from inquest.watch.attempt import Attempt
from inquest.watch.following import HURRY_S, Following
from inquest.watch.hand import Hand
from inquest.watch.noticing import Noticing
from inquest.watch.notify.comment import Comment
from inquest.watch.outbox import Delivery
from inquest.watch.settling import of_job
from inquest.watch.shared import Shared
from inquest.watch.spool import Spool
from inquest.watch.state import State
from inquest.watch.worker import examined
from store import Reader
from store.rows import SlurmJob
from tests.inquest.watch.accounts import record
from tests.inquest.watch.test_noticing import Asked

NOW = datetime.now(UTC).replace(microsecond=0)
KILL = "[{}] _slurm_rpc_kill_job: REQUEST_KILL_JOB JobId=4812_3 uid 2001\n"


def waiting(tasks: str) -> SlurmJob:
    return SlurmJob(
        cluster="lab", ts=NOW, job_id=f"4812_{tasks}", array_job_id="4812", job_id_raw="4812", attempt=1, state="PENDING",
        state_reason="JobArrayTaskLimit", submit_ts=NOW - timedelta(minutes=9), user="ada", uid=2001, name="sweep", partition="batch",
    )  # fmt: skip


class Watching:
    """The parts of a watcher that notice, over a queue that a test wrote."""

    def __init__(self, folder: Path, *looks: str) -> None:
        self.folder, self.lake, self.log = folder, folder / "lake", folder / "slurmctld.log"
        self.slurm = Asked(folder / "accounts.jsonl")
        self.log.touch()
        self.queue = Shared(Replay({"queue": [[waiting(tasks)] for tasks in looks]}))
        self.begin()

    def begin(self) -> None:
        """As after a start."""
        self.state = State(self.folder / "state")
        self.state.set_mark("began", (NOW - timedelta(hours=1)).isoformat(), keep=True)
        self.noticing = Noticing(Shared(self.slurm), self.state, Spool(None), self.lake, self.log)
        self.following = Following(self.queue, self.lake, self.folder, self.noticing.taken.tell, self.noticing.asked)

    def look(self) -> None:
        self.following._driver.hurry("slurm_queue", float("-inf"))
        self.following.turn()

    def claimed(self) -> list[Attempt]:
        return [w.attempt for w in self.state.claim(10)]


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(taken_out, "SETTLE_S", 0.0)


@pytest.mark.parametrize(("log", "mode", "headline", "least"), [
    (KILL, "user", "The job was cancelled by its user", 0.9), ("", None, "The job was cancelled.", 0.75),
])  # fmt: skip
def test_it_has_one_verdict_that_says_who_cancelled_it_where_the_log_does(
    tmp_path: Path, log: str, mode: str | None, headline: str, least: float
) -> None:
    watching = Watching(tmp_path, "[2-3%1]", "[2%1]", "[2%1]")
    watching.look()
    assert watching.noticing.poll() == 0
    watching.look()
    watching.log.write_text(log.format(f"{NOW:%Y-%m-%dT%H:%M:%S}.000"))
    assert watching.noticing.poll() == 1
    (attempt,) = watching.claimed()
    Comment(name="comment", access=watching.slurm).send(Delivery("d", "comment", [of_job(attempt)], 0, 0))
    assert not watching.slurm.comments, "Slurm has nothing to write it to"
    assert (attempt.job_id, attempt.state, attempt.start_ts, attempt.array) == ("4812_3", "CANCELLED", None, "4812")
    hand = Hand()
    given = examined(hand, {"attempt": asdict(attempt), "lake": str(watching.lake)})
    hand.close()
    assert (given["family"], given["mode"]) == ("F4", mode)
    assert str(given["headline"]).startswith(headline) and least <= given["confidence"] <= least + 0.05
    watching.look()
    watching.begin()
    assert watching.noticing.poll() == 0 and not watching.claimed(), "once"
    with Reader(watching.lake) as reader:
        assert len(reader.ask("verdict_given", job_id="4812_3").rows) == 1


@pytest.mark.parametrize(("task", "known"), [("4812_3", 1), ("4812_2", 0)], ids=["gone", "it waits on"])
def test_one_that_no_look_saw_wait_is_known_by_the_request_in_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, task: str, known: int
) -> None:
    """It is cancelled within seconds of its array's submission."""
    monkeypatch.setattr(cancels, "LOOK_S", 0.0)
    watching = Watching(tmp_path, "[2,4%1]", "[2,4%1]")
    watching.noticing.hooked()
    watching.log.write_text(KILL.format(f"{NOW:%Y-%m-%dT%H:%M:%S}.000").replace("4812_3", task))
    watching.noticing._asked = 0.0
    watching.noticing.hooked()
    watching.look()
    watching.look()
    assert watching.noticing.taken_out() == known
    claimed = watching.claimed()
    assert [(a.job_id, a.state, a.user) for a in claimed] == [(task, "CANCELLED", "ada")] * known


def test_a_kill_between_the_look_and_what_comes_of_it_leaves_nothing_out_and_doubles_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watching = Watching(tmp_path, "[2-3%1]", "[2%1]", "[2%1]")
    watching.look()

    def dies(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as once:
        once.setattr(watching.following._driver._writer, "append", dies)
        with pytest.raises(KeyboardInterrupt):
            watching.look()
    watching.begin()
    assert watching.noticing.poll() == 1
    watching.look()
    assert watching.noticing.poll() == 0
    assert [a.job_id for a in watching.claimed()] == ["4812_3"]


def test_a_run_that_accounting_knows_all_the_same_is_left_to_accounting(tmp_path: Path) -> None:
    """Of a controller that forgets ended jobs within seconds."""
    watching = Watching(tmp_path, "[2-3%1]", "[2%1]")
    record(watching.slurm.path, NOW, "4812_3", array_job_id="4812", job_id_raw="4815", stdout_path="/dev/null")
    watching.look()
    watching.look()
    assert watching.noticing.poll() == 1
    assert [(a.job_id, a.start_ts is None) for a in watching.claimed()] == [("4812_3", False)]


def test_while_accounting_is_away_nothing_is_concluded(tmp_path: Path) -> None:
    watching = Watching(tmp_path, "[2-3%1]", "[2%1]")
    watching.look()
    watching.look()
    watching.slurm.away = True
    with pytest.raises(SourceUnavailable):
        watching.noticing.taken_out()
    watching.slurm.away = False
    assert watching.noticing.taken_out() == 1
    asked = len(watching.slurm.asked)
    assert watching.noticing.taken_out() == 0
    assert len(watching.slurm.asked) == asked, "it is noted"


def test_the_controllers_line_about_a_task_has_the_queue_looked_at_soon_and_not_for_each(tmp_path: Path) -> None:
    watching = Watching(tmp_path, "[2-3%1]")
    watching.noticing.hurry = watching.following.hurry
    watching.look()
    queue = watching.following._driver._turns[0]
    queue.due = time.monotonic() + 15.0
    watching.noticing._cancels.look()
    with watching.log.open("a") as out:
        out.write(KILL.format("2026-03-01T10:00:00.349"))
    watching.noticing._cancels._looked = watching.noticing._asked = float("-inf")
    watching.noticing.hooked()
    assert queue.due <= time.monotonic()
    queue.due = time.monotonic() + 15.0
    watching.following.hurry()
    assert time.monotonic() < queue.due <= time.monotonic() + HURRY_S

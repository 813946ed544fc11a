"""Noticing: nothing is missed when accounting is late or was away, and Slurm is asked no more than it must be."""

from __future__ import annotations

import os
import pwd
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from collector.sources.base import SourceUnavailable
from inquest.watch import around, paths
from inquest.watch import noticing as noticings
from inquest.watch.noticing import Noticing
from inquest.watch.shared import Shared
from inquest.watch.spool import Spool
from inquest.watch.state import State
from inquest.watch.worker import which
from store import Reader, Writer
from store.result import StoreError
from store.rows import SlurmJob, SlurmNodeState
from tests.inquest.watch.accounts import Accounts, record

NOW = datetime.now(UTC).replace(microsecond=0)


class Asked(Accounts):
    """Counts what is asked, and may be away."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.asked: list[str] = []
        self.away = False
        self.mute = False
        self.events: list[SlurmNodeState] = []

    def accounting(self, since, until=None, job_ids=None):
        self.asked.append("accounting")
        if self.away:
            raise SourceUnavailable("slurmdbd is away", "systemctl restart slurmdbd")
        return super().accounting(since, until, job_ids)

    def queue(self):
        self.asked.append("queue")
        if self.mute:
            raise SourceUnavailable("slurmctld does not answer")
        return super().queue()

    def node_events(self, since):
        self.asked.append("node_events")
        if self.mute:
            raise SourceUnavailable("sacctmgr does not answer")
        return iter(self.events)


class View:
    def __init__(self, folder: Path, began: datetime = NOW - timedelta(hours=6)) -> None:
        self.slurm = Asked(folder / "accounts.jsonl")
        self.state = State(folder / "state")
        self.state.set_mark("began", began.isoformat(), keep=True)
        self.spool = folder / "spool"
        self.spool.mkdir()
        self.lake = folder / "lake"
        self.again()

    def again(self) -> None:
        """As after a restart."""
        self.noticing = Noticing(Shared(self.slurm), self.state, Spool(self.spool), self.lake)

    def record(self, job: str, minutes_ago: float, **more) -> None:
        record(self.slurm.path, NOW - timedelta(minutes=minutes_ago), job, **{"stdout_path": "/dev/null", **more})

    def hook(self, job: str, again: int = 0) -> int:
        """The epilog has announced a job, and the wait between two looks is over."""
        if job:
            (self.spool / f"{job}.{again}.ended").touch()
        self.noticing._asked = float("-inf")
        return self.noticing.hooked()

    @property
    def jobs(self) -> set[str]:
        return {w.attempt.job_id for w in self.state.claim(1000)}


def test_each_attempt_is_noticed_once_and_its_rows_are_in_the_lake(tmp_path: Path) -> None:
    view = View(tmp_path)
    view.record("1", 10)
    view.record("2", 5, state="COMPLETED")
    assert [view.noticing.poll(), view.noticing.poll()] == [2, 0]
    view.again()
    assert view.noticing.poll() == 0
    with Reader(view.lake) as reader:
        assert {r["job_id"]: r["state"] for r in reader.ask("jobs").dicts()} == {"1": "FAILED", "2": "COMPLETED"}


def test_what_ended_before_the_first_start_is_left_alone(tmp_path: Path) -> None:
    view = View(tmp_path, began=NOW - timedelta(minutes=7))
    view.record("1", 10)
    view.record("2", 5)
    assert view.noticing.poll() == 1
    assert view.jobs == {"2"}


def test_records_that_come_hours_late_are_noticed(tmp_path: Path) -> None:
    """slurmctld keeps them while slurmdbd is away, and hands them over in order when it is back."""
    view = View(tmp_path)
    view.record("1", 300)
    assert view.noticing.poll() == 1
    view.slurm.away = True
    with pytest.raises(SourceUnavailable):
        view.noticing.poll()
    view.slurm.away = False
    view.record("2", 240)
    assert view.noticing.poll() == 1
    view.record("3", 200)
    assert view.noticing.poll() == 1
    assert view.jobs == {"1", "2", "3"}


def test_a_straggler_is_found_by_the_sweep(tmp_path: Path) -> None:
    """A record that comes after younger ones lies before the mark; the next sweep, or a restart, finds it."""
    view = View(tmp_path)
    view.record("1", 1)
    view.noticing.poll()
    view.record("2", 120)
    assert view.noticing.poll() == 0
    view.again()
    assert view.noticing.poll() == 1


def test_a_hook_is_answered_when_accounting_has_the_end(tmp_path: Path) -> None:
    """The file stays until then, and goes when the attempt is noted."""
    view = View(tmp_path)
    assert view.hook("7") == 0
    assert list(view.spool.iterdir())
    view.record("7", 0)
    assert view.hook("") == 1
    assert not list(view.spool.iterdir())


def test_the_hook_of_a_second_run_waits_for_the_second_end(tmp_path: Path) -> None:
    view = View(tmp_path)
    view.record("7", 30, state="PREEMPTED")
    view.noticing.poll()
    assert view.hook("7", 1) == 0
    assert list(view.spool.iterdir())
    view.record("7", 0, attempt=2)
    assert view.hook("") == 1
    assert not list(view.spool.iterdir())


def test_an_array_task_is_announced_by_its_own_number(tmp_path: Path) -> None:
    view = View(tmp_path)
    view.record("4700_3", 0, raw="4705", array_job_id="4700")
    assert view.hook("4705") == 1
    assert view.jobs == {"4700_3"}


@pytest.mark.parametrize("name", ["x.ended", "7.ended", "../7.0.ended.d", "7.0.ended.tmp", "٣.0.ended"])
def test_a_file_of_another_kind_in_the_spool_is_left_alone(tmp_path: Path, name: str) -> None:
    view = View(tmp_path)
    (view.spool / name.replace("/", "_")).touch()
    assert view.hook("") == 0
    assert view.slurm.asked == []


def test_the_controller_is_asked_for_paths_seldom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Accounting of before 24.05 tells none. A job that ran at the last look is known; a new one waits for the next."""
    clock = [1000.0]
    monkeypatch.setattr(paths.time, "monotonic", lambda: clock[0])
    view = View(tmp_path)
    view.slurm.now_running = [SlurmJob(job_id=str(n), stdout_path=f"/home/mira/out-{n}") for n in range(1, 60)]
    for n in range(1, 41):
        view.record(str(n), 1, stdout_path=None)
        view.noticing.poll()
    assert view.slurm.asked.count("queue") == 1
    view.slurm.now_running.append(SlurmJob(job_id="99", stdout_path="/home/mira/short"))
    view.record("99", 0, stdout_path=None)
    assert view.noticing.poll() == 0, "it waits for the next look"
    clock[0] += paths.OFTEN_S
    assert view.noticing.poll() == 1
    assert view.slurm.asked.count("queue") == 2
    known = {w.attempt.job_id: w.attempt.stdout_path for w in view.state.claim(1000)}
    assert (known["7"], known["99"]) == ("/home/mira/out-7", "/home/mira/short")


def test_a_job_that_nobody_remembers_has_sbatchs_own_path(tmp_path: Path) -> None:
    view = View(tmp_path)
    view.record("5", 1, stdout_path=None, work_dir="/home/mira", submit_line="sbatch train.sh")
    view.record("6", 1, stdout_path=None, work_dir="/home/mira", submit_line="srun ./train")
    view.noticing.poll()
    known = {w.attempt.job_id: w.attempt.logs for w in view.state.claim(10)}
    assert known == {"5": ["/home/mira/slurm-5.out"], "6": []}


def test_a_sibling_that_another_cluster_took_over_has_no_verdict(tmp_path: Path) -> None:
    """In a federation the job ran there; here its record only says so."""
    view = View(tmp_path)
    view.record("67108871", 1, state="REVOKED")
    view.record("67108872", 1)
    assert view.noticing.poll() == 1
    assert view.jobs == {"67108872"}


def test_waits_grow_while_accounting_has_nothing(tmp_path: Path) -> None:
    """To a second while the epilog's word is fresh, as accounting follows within some; then further."""
    view = View(tmp_path)
    for _ in range(12):
        view.hook("8")
    assert view.noticing._wait_s == 1.0
    file = view.spool / "8.0.ended"
    os.utime(file, (0, file.stat().st_mtime - 2 * noticings.YOUNG_S))
    for _ in range(12):
        view.hook("")
    assert view.noticing._wait_s == noticings.LATER_S


def test_a_hook_is_not_asked_about_all_the_time_while_accounting_is_away(tmp_path: Path) -> None:
    view = View(tmp_path)
    view.slurm.away = True
    for _ in range(12):
        with pytest.raises(SourceUnavailable):
            view.hook("8")
    assert view.noticing.hooked() == 0, "the wait is not over"
    assert view.noticing._wait_s == noticings.AWAY_S
    view.slurm.away = False
    view.record("8", 0)
    assert view.hook("") == 1
    assert view.noticing._wait_s == noticings.SOON_S


def test_slurm_is_not_asked_all_the_time_while_nothing_can_be_written(tmp_path: Path) -> None:
    """What is told cannot be kept on a full disk, and comes again when there is room."""
    view = View(tmp_path)
    view.record("8", 0)
    view.lake.write_text("no folder")
    with pytest.raises(StoreError):
        view.hook("8")
    assert view.noticing._wait_s == noticings.AWAY_S
    view.lake.unlink()
    assert view.hook("") == 1


def test_why_a_job_went_back_to_the_queue_is_in_the_lake_before_its_verdict(tmp_path: Path) -> None:
    """Accounting says REQUEUED; the controller says why the job waits, and slurmdbd what became of the node."""
    view = View(tmp_path)
    ended = NOW - timedelta(minutes=1)
    held = SlurmJob(cluster="lab", job_id="7", attempt=2, state="PENDING", ts=ended, state_reason="launch failed held")
    view.slurm.now_running = [held, SlurmJob(cluster="lab", job_id="9", attempt=2, state="PENDING", ts=ended)]
    view.slurm.events = [
        SlurmNodeState(cluster="lab", node=n, state="DRAINED", ts=ended, reason="Prolog error")
        for n in ("gpu01", "gpu02")
    ]
    view.record("7", 1, state="REQUEUED")
    view.record(
        "7", 1, state="PENDING", attempt=2, start_ts=None, end_ts=None, state_reason="JobHeldUser", origin="sacct"
    )
    assert view.noticing.poll() == 1
    with Reader(view.lake) as reader:
        assert [r["state_reason"] for r in reader.ask("job_attempts", job_id="7").dicts()][-1] == "launch failed held"
        told = reader.ask("launch_failures", job_id="7", attempt=1).dicts()
        assert [(r["told_by"], r["node"]) for r in told] == [("queue", None), ("node", "gpu01")]
        assert not reader.ask("job_attempts", job_id="9").rows, "what else waits is none of it"


def test_slurm_is_asked_what_it_did_seldom_and_not_for_ends_of_the_programs_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A job that was sent back meanwhile waits for the next look; one that failed by itself does not."""
    clock = [1000.0]
    monkeypatch.setattr(around.time, "monotonic", lambda: clock[0])
    view = View(tmp_path)
    view.record("1", 1)
    assert view.noticing.poll() == 1
    assert "node_events" not in view.slurm.asked
    for job in ("2", "3"):
        view.record(job, 1, state="REQUEUED")
        view.noticing.poll()
    view.record("4", 1)
    assert view.noticing.poll() == 1
    assert view.slurm.asked.count("node_events") == 1
    assert view.jobs == {"1", "2", "4"}
    clock[0] += around.OFTEN_S
    assert view.noticing.poll() == 1


def test_ends_that_a_poll_left_are_told_so_that_it_comes_again_soon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without an epilog only the poll tells, and ten seconds more would be too many."""
    clock = [1000.0]
    monkeypatch.setattr(paths.time, "monotonic", lambda: clock[0])
    view = View(tmp_path)
    view.record("1", 1, stdout_path=None)
    assert view.noticing.poll() == 1
    assert not view.noticing.left
    view.record("2", 1, stdout_path=None)
    assert view.noticing.poll() == 0
    assert view.noticing.left == {"2"}
    clock[0] += paths.OFTEN_S
    assert view.noticing.poll() == 1
    assert not view.noticing.left


def test_a_daemon_that_does_not_answer_costs_no_verdict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [1000.0]
    monkeypatch.setattr(around.time, "monotonic", lambda: clock[0])
    view = View(tmp_path)
    view.slurm.mute = True
    view.record("7", 1, state="CANCELLED", cancelled_by="0")
    assert view.noticing.poll() == 0
    assert view.noticing.left == {"7"}
    clock[0] += around.PATIENCE_S
    assert view.noticing.poll() == 1


def test_two_records_of_one_attempt_are_one_attempt(tmp_path: Path) -> None:
    """What the later one leaves out the earlier one fills, and an end is not undone."""
    view = View(tmp_path)
    view.record("7", 1, user=None, node_list="gpu07")
    view.record("7", 1, state="RUNNING", end_ts=None, node_list=None, user="wen")
    assert view.noticing.poll() == 1
    (waiting,) = view.state.claim(10)
    assert (waiting.attempt.state, waiting.attempt.user, waiting.attempt.nodes) == ("FAILED", "wen", "gpu07")


def test_a_cluster_that_was_renamed_needs_a_new_watcher(tmp_path: Path) -> None:
    """Its attempts would be told of by two states: the watcher ends, and whoever keeps it running starts the right one."""
    view = View(tmp_path)
    view.record("7", 1, cluster="east")
    with pytest.raises(noticings.Renamed, match="called lab and is east now"):
        view.noticing.poll()
    with pytest.raises(noticings.Renamed):
        view.hook("7")
    assert not view.jobs


@pytest.mark.parametrize(("submitted", "again"), [(-2, None), (0, None), (-2, 0)])
def test_a_run_that_went_back_in_the_second_of_its_start_is_another_than_the_next(
    tmp_path: Path, submitted: int, again: int | None
) -> None:
    """A prolog fails at once, and the job that Slurm holds since then is cancelled, later or in the same second."""
    view = View(tmp_path)
    at = NOW - timedelta(minutes=5)
    first, second = (None if s is None else (at + timedelta(seconds=s)).isoformat() for s in (submitted, again))
    view.record("7", 5, state="REQUEUED", submit_ts=first, start_ts=at.isoformat())
    view.record("7", 1, state="CANCELLED", attempt=2, submit_ts=at.isoformat(), start_ts=second)
    view.noticing.poll()
    view.again()
    view.noticing.poll()
    assert sorted(w.attempt.attempt for w in view.state.claim(10)) == [1, 2]


def test_a_run_is_asked_about_by_its_number_once_anybody_knows_of_another(tmp_path: Path) -> None:
    """Accounting has the run that was sent back only; following has told of the next one, which was cancelled meanwhile."""
    view = View(tmp_path)
    view.record("6", 1)
    view.record("7", 1, state="REQUEUED")
    view.noticing.poll()
    Writer(view.lake).append(
        [SlurmJob(cluster="lab", job_id="7", attempt=2, state="CANCELLED", ts=NOW)], batch="follow"
    )
    with Reader(view.lake) as reader:
        asked = {w.attempt.job_id: (w.attempt.several, which(reader, w.attempt)) for w in view.state.claim(10)}
    assert asked == {"6": (False, None), "7": (False, 1)}


def test_a_clock_that_was_set_back_by_days_stops_nothing(tmp_path: Path) -> None:
    """What was kept lies ahead of the clock then: ends are found all the same, each once, and the next ones after them."""
    view = View(tmp_path, began=NOW + timedelta(hours=1))
    view.state.set_mark("read", (NOW + timedelta(days=3)).isoformat())
    late = (NOW - datetime.now(UTC)).total_seconds() / 60  # the module may have been read long before
    view.record("7", late + 0.5)
    assert view.noticing.poll() == 1
    view.record("8", late)
    assert (view.noticing.poll(), view.noticing.poll(), view.jobs) == (1, 0, {"7", "8"})
    read = view.state.mark("read")
    assert read is not None and datetime.fromisoformat(read) <= datetime.now(UTC) + noticings.AHEAD


def test_a_job_that_was_submitted_ahead_of_the_clock_is_noticed_by_its_end(tmp_path: Path) -> None:
    """The clock was set back between its submission and its end: by its id sacct shows nothing of it."""
    view = View(tmp_path)
    view.record("7", 0.5)
    told = view.slurm.accounting
    view.slurm.accounting = lambda since, until=None, job_ids=None: [] if job_ids else told(since, until)
    assert (view.noticing.poll(), view.noticing.poll(), view.jobs) == (1, 0, {"7"})


def test_who_cancelled_a_job_is_told_by_name(tmp_path: Path) -> None:
    view = View(tmp_path)
    view.record("1", 5, state="CANCELLED", cancelled_by="0")
    assert view.noticing.poll() == 1
    with Reader(view.lake) as reader:
        assert [r["cancelled_by"] for r in reader.ask("job_overview", job_id="1").dicts()] == [pwd.getpwuid(0).pw_name]

"""Noticing: nothing is missed when accounting is late or was away, and Slurm is asked no more than it must be."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from collector.sources.base import SourceUnavailable
from inquest.watch import noticing as noticings
from inquest.watch import paths
from inquest.watch.noticing import Noticing
from inquest.watch.shared import Shared
from inquest.watch.spool import Spool
from inquest.watch.state import State
from store import Reader
from store.rows import SlurmJob
from tests.inquest.watch.accounts import Accounts, record

NOW = datetime.now(UTC).replace(microsecond=0)


class Asked(Accounts):
    """Counts what is asked, and may be away."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.asked: list[str] = []
        self.away = False

    def accounting(self, since, until=None, job_ids=None):
        self.asked.append("accounting")
        if self.away:
            raise SourceUnavailable("slurmdbd is away", "systemctl restart slurmdbd")
        return super().accounting(since, until, job_ids)

    def queue(self):
        self.asked.append("queue")
        return super().queue()


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

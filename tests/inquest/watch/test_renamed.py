"""A cluster under a new name: one state, one key for each run, and the controller's word where accounting's is wrong."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from inquest.watch.noticing import Noticing, Renamed
from inquest.watch.renamed import FEDERATED, home, met
from inquest.watch.shared import Shared
from inquest.watch.spool import Spool
from inquest.watch.state import State, folder_of
from store import Writer
from store.rows import SlurmJob
from tests.inquest.watch.accounts import Accounts, record

NOW = datetime.now(UTC).replace(microsecond=0)


def ran(job: str, end: float | None, begin: float = 20, **more: object) -> SlurmJob:
    """As the controller has it: begun and ended so many minutes ago."""
    start = NOW - timedelta(minutes=begin)
    over = None if end is None else NOW - timedelta(minutes=end)
    row = SlurmJob(
        cluster="east", job_id=job, job_id_raw=job, attempt=1, state="FAILED" if over else "RUNNING", exit_code=3
    )
    row = replace(row, ts=over or start, submit_ts=start - timedelta(seconds=5), start_ts=start, end_ts=over)
    return replace(row, stdout_path="/dev/null", user="mira", **more)  # type: ignore[arg-type]


class View:
    """A watcher's noticing under one name after another."""

    def __init__(self, folder: Path) -> None:
        self.top, self.path, self.lake = folder / "watch", folder / "accounts.jsonl", folder / "lake"
        self.slurm = Accounts(self.path)
        self.start("lab")

    def start(self, cluster: str) -> None:
        self.slurm.cluster = cluster
        shared = Shared(self.slurm)
        self.folder = home(self.top, shared)
        self.state = State(self.folder)
        self.state.set_mark("began", (NOW - timedelta(hours=6)).isoformat(), keep=True)
        self.noticing = Noticing(shared, self.state, Spool(None), self.lake)

    def told(self, job: SlurmJob, end: float, **more: object) -> None:
        """A record of the job in accounting under the new name."""
        times = {
            "submit_ts": job.submit_ts and job.submit_ts.isoformat(),
            "start_ts": job.start_ts and job.start_ts.isoformat(),
        }
        at = NOW - timedelta(minutes=end)
        record(self.path, at, job.job_id or "", **{"cluster": "east", "stdout_path": "/dev/null", **times, **more})

    def queue(self, *jobs: SlurmJob) -> None:
        """What the controller holds, and a look at it."""
        self.slurm.now_running = list(jobs)
        list(self.noticing._access.queue())

    def renamed(self, *jobs: SlurmJob) -> None:
        """The controller says the new name, and the watcher goes on under it."""
        self.queue(*jobs)
        with pytest.raises(Renamed, match="called lab and is east now"):
            self.noticing.poll()
        self.path.unlink(missing_ok=True)  # accounting begins anew
        self.start("east")

    @property
    def keys(self) -> list[str]:
        return sorted(w.attempt.key for w in self.state.claim(100))


def key(job: SlurmJob) -> str:
    assert job.start_ts is not None
    return f"verdict:lab:{job.job_id}:{job.start_ts.isoformat()}"


def test_a_run_across_the_rename_is_noted_once_from_the_controllers_record(tmp_path: Path) -> None:
    """One that ended before, and that the controller still holds under the new name, is not noted again."""
    view = View(tmp_path)
    before, across = ran("6", 10), ran("7", None)
    view.told(before, 10, cluster="lab")
    assert view.noticing.poll() == 1
    view.renamed(before, across)
    assert view.folder == folder_of(view.top, "lab"), "the state is carried on"
    view.queue(before, ran("7", 1))
    assert view.noticing.poll() == 1
    assert view.noticing.poll() == 0
    assert view.keys == [key(before), key(across)]


def test_an_end_that_another_jobs_record_got_is_not_believed(tmp_path: Path) -> None:
    """What slurmctld tells of an old job reaches a row of the new name's table that is another job's."""
    view = View(tmp_path)
    view.renamed(ran("7", None))
    waits = replace(ran("8", None, begin=1), state="PENDING", start_ts=None)
    view.told(waits, 0.5)
    view.queue(ran("7", 0.5), waits)
    assert view.noticing.poll() == 1
    assert [k.split(":")[2] for k in view.keys] == ["7"]


def test_a_job_of_afterwards_waits_for_accounting_which_counts_where_both_agree(tmp_path: Path) -> None:
    view = View(tmp_path)
    view.renamed(ran("7", None))
    met(view.state, "east")
    since = datetime.fromisoformat(str(view.state.mark("renamed")))
    later = replace(ran("9", None), submit_ts=since + timedelta(seconds=1), start_ts=since + timedelta(seconds=2))
    later = replace(later, state="FAILED", end_ts=since + timedelta(seconds=3))
    view.queue(ran("7", None), later)
    assert view.noticing.poll() == 0
    assert later.end_ts is not None
    view.told(later, (NOW - later.end_ts).total_seconds() / 60, partition="from accounting")
    view.noticing.poll()
    assert [w.attempt.partition for w in view.state.claim(9)] == ["from accounting"]


def test_a_run_that_the_rename_cut_has_its_end_where_the_next_was_submitted(tmp_path: Path) -> None:
    """The lake has its beginning; accounting counts the next run as the first, and the controller as the second."""
    view = View(tmp_path)
    first = replace(ran("7", None), cluster="lab", node_list="gpu01")
    Writer(view.lake).append([first], batch="followed")
    view.renamed(replace(first, cluster="east"))
    second = ran("7", 0.2, begin=0.5, attempt=2, restarts=1)
    view.told(second, 0.2)
    view.queue(second)
    view.state.set_mark("renamed", datetime.now(UTC).isoformat())
    assert view.noticing.poll() == 2
    found = {w.attempt.attempt: w.attempt for w in view.state.claim(9)}
    assert (found[1].state, found[1].end_ts) == ("REQUEUED", second.submit_ts and second.submit_ts.isoformat())
    assert (found[1].key, found[1].nodes, found[2].key) == (key(first), "gpu01", key(second))


def test_once_the_controller_holds_no_job_from_before_accounting_is_asked_alone(tmp_path: Path) -> None:
    view = View(tmp_path)
    view.renamed(ran("7", None))
    view.queue()
    view.noticing.poll()
    assert view.state.mark("renamed") is None
    view.told(ran("9", None, begin=3), 2)
    assert view.noticing.poll() == 1
    assert view.keys[0].startswith("verdict:lab:9:"), "keys keep the first name for good"


def test_the_same_process_goes_on_with_what_it_had_claimed(tmp_path: Path) -> None:
    """Both rounds of a watcher have one name, by which it knows what others work on."""
    view = View(tmp_path)
    view.told(ran("6", 10), 10, cluster="lab")
    view.noticing.poll()
    assert len(view.keys) == 1
    assert view.keys == [], "claimed"
    view.state.release()
    view.renamed(ran("6", 10))
    assert len(view.keys) == 1


def test_whose_state_it_is(tmp_path: Path) -> None:
    """A watcher that was away at the rename knows its cluster by the jobs; a federation's clusters share those."""
    view = View(tmp_path)
    view.told(ran("6", 10), 10, cluster="lab")
    view.told(ran(str(FEDERATED + 6), 10), 10, cluster="lab")
    assert view.noticing.poll() == 2
    view.slurm.cluster = "west"
    view.slurm.now_running = [ran(str(FEDERATED + 6), 10), ran("6", 3, begin=5)]
    assert home(view.top, Shared(view.slurm)).name == "west"
    view.slurm.now_running = [ran("6", 10)]
    assert home(view.top, Shared(view.slurm)).name == "lab"


def test_a_federations_display_is_no_rename(tmp_path: Path) -> None:
    view = View(tmp_path)
    view.queue(ran("6", 10), replace(ran("7", None), cluster="lab"))
    assert view.noticing.poll() == 0
    met(view.state, "west")
    view.start("lab")
    view.slurm.cluster = "west"
    view.slurm.now_running = []
    assert home(view.top, Shared(view.slurm)).name == "west", "the name was met by mistake"

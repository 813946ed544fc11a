"""The exit status of a job that failed: what accounting's text leaves out is asked of the controller, while it remembers."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from inquest.watch import paths, statuses
from inquest.watch.answered import Answered
from inquest.watch.noticing import Noticing
from inquest.watch.shared import Shared
from inquest.watch.spool import Spool
from inquest.watch.state import State
from inquest.watch.statuses import Statuses
from store import Reader
from store.rows import SlurmJob, SlurmStep
from tests.inquest.watch.accounts import Accounts, record

T = datetime.now(UTC).replace(microsecond=0)
TOLD = SlurmJob(job_id="4812", attempt=1, state="FAILED", start_ts=T, exit_code=9, exit_signal=0, exit_code_whole=False)
QUEUE = replace(TOLD, exit_code=137, exit_code_whole=True)


def right(folder: Path, told: SlurmJob, *queue: SlurmJob) -> list[tuple[int | None, int | None, bool | None]]:
    accounts = Accounts(folder / "accounts")
    accounts.now_running = list(queue)
    found = Statuses(Shared(accounts))  # type: ignore[arg-type]
    assert found.find([told]) == set()
    batch = SlurmStep(job_id="4812", attempt=1, step_id="batch", exit_code=told.exit_code, exit_signal=0)
    rows = found.right([told, batch, replace(batch, step_id="0")])
    return [(r.exit_code, r.exit_signal, r.exit_code_whole) for r in rows if isinstance(r, SlurmJob | SlurmStep)]


def test_the_controller_tells_all_of_a_status_that_accounting_cut(tmp_path: Path) -> None:
    """A batch step's is its job's; of the other steps the controller says nothing."""
    assert right(tmp_path, TOLD, QUEUE) == [(137, 0, True), (137, 0, True), (9, 0, None)]


def test_a_status_that_accounting_does_not_tell_at_all_is_the_controllers(tmp_path: Path) -> None:
    """slurmrestd before 23.11 says SUCCESS of every job."""
    unknown = replace(TOLD, exit_code=None, exit_signal=None, exit_code_whole=None)
    assert right(tmp_path, unknown, QUEUE)[0] == (137, 0, True)


@pytest.mark.parametrize(
    "other",
    [
        replace(QUEUE, start_ts=T + timedelta(seconds=9)),
        replace(QUEUE, job_id="4813"),
        replace(QUEUE, state="RUNNING", exit_code=None),
        replace(QUEUE, exit_code=3),
        replace(QUEUE, exit_code_whole=False),
    ],
    ids=["another run", "another job", "not yet ended", "no such pair", "it cuts, too"],
)
def test_what_the_controller_says_of_something_else_changes_nothing(tmp_path: Path, other: SlurmJob) -> None:
    assert right(tmp_path, TOLD, other)[0] == (9, 0, False)


def test_a_look_waits_for_the_one_before_and_only_for_statuses_that_are_in_doubt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    accounts = Accounts(tmp_path / "accounts")
    found = Statuses(Shared(accounts))  # type: ignore[arg-type]
    assert found.find([TOLD]) == set()
    assert found.find([TOLD]) == set(), "the controller does not know it: it is not asked again"
    later = replace(TOLD, job_id="4813")
    assert found.find([later]) == {"4813"}
    assert found.find([replace(later, exit_code_whole=True), replace(later, state="CANCELLED")]) == set()
    monkeypatch.setattr(statuses, "OFTEN_S", 0.0)
    monkeypatch.setattr(statuses, "SHARE", 0.0)
    other = Statuses(Shared(accounts))  # type: ignore[arg-type]
    assert other.find([TOLD]) | other.find([later]) == set()


def test_a_job_that_the_controller_has_forgotten_waits_for_one_look_of_anybodys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its output's path and its status are asked of the same queue: the look for the one must not put off that for the other for good."""
    for asks in (paths, statuses):
        monkeypatch.setattr(asks, "OFTEN_S", 0.05)
        monkeypatch.setattr(asks, "SHARE", 0.0)
    accounts = Accounts(tmp_path / "accounts.jsonl")
    record(accounts.path, T, "4812", exit_code=9, exit_code_whole=False)
    state = State(tmp_path / "state")
    state.set_mark("began", (T - timedelta(days=1)).isoformat())
    noticing = Noticing(Shared(accounts), state, Spool(None), tmp_path / "lake")  # type: ignore[arg-type]
    noted = 0
    for _ in range(5):
        noted += noticing.poll()
        time.sleep(0.06)
    assert noted == 1
    state.close()


def test_a_look_answers_what_was_asked_before_it_began() -> None:
    answered, run = Answered(), ("4812", T)
    assert answered.lacking([run], 10.0, 9.0) == {run}
    assert answered.lacking([run], 12.0, 10.0) == {run}
    assert answered.lacking([run, ("4812", None)], 12.0, 11.0) == {("4812", None)}


def test_the_lake_holds_the_whole_status(tmp_path: Path) -> None:
    accounts = Accounts(tmp_path / "accounts.jsonl")
    record(accounts.path, T, "4812", exit_code=9, exit_code_whole=False, stdout_path="/home/mira/o")
    accounts.now_running = [replace(QUEUE, start_ts=T - timedelta(minutes=10))]
    state = State(tmp_path / "state")
    state.set_mark("began", (T - timedelta(days=1)).isoformat())
    assert Noticing(Shared(accounts), state, Spool(None), tmp_path / "lake").poll() == 1  # type: ignore[arg-type]
    with Reader(tmp_path / "lake") as reader:
        (told,) = reader.ask("job_overview", job_id="4812").dicts()
        assert told["exit_code"] == 137
        assert not reader.ask("status_doubt", job_id="4812").rows
    state.close()

"""A job that is cancelled before it ran has no epilog: the controller's log says so at once, and accounting is asked then."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from inquest.watch import cancels
from inquest.watch.cancels import Cancels
from inquest.watch.noticing import Noticing
from inquest.watch.shared import Shared
from inquest.watch.spool import Spool
from inquest.watch.state import State
from tests.inquest.watch.accounts import record
from tests.inquest.watch.test_noticing import Asked

KILL = "[2026-03-01T10:00:00.349] _slurm_rpc_kill_job: REQUEST_KILL_JOB JobId={} uid 2001\n"


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cancels, "LOOK_S", 0.0)


@pytest.mark.parametrize(
    ("line", "job"),
    [
        (KILL.format("4813"), "4813"),
        (KILL.format("4840_[2-3]"), "4840"),
        (
            "[2026-03-01T10:00:00.437] _kill_dependent: Job dependency can't be satisfied, cancelling JobId=4810\n",
            "4810",
        ),
        ("[2026-03-01T10:00:00.437] _slurm_rpc_submit_batch_job: JobId=4810 InitPrio=4294901750 usec=319\n", None),
        ("[2026-03-01T10:00:00.437] _update_job: setting comment to REQUEST_KILL_JOBber for JobId=4810\n", None),
        (KILL.format("4813")[:-1], None),
    ],
)
def test_a_line_about_a_cancelled_job_is_a_hint(tmp_path: Path, line: str, job: str | None) -> None:
    log = tmp_path / "slurmctld.log"
    log.write_text(KILL.format("1"))
    found = Cancels(log)
    assert not found.look(), "the past is accounting's"
    with log.open("a") as out:
        out.write(line)
    assert list(found.look()) == ([job] if job else [])


FAILED = "[2026-03-01T10:00:00.351] _slurm_rpc_kill_job: job_str_signal() uid=2001 JobId={} sig=9 returned: Invalid job id specified\n"


@pytest.mark.parametrize(
    ("lines", "named"),
    [
        (KILL.format("4840_7"), {"4840_7"}),
        (KILL.format("4840_[2-4,9]"), {"4840_2", "4840_3", "4840_4", "4840_9"}),
        (KILL.format("4840_7") + KILL.format("4840_8") + FAILED.format("4840_8"), {"4840_7"}),
        (KILL.format("4840"), set()),
        ("[2026-03-01T10:00:00.437] _update_job: setting comment to REQUEST_KILL_JOB JobId=4840_7 for JobId=4810_2\n", set()),
    ],
)  # fmt: skip
def test_the_tasks_that_somebody_asked_to_cancel_are_named(tmp_path: Path, lines: str, named: set[str]) -> None:
    log = tmp_path / "slurmctld.log"
    log.touch()
    found = Cancels(log)
    found.look()
    log.write_text(lines)
    found.look()
    assert set(found.named) == named


def test_a_hint_is_forgotten_soon_and_the_log_may_be_rotated_or_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "slurmctld.log"
    log.write_text("")
    found = Cancels(log)
    found.look()
    log.write_text(KILL.format("7"))
    assert list(found.look()) == ["7"]
    log.rename(tmp_path / "slurmctld.log.1")
    assert list(found.look()) == ["7"]
    log.write_text(KILL.format("8"))
    assert list(found.look()) == ["7", "8"]
    late = time.time() + cancels.KEEP_S + 1
    monkeypatch.setattr(cancels.time, "time", lambda: late)
    assert not found.look()
    assert not Cancels(None).look()


def test_the_cancelled_job_is_looked_up_before_the_next_poll_and_its_paths_are_not(tmp_path: Path) -> None:
    """It has printed nothing, so the controller is not asked where; and a job that goes on running costs a few seconds of looks."""
    now = datetime.now(UTC).replace(microsecond=0)
    log, accounts = tmp_path / "slurmctld.log", tmp_path / "accounts.jsonl"
    log.write_text("")
    slurm, state = Asked(accounts), State(tmp_path / "state")
    state.set_mark("began", (now - timedelta(hours=1)).isoformat(), keep=True)
    noticing = Noticing(Shared(slurm), state, Spool(tmp_path / "spool"), tmp_path / "lake", log)

    def hooked() -> int:
        noticing._asked = float("-inf")
        return noticing.hooked()

    assert hooked() == 0
    assert not slurm.asked
    with log.open("a") as out:
        out.write(KILL.format("7"))
    assert hooked() == 0
    assert slurm.asked == ["accounting"]
    record(accounts, now, "7", state="CANCELLED", start_ts=None, stdout_path=None, node_list=None)
    assert hooked() == 1
    assert "queue" not in slurm.asked
    asked = len(slurm.asked)
    assert hooked() == 0
    assert len(slurm.asked) == asked, "it is noted"


def test_without_the_log_a_glance_at_accounting_finds_what_never_ran_before_the_next_poll(tmp_path: Path) -> None:
    """What ran is left to the epilog and to the poll; slurmctld is not asked at all."""
    now = datetime.now(UTC).replace(microsecond=0)
    accounts = tmp_path / "accounts.jsonl"
    slurm, state = Asked(accounts), State(tmp_path / "state")
    state.set_mark("began", (now - timedelta(hours=1)).isoformat(), keep=True)

    def noticing(log: Path | None) -> Noticing:
        return Noticing(Shared(slurm), state, Spool(tmp_path / "spool"), tmp_path / "lake", log)

    log = tmp_path / "slurmctld.log"
    record(accounts, now, "7", state="CANCELLED", start_ts=None, stdout_path=None, node_list=None)
    record(accounts, now, "8", stdout_path="/dev/null")
    log.write_text("")
    assert noticing(log).glance() == 0
    assert not slurm.asked, "the log tells of them"
    watching = noticing(None)
    assert watching.glance() == 1
    assert set(slurm.asked) == {"accounting"}
    asked = len(slurm.asked)
    assert watching.glance() == 0
    assert len(slurm.asked) == asked, "not so soon again"
    assert noticing(tmp_path / "away.log").glance() == 0, "it is noted"
    assert len(slurm.asked) == asked + 1

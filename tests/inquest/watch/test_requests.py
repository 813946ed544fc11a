"""Who had a job signalled: the controller's log is read when an end is noticed, from before the watcher's start on."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from inquest.watch import requests
from inquest.watch.noticing import Noticing
from inquest.watch.requests import Requests
from inquest.watch.shared import Shared
from inquest.watch.spool import Spool
from inquest.watch.state import State
from store import Reader
from store.rows import SlurmJob, SlurmJobEvent
from tests.inquest.watch.accounts import Accounts, record

NOW = datetime.now(UTC).replace(microsecond=0)
LINE = "[{at}] _slurm_rpc_kill_job: REQUEST_KILL_JOB JobId={job} uid {uid}\n"


def line(job: str, uid: int, at: datetime = NOW) -> str:
    return LINE.format(at=at.strftime("%Y-%m-%dT%H:%M:%S.250+00:00"), job=job, uid=uid)


def slurm(path: Path) -> Shared:
    return Shared(Accounts(path))  # type: ignore[arg-type]


def told(found: Requests, *jobs: str) -> list[tuple[str | None, str | None]]:
    rows = found.rows([SlurmJob(job_id=j) for j in jobs])
    return [(r.job_id, r.actor) for r in rows if isinstance(r, SlurmJobEvent)]


def test_requests_before_and_after_the_start_are_told_of_the_jobs_that_ended(tmp_path: Path) -> None:
    log = tmp_path / "slurmctld.log"
    log.write_text(line("4812", 2101) + line("4700_3(4790)", 0) + "[2026-03-01T10:00:00.000] debug: nothing\n")
    found = Requests(slurm(tmp_path / "accounts"), log)
    assert told(found, "4812") == [("4812", "2101")]
    with log.open("a") as out:
        out.write(line("4813", 2001) + line("4812", 0))
    assert told(found, "4812", "4700_3", "1") == [("4812", "2101"), ("4812", "0"), ("4700_3", "0")]
    assert told(found, "4813") == [("4813", "2001")]


def test_a_log_that_is_away_or_was_never_named_costs_nothing(tmp_path: Path) -> None:
    log = tmp_path / "slurmctld.log"
    found = Requests(slurm(tmp_path / "accounts"), log)
    assert told(found, "4812") == []
    log.write_text(line("4812", 2101))
    assert told(found, "4812") == [("4812", "2101")]
    log.unlink()
    assert told(found, "4812") == []
    assert told(Requests(slurm(tmp_path / "accounts"), None), "4812") == []


def test_the_jobs_that_were_signalled_last_are_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "JOBS", 2)
    log = tmp_path / "slurmctld.log"
    log.write_text("".join(line(str(job), 0) for job in (1, 2, 3, 1)))
    found = Requests(slurm(tmp_path / "accounts"), log)
    assert told(found, "1", "2", "3") == [("1", "0"), ("1", "0"), ("3", "0")]


def test_a_noticed_end_brings_its_request_into_the_lake(tmp_path: Path) -> None:
    """Beside `inquest follow --log`, which tells of the same request, it stays one."""
    log, accounts = tmp_path / "slurmctld.log", tmp_path / "accounts.jsonl"
    log.write_text(line("4812", 2101, NOW - timedelta(seconds=62)))
    record(accounts, NOW - timedelta(seconds=60), "4812", stdout_path="/dev/null", uid="2001")
    state = State(tmp_path / "state")
    state.set_mark("began", (NOW - timedelta(hours=1)).isoformat())
    noticing = Noticing(slurm(accounts), state, Spool(None), tmp_path / "lake", log)
    assert noticing.poll() == 1
    with Reader(tmp_path / "lake") as reader:
        asked = reader.ask("signal_requests", job_id="4812").dicts()
    assert [(r["actor"], r["whose"], r["before_end_s"]) for r in asked] == [("2101", "other", 1.8)]

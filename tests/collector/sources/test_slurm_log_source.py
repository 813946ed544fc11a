"""slurm_log: who asked for a job's end, read from the controller's log as it grows, rotates and breaks off."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from collector.slurm.replay import Replay
from collector.sources.base import SourceUnavailable
from collector.sources.slurm_log import SlurmLog
from store.rows import SlurmJobEvent

OLD = "[2026-03-01T10:00:00.000] _slurm_rpc_kill_job: REQUEST_KILL_JOB JobId=1 uid 0\n"
LINES = """\
[2026-03-01T10:00:01.250] _slurm_rpc_kill_job: REQUEST_KILL_JOB JobId=4812 uid 2101
[2026-03-01T10:00:02.000] preempted JobId=4806_1(4822) has been requeued to reclaim resources for JobId=4826
[2026-03-01T10:00:03.000] sched: _update_job: setting time_limit to 90 for JobId=4818
[2026-03-01T10:00:03.001] _slurm_rpc_update_job: complete JobId=4818 uid=0 usec=120
[2026-03-01T10:00:04.000] _job_complete: JobId=4812 WEXITSTATUS 0
[2026-03-01T10:00:05.000] error: job name was "_slurm_rpc_kill_job: REQUEST_KILL_JOB JobId=9 uid 9"
"""


def follow(path: Path, state: Path | None = None) -> SlurmLog:
    source = SlurmLog(Replay({}), path, state, zone=UTC)
    source.open()
    return source


def told(source: SlurmLog) -> list[tuple[str | None, str | None, str | None]]:
    return [(r.job_id, r.event, r.actor) for r in source.rows() if isinstance(r, SlurmJobEvent)]


def test_lines_become_events_with_their_actors(tmp_path: Path):
    """From where the file ended at first; a line that quotes another is no such line."""
    log = tmp_path / "slurmctld.log"
    log.write_text(OLD)
    source = follow(log)
    assert told(source) == []
    with log.open("a") as out:
        out.write(LINES)
    rows = [r for r in source.rows() if isinstance(r, SlurmJobEvent)]
    assert [(r.job_id, r.event, r.actor) for r in rows] == [
        ("4812", "signalled", "2101"),
        ("4806_1", "preempted", None),
        ("4818", "updated", None),
        ("4818", "updated", "0"),
    ]
    assert rows[0].ts == datetime(2026, 3, 1, 10, 0, 1, 250_000, tzinfo=UTC)
    assert told(source) == []


def test_a_request_about_waiting_tasks_is_told_of_each(tmp_path: Path):
    """They leave nothing in accounting: who had them cancelled stands here alone."""
    log = tmp_path / "slurmctld.log"
    log.write_text("")
    source = follow(log)
    assert told(source) == []
    log.write_text("[2026-03-01T10:00:01.250] _slurm_rpc_kill_job: REQUEST_KILL_JOB JobId=4812_[3-4,9] uid 2001\n")
    assert told(source) == [(f"4812_{n}", "signalled", "2001") for n in (3, 4, 9)]


def test_a_rotation_and_a_half_line_lose_nothing(tmp_path: Path):
    """What was written to the old file after the last look is read there; a line without its end waits for it."""
    log = tmp_path / "slurmctld.log"
    log.write_text("")
    source = follow(log)
    assert told(source) == []
    first, second = LINES.splitlines(keepends=True)[:2]
    with log.open("a") as out:
        out.write(first)
    log.rename(tmp_path / "slurmctld.log.1")
    log.write_text(second[:40])
    assert told(source) == [("4812", "signalled", "2101")]
    with log.open("a") as out:
        out.write(second[40:])
    assert told(source) == [("4806_1", "preempted", None)]


def test_a_new_process_goes_on_where_the_last_one_was(tmp_path: Path):
    """And a file that was emptied in place is read from its beginning."""
    log, state = tmp_path / "slurmctld.log", tmp_path / "state"
    log.write_text(OLD)
    source = follow(log, state)
    assert told(source) == []
    source.close()
    with log.open("a") as out:
        out.write(LINES.splitlines(keepends=True)[0])
    again = follow(log, state)
    assert told(again) == [("4812", "signalled", "2101")]
    log.write_text(LINES.splitlines(keepends=True)[1])
    assert told(again) == [("4806_1", "preempted", None)]


def test_a_log_that_cannot_be_read_names_its_remedy(tmp_path: Path):
    """Missing or forbidden: the reason, and the command that would permit it."""
    with pytest.raises(SourceUnavailable) as refused:
        told(follow(tmp_path / "none.log"))
    assert refused.value.remedy is not None and "setfacl" in refused.value.remedy

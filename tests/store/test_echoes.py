"""Slurm's words about another job, or about an end that accounting contradicts, are shown as an echo, whoever asks."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from store import Reader, Writer, free_sql, shown
from store.rows import LogEvent, LogRun, Row, SlurmJob, SlurmStep

T = datetime(2026, 3, 1, 10, tzinfo=UTC)


def job(state: str = "FAILED", attempt: int = 1, **more: object) -> SlurmJob:
    values = {"job_id_raw": "7", "restarts": 0, "elapsed_s": 600.0, "time_limit_s": 3600.0, "ts": T, **more}
    return SlurmJob(job_id="7", attempt=attempt, state=state, **values)  # type: ignore[arg-type]


def said(name: str, of: str, scope: str = "job", kind: str = "slurm") -> LogEvent:
    number, _, step = of.partition(".")
    detail = json.dumps({"job": number, "scope": scope, **({"step": step} if step else {})})
    return LogEvent(
        job_id="7", attempt=1, file="a.out", line_no=1, ts=T, kind=kind, name=name, message=name, detail=detail
    )


RUN = LogRun(job_id="7", attempt=1, file="b.out", run=1, first_line=1, last_line=5, ts=T)
STEP = SlurmStep(job_id="7", attempt=1, step_id="0", state="FAILED", ts=T)


@pytest.mark.parametrize(
    ("rows", "event", "echo"),
    [
        ([job()], said("preempted", "77"), True),
        ([job("PREEMPTED")], said("preempted", "77"), True),
        ([job("COMPLETED")], said("node_failure", "77"), True),
        ([job()], said("cancelled", "77.0", "step"), True),
        ([job(job_id_raw="77")], said("cancelled", "77.0", "step"), False),
        ([job(het_job_id="6")], said("cancelled", "6.0", "step"), False),
        ([job(job_id_raw=None)], said("cancelled", "77.0", "step"), False),
        ([], said("preempted", "77"), False),
        ([job()], said("queued", "77"), False),
        ([job()], said("preempted", "7"), True),
        ([job("COMPLETED")], said("node_failure", "7"), True),
        ([job("PREEMPTED")], said("preempted", "7"), False),
        ([job(restarts=None)], said("preempted", "7"), False),
        ([job(restarts=1)], said("requeued", "7"), False),
        ([job("REQUEUED"), job(attempt=2)], said("requeued", "7"), False),
        ([job(), RUN], said("requeued", "7"), False),
        ([job()], said("node_failure", "7.0", "step"), False),
        ([job()], said("cancelled", "7"), False),
        ([job()], said("time_limit", "7"), True),
        ([job(elapsed_s=3590.0)], said("time_limit", "7"), False),
        ([job(time_limit_s=None)], said("time_limit", "7"), False),
        ([job("TIMEOUT")], said("time_limit", "7"), False),
        ([job(), STEP], said("oom_kill", "77.0", kind="host_oom"), True),
        ([job(), STEP], said("oom_kill", "7.3", kind="host_oom"), True),
        ([job(), STEP], said("oom_kill", "7.0", kind="host_oom"), False),
        ([job()], said("oom_kill", "7.3", kind="host_oom"), False),
    ],
)
@pytest.mark.parametrize("small", [True, False])
def test_words_that_are_not_about_the_job_of_the_log(
    tmp_path: Path, rows: list[Row], event: LogEvent, echo: bool, small: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not small:
        monkeypatch.setattr(shown, "SMALL", 0)
    Writer(tmp_path / "lake").append([event, *rows], batch="a")
    with Reader(tmp_path / "lake") as reader:
        query = "host_oom_words" if event.kind == "host_oom" else "slurm_messages"
        assert (reader.ask(query, job_id="7").row_count == 0) is echo


def test_accounting_that_comes_after_the_log_is_heard(tmp_path: Path) -> None:
    """A reader that has told the event already tells it anew; and so does free SQL."""
    writer = Writer(tmp_path / "lake")
    writer.append([said("preempted", "77")], batch="a")
    with Reader(tmp_path / "lake") as reader:
        assert reader.ask("slurm_messages", job_id="7").row_count == 1
        writer.append([job()], batch="b")
        assert reader.ask("slurm_messages", job_id="7").row_count == 0
    assert free_sql.run(tmp_path / "lake", "SELECT kind FROM log_event").rows == (("echo",),)

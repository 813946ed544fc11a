"""A time that a line of a log has from an earlier one is a bound: whatever tells it says so."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from agent_tools.evidence import OR_LATER, OR_LESS, Ledger
from agent_tools.facts import Facts
from agent_tools.families import f3_timeout
from agent_tools.gate.sequence import disordered, untold
from agent_tools.references import plain
from agent_tools.timeline import timeline
from store import Reader, Writer
from store.catalog import catalog
from store.rows import LogEvent, LogLine, Row, SlurmJob, TrainStep
from store.rows.logs import EVENT_KINDS
from tests.agent_tools.questions.lookupkit import T

LENT = T + timedelta(minutes=17, seconds=13)
"""The time of the one line of the log that says its own."""
END = T + timedelta(hours=5)
ASKED: dict[str, Any] = {
    "job_id": "20",
    "kinds": ",".join(EVENT_KINDS),
    "metric": "loss",
    "pattern": ".",
    "file": "o",
    "first": 1,
    "last": 99,
    "text": "e",
    "name": "exception",
    "rank": 0,
    "now_ts": "2026-03-09T15:00:00Z",
}
SAID_OTHERWISE = {
    ("checkpoints", "earlier_line_ts"),
    ("log_extent", "first_ts"),
    ("log_extent", "last_ts"),
    ("losses_kept", "ts"),
}
"""Columns whose names and descriptions already say what kind of time it is."""
NAMES = {"signal": "shell", "slurm": "task_exit", "nccl_watchdog": "collective_timeout", "checkpoint": "saved", "warning": "cuda_error", "launcher_summary": "child_failed"}  # fmt: skip


def rows(told: str = "carried") -> list[Row]:
    """A job whose log says a time in its first line alone, and the other lines have it from that one."""
    of: dict[str, Any] = {"job_id": "20", "attempt": 1, "file": "o", "ts": LENT, "ts_kind": told}
    made: list[Row] = [
        SlurmJob(job_id="20", attempt=1, state="FAILED", node_list="n1", ts=END, submit_ts=T, start_ts=T, end_ts=END, time_limit_s=18_000, elapsed_s=18_000),
        LogLine(**of | {"ts_kind": "embedded", "ts": LENT - timedelta(seconds=1)}, line_no=1, text="2026-03-09 10:17:12 begin"),
        LogLine(**of, line_no=70, text="main.py: error: unrecognized arguments: --bogus"),
    ]  # fmt: skip
    made += [
        TrainStep(**of, line_no=n, step=n, total_steps=400, loss=2.0 if n < 30 else float("nan")) for n in range(2, 40)
    ]
    for n, kind in enumerate(EVENT_KINDS):
        made.append(
            LogEvent(**of, line_no=40 + n, line_end=40 + n, kind=kind, name=NAMES.get(kind, kind), severity="error", rank=0, signal=9, message=f"{kind} Out Of Memory")
        )  # fmt: skip
    return made


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    lake = tmp_path_factory.mktemp("lent") / "lake"
    Writer(lake, durable=False).append(rows(), batch="b")
    with Reader(lake) as opened:
        yield opened


def of_logs() -> list[str]:
    return sorted(n for n, q in catalog().items() if {"log_event", "log_line", "train_step"} & set(q.tables))


@pytest.mark.parametrize("name", of_logs())
def test_whoever_tells_it_says_so(reader: Reader, name: str):
    params = catalog()[name].params
    given = {p.name: ASKED[p.name] for p in params if p.name in ASKED}
    if missing := [p.name for p in params if not p.optional and p.name not in given]:
        pytest.fail(f"{name} needs {missing}: say with what it is asked here")
    evidence = Ledger().ask(reader, name, **given)
    for cell in evidence.cells():
        lent = cell.value == "2026-03-09T10:17:13Z" and (name, cell.column) not in SAID_OTHERWISE
        assert (cell.bound == "or later") == (lent or cell.column == "bucket_ts"), (cell.ref, cell.column)


def test_most_of_them_have_something_to_tell(reader: Reader):
    """Else the one above would look at nothing."""
    told = [n for n in of_logs() if OR_LATER in {c.name for c in Ledger().ask(reader, n, **_needed(n)).columns}]
    found = [n for n in told if any(c.bound for c in Ledger().ask(reader, n, **_needed(n)).cells())]
    assert len(found) >= 20, sorted(set(told) - set(found))


def _needed(name: str) -> dict[str, Any]:
    return {p.name: ASKED[p.name] for p in catalog()[name].params if p.name in ASKED}


def test_a_time_of_its_own_is_none(tmp_path: Path):
    Writer(tmp_path / "lake", durable=False).append(rows("embedded"), batch="b")
    with Reader(tmp_path / "lake") as reader:
        for name in of_logs():
            assert not [c.ref for c in Ledger().ask(reader, name, **_needed(name)).cells() if c.bound], name


def test_a_reader_sees_that_it_is_a_bound(reader: Reader):
    ledger = Ledger()
    raised = ledger.ask(reader, "exceptions", job_id="20")
    wall = ledger.ask(reader, "wall", job_id="20")
    assert (
        plain(f"It was printed at {raised.ref('first_ts')}.", ledger)
        == "It was printed at 2026-03-09 10:17:13 UTC or later."
    )
    assert plain(wall.ref("quiet_min"), ledger).endswith(" or less") and wall.value(OR_LESS) == "quiet_min quiet_paces"


def test_the_timeline_says_it_too(reader: Reader):
    facts = Facts(reader, Ledger(), "20")
    at = [plain(m.ts, facts.ledger) for m in timeline(facts) if "Exception" in m.text]
    assert at == ["2026-03-09 10:17:13 UTC or later"]


def test_what_came_then_or_later_came_before_nothing(reader: Reader):
    ledger = Ledger()
    raised, job = ledger.ask(reader, "exceptions", job_id="20"), ledger.ask(reader, "job_overview", job_id="20")
    ended, printed = job.ref("end_ts"), raised.ref("first_ts")
    ledger.show_all()
    claim = f"It raised at {printed}, and after that, at {ended}, it ended."
    assert untold(claim, ledger) and not disordered(claim, ledger)


@pytest.mark.parametrize("told", ["embedded", "carried"])
def test_a_silence_that_nobody_timed_is_no_standstill(tmp_path: Path, told: str):
    """Reports whose only time is that of an earlier line may have come until the very end."""
    every = timedelta(seconds=20)
    of: dict[str, Any] = {"job_id": "20", "attempt": 1, "file": "o"}
    steps: list[Row] = [
        TrainStep(**of, line_no=n, ts=T + n * every, ts_kind="embedded", step=n, total_steps=4000, loss=4.0 / n)
        for n in range(1, 60)
    ]
    last = [
        TrainStep(**of, line_no=n, ts=T + 60 * every, ts_kind=told, step=n, total_steps=4000, loss=4.0 / n)
        for n in range(60, 900)
    ]
    job = SlurmJob(job_id="20", attempt=1, state="TIMEOUT", node_list="n1", ts=END, submit_ts=T, start_ts=T, end_ts=END, time_limit_s=18_000, elapsed_s=18_000)  # fmt: skip
    Writer(tmp_path / "lake", durable=False).append(
        [job, *steps, *(last if told == "carried" else last[:1])], batch="b"
    )
    with Reader(tmp_path / "lake") as reader:
        found = f3_timeout.assess(Facts(reader, Ledger(), "20"))
        assert ("most likely it was hung" in str(found)) == (told == "embedded"), found


def test_the_date_of_a_file_is_when_nothing_was_printed(tmp_path: Path):
    """Files that were copied or checked out have dates of days after their job."""
    of: dict[str, Any] = {"job_id": "20", "attempt": 1, "ts_kind": "file", "total_steps": 40}
    steps: list[Row] = [
        TrainStep(**of, file=f"{k}.out", line_no=n, ts=END + timedelta(days=9 * k), step=n, loss=2.0)
        for k in (1, 2)
        for n in range(1, 9)
    ]
    job = SlurmJob(job_id="20", attempt=1, state="TIMEOUT", node_list="n1", ts=END, start_ts=T, end_ts=END, time_limit_s=18_000, elapsed_s=18_000)  # fmt: skip
    Writer(tmp_path / "lake", durable=False).append([job, *steps], batch="b")
    with Reader(tmp_path / "lake") as reader:
        wall = reader.ask("wall", job_id="20").dicts()[0]
        loss = reader.ask(
            "rank_metric", job_id="20", metric="loss", from_ts=T.isoformat(), to_ts=END.isoformat()
        ).dicts()
    assert (wall["last_step"], wall["last_progress_ts"], wall["quiet_min"], wall["pace_s"]) == (8, None, None, None)
    assert [(r["bucket_ts"], r["or_later"], r["samples"]) for r in loss] == [(None, None, 16)]

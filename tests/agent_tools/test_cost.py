"""What a job cost: held and wasted, each a cell, and nothing where accounting does not say."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from agent_tools.cost import cost
from agent_tools.evidence import Ledger
from agent_tools.gate.citations import plain
from store import Reader, Writer
from store.rows import LogEvent, LogLine, Row, SlurmJob, TrainStep

T = datetime(2026, 3, 1, 10, tzinfo=UTC)


def job(attempt: int, hours: float, start: datetime, gpus: int | None = 4) -> SlurmJob:
    end = start + timedelta(hours=hours)
    return SlurmJob(
        job_id="7",
        attempt=attempt,
        state="FAILED",
        ts=end,
        start_ts=start,
        end_ts=end,
        elapsed_s=hours * 3600,
        gpus=gpus,
    )


def saved(at: datetime | None, attempt: int = 2) -> LogEvent:
    return LogEvent(
        job_id="7", attempt=attempt, ts=at, kind="checkpoint", name="saved", file="a", line_no=1, ts_kind="embedded"
    )


def steps(count: int, bad_from: int = 99) -> list[Row]:
    """A report every twenty minutes from twenty past the start on."""
    return [
        TrainStep(
            job_id="7", attempt=1, ts=T + timedelta(minutes=20 * n), ts_kind="embedded", file="a", line_no=10 * n, step=n,
            loss=float("nan") if n >= bad_from else 2.0,
        )
        for n in range(1, count + 1)
    ]  # fmt: skip


def untold(reports: list[Row]) -> list[Row]:
    """The same reports, of a program that prints no times."""
    return [replace(r, ts_kind="file") for r in reports]


def elsewhere(reports: list[Row]) -> list[Row]:
    """The same reports, in another file."""
    return [replace(r, file="b") for r in reports]


def untimed(step: int, framework: str | None = None) -> LogEvent:
    """A save without a time, said after the report of a step."""
    return LogEvent(
        job_id="7", attempt=1, kind="checkpoint", name="saved", file="a", line_no=10 * step + 1, ts_kind="file", ts=T,
        framework=framework,
    )  # fmt: skip


def begun(step: int, framework: str = "hf-trainer", message: str = "Saving model checkpoint to out") -> LogEvent:
    """The only word about a save, said after the report of a step."""
    return LogEvent(
        job_id="7", attempt=1, kind="checkpoint", name="saving", file="a", line_no=10 * step + 1, ts_kind="file", ts=T, step=step,
        framework=framework, message=message,
    )  # fmt: skip


def failed(step: int) -> LogEvent:
    """The word that a save failed."""
    return LogEvent(job_id="7", attempt=1, kind="checkpoint", name="failed", file="a", line_no=10 * step + 2, ts=T)


@pytest.mark.parametrize(
    ("rows", "family", "held", "wasted"),
    [
        ([job(1, 2, T), job(2, 3, T + timedelta(hours=5)), saved(T + timedelta(hours=7))], "B1", 20.0, 4.0),
        ([job(1, 2, T), job(2, 3, T + timedelta(hours=5))], "B1", 20.0, 12.0),
        ([job(1, 2, T), saved(None, 1)], "B1", 8.0, None),
        ([job(1, 2, T)], "A1", 8.0, 8.0),
        ([job(1, 2, T), saved(T + timedelta(hours=1), 1)], "F4", 8.0, 4.0),
        ([job(1, 2, T), *steps(1)], "C3", 8.0, 8.0),
        ([job(1, 2, T), *steps(3), untimed(3)], "C2", 8.0, 4.0),
        ([job(1, 2, T), *steps(4), begun(3)], "A3", 8.0, 4.0),
        ([job(1, 2, T), *steps(3), begun(3)], "A3", 8.0, 8.0),
        ([job(1, 2, T), *steps(4), begun(3), failed(3)], "A3", 8.0, 8.0),
        ([job(1, 2, T), *steps(4), begun(1), begun(3), failed(3)], "A3", 8.0, 6.667),
        ([job(1, 2, T), *elsewhere(steps(4)), begun(2), begun(3)], "A3", 8.0, None),
        ([job(1, 2, T), *steps(4), begun(3, "megatron"), untimed(1, "megatron")], "A3", 8.0, 6.667),
        ([job(1, 2, T), *steps(4), begun(3, "nemo", "Scheduled async checkpoint save for out")], "A3", 8.0, 8.0),
        ([job(1, 2, T), *untold(steps(4)), replace(begun(3), step=None)], "A3", 8.0, 2.0),
        ([job(1, 2, T), *steps(4, bad_from=3)], "E1", 8.0, 4.0),
        ([job(1, 2, T), *steps(2)], "E3", 8.0, 8.0),
        ([job(1, 2, T)], "G1", 8.0, 0.0),
        ([job(1, 2, T)], "D1", 8.0, None),
        ([job(1, 2, T, gpus=None)], "A1", None, None),
        ([job(1, 2, T), job(2, 3, T, gpus=None)], "A1", None, None),
        ([saved(T)], "A1", None, None),
    ],
    ids=["since-checkpoint", "no-checkpoint", "checkpoint-without-time", "never-ran", "cancelled", "idle-unsaved", "checkpoint-after-a-report", "begun-and-gone-on", "begun-at-the-end", "begun-and-failed", "begun-and-another-failed", "begun-and-then-another", "begun-where-others-end", "begun-in-the-background", "begun-without-time-and-step", "not-finite", "few-steps", "healthy", "slow", "no-gpus", "half", "no-job"],
)  # fmt: skip
def test_held_and_wasted(tmp_path: Path, rows: list[Row], family: str, held: float | None, wasted: float | None):
    Writer(tmp_path / "lake").append(rows, batch="b")
    ledger = Ledger()
    with Reader(tmp_path / "lake") as reader:
        spent = cost(reader, ledger, "7", None, family)
    assert (spent.gpu_hours_held, spent.gpu_hours_wasted) == (held, wasted)
    assert spent.basis
    said = plain(spent.basis, ledger)
    assert f"{held:g} h" in said if held is not None else "how many GPUs" in said


def test_gpu_hours_are_not_told_as_hours_of_the_job(tmp_path: Path) -> None:
    Writer(tmp_path / "lake").append([job(1, 2, T), *steps(3), untimed(3)], batch="b")
    ledger = Ledger()
    with Reader(tmp_path / "lake") as reader:
        said = plain(cost(reader, ledger, "7", None, "C2").basis, ledger)
    assert "4 h of GPU time went by while the job stood still" in said


@pytest.mark.parametrize(
    ("state", "family", "line", "wasted", "says"),
    [
        ("FAILED", "A2", True, 8.0, "its log names no saved checkpoint"),
        ("FAILED", "A2", False, 8.0, "no log is here"),
        ("RUNNING", "F1", True, None, "while the job runs"),
        ("RUNNING", "C2", False, 8.0, "no log is here"),
    ],
)
def test_what_is_said_of_a_loss_without_a_log_or_an_end(
    tmp_path: Path, state: str, family: str, line: bool, wasted: float | None, says: str
) -> None:
    rows: list[Row] = [replace(job(1, 2, T), state=state)]
    rows += [LogLine(job_id="7", attempt=1, file="a", line_no=1, text="hello")] if line else []
    Writer(tmp_path / "lake").append(rows, batch="b")
    ledger = Ledger()
    with Reader(tmp_path / "lake") as reader:
        spent = cost(reader, ledger, "7", None, family)
    assert spent.gpu_hours_wasted == wasted
    assert says in plain(spent.basis, ledger)

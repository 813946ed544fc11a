"""Lines of a log are shown under the attempt of the run that they are of, whatever was known of it when they were written."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from store import Reader, Writer, free_sql, shown
from store.rows import LogEvent, LogRun, Row, TrainStep

T = datetime(2026, 3, 1, 10, tzinfo=UTC)


def lines(job: str, file: str, attempt: int | None = 1) -> list[Row]:
    """An exception in each of lines 5 and 25, and steps in lines 1 and 21 two days later."""
    return [
        *(
            LogEvent(job_id=job, file=file, line_no=n, line_end=n, attempt=attempt, ts=T, kind="exception", name=f"E{n}", severity="fatal")
            for n in (5, 25)
        ),
        *(TrainStep(job_id=job, file=file, line_no=n, attempt=attempt, ts=T + timedelta(days=2), step=n) for n in (1, 21)),
    ]  # fmt: skip


def runs(job: str, file: str, *attempts: int | None) -> list[Row]:
    """Runs of twenty lines each."""
    return [
        LogRun(
            job_id=job,
            file=file,
            run=n + 1,
            first_line=20 * n + 1,
            last_line=20 * n + 20,
            certain=True,
            attempt=a,
            ts=T,
        )
        for n, a in enumerate(attempts)
    ]


@pytest.mark.parametrize("small", [True, False])
def test_lines_are_shown_under_the_attempt_of_their_run(
    tmp_path: Path, small: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not small:
        monkeypatch.setattr(shown, "SMALL", 0)
    lake = tmp_path / "lake"
    Writer(lake).append(
        [*lines("7", "a.out"), *runs("7", "a.out", 0, 1), *lines("7", "b.out"), *lines("8", "a.out")], batch="a"
    )
    with Reader(lake) as reader:
        told = reader.ask("exceptions", job_id="7", attempt=1).dicts()
        assert [(r["file"], r["line_no"]) for r in told] == [("a.out", 25), ("b.out", 5)]
        assert reader.ask("exceptions", job_id="8", attempt=1).row_count == 2, (
            "another job's file of that name has one run"
        )
        assert [r["attempt"] for r in reader.ask("log_attempts", job_id="7").dicts()] == [0, 1]
        assert reader.ask("log_attempts", job_id="8").dicts()[0]["runs"] == 0


def test_a_run_without_an_attempt_leaves_its_lines_with_theirs(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    Writer(lake).append([*lines("7", "a.out", 3), *runs("7", "a.out", None, 4)], batch="a")
    with Reader(lake) as reader:
        assert [r["attempt"] for r in reader.ask("log_attempts", job_id="7").dicts()] == [3, 4]


def test_runs_are_known_whatever_part_of_the_lines_is_asked_for(tmp_path: Path) -> None:
    """Steps of another day and another node than the time of the run."""
    lake = tmp_path / "lake"
    rows: list[Row] = [
        TrainStep(job_id="7", file="a.out", line_no=1, attempt=1, ts=T + timedelta(days=2), step=1, node="n1")
    ]
    Writer(lake).append([*rows, *runs("7", "a.out", 0, 1)], batch="a")
    with Reader(lake) as reader:
        assert reader.ask("train_summary", job_id="7", attempt=0).dicts()[0]["reports"] == 1
    told = free_sql.run(lake, "SELECT attempt FROM train_step")
    assert told.rows == ((0,),)
    assert [c.table for c in told.coverage] == ["train_step"]


def test_a_lake_from_before_runs_were_told_reads_as_it_did(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    Writer(lake).append(lines("7", "a.out"), batch="a")
    with Reader(lake) as reader:
        assert reader.ask("exceptions", job_id="7", attempt=1).row_count == 2
        assert reader.ask("log_runs", job_id="7").rows == ()

"""A task that is cancelled out of its array's waiting record, of which Slurm keeps nothing anywhere."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from collector.slurm.replay import Replay
from collector.sources.slurm_queue import SlurmQueue
from store import Reader, Writer
from store.rows import Row, SlurmJob, SlurmJobEvent

T0 = datetime(2026, 3, 1, 10, tzinfo=UTC)


def record(tasks: str, raw: str = "4812", **more: object) -> SlurmJob:
    values: dict[str, object] = {
        "cluster": "lab", "ts": T0, "job_id": f"4812_{tasks}", "array_job_id": "4812", "job_id_raw": raw, "attempt": 1,
        "state": "PENDING", "state_reason": "JobArrayTaskLimit", "submit_ts": T0, "user": "ada",
        "array_task_id": tasks if tasks.isdigit() else None,
    }  # fmt: skip
    return SlurmJob(**{**values, **more})  # type: ignore[arg-type]


FIRST = record("1", raw="4813", state="RUNNING", state_reason=None, start_ts=T0, node_list="n1")


class Clock:
    moment = T0

    def steady(self) -> float:
        return self.moment.timestamp()

    def now(self) -> datetime:
        return self.moment


def looks(*answers: list[SlurmJob], every_s: float = 15.0) -> tuple[list[Row], set[str]]:
    """The rows of the last look, and who is owed after it."""
    clock, found = Clock(), list[Row]()
    source = SlurmQueue(Replay({"queue": answers}), clock=clock)
    for _ in answers:
        source.open()
        found = list(source.rows())
        clock.moment += timedelta(seconds=every_s)
    return found, source.owed


@pytest.mark.parametrize("after", ["[2%1]", "2", "[2,4-900%1]"])
def test_it_is_told_as_cancelled_between_two_looks(after: str) -> None:
    rows, owed = looks([FIRST, record("[2-3%1]")], [FIRST, record(after)])
    (job,) = [r for r in rows if isinstance(r, SlurmJob) and r.job_id == "4812_3"]
    (event,) = [r for r in rows if isinstance(r, SlurmJobEvent) and r.job_id == "4812_3"]
    assert (job.state, job.array_task_id, job.start_ts, job.user) == ("CANCELLED", "3", None, "ada")
    assert (event.event, event.time_basis, event.observed) == ("ended", "polled", False)
    assert (event.earliest_ts, event.ts) == (T0, T0 + timedelta(seconds=15))
    assert not owed


@pytest.mark.parametrize(
    ("answer", "every_s"),
    [
        ([FIRST, record("[2,5,...]")], 15.0),
        ([FIRST, record("[2%1]")], 600.0),
        ([FIRST], 15.0),
    ],
    ids=["the list is cut short", "the controller may have forgotten", "the record has gone"],
)  # fmt: skip
def test_where_that_is_not_certain_accounting_is_asked(answer: list[SlurmJob], every_s: float) -> None:
    rows, owed = looks([FIRST, record("[2-3%1]")], answer, every_s=every_s)
    assert not [r for r in rows if getattr(r, "job_id", None) == "4812_3"] and "4812_3" in owed


def test_a_task_with_a_record_of_its_own_was_not_taken_out() -> None:
    own = record("3", raw="4815", state_reason="JobHeldUser")
    rows, owed = looks([FIRST, record("[2-3%1]")], [FIRST, record("[2%1]"), own])
    assert [r.state for r in rows if isinstance(r, SlurmJob) and r.job_id == "4812_3"] == ["PENDING"] and not owed


def test_beyond_the_thousand_that_are_told_one_by_one_nothing_is_concluded() -> None:
    rows, owed = looks([record("[2-1001]")], [record("[1-1001]")])
    assert not [r for r in rows if getattr(r, "job_id", None) == "4812_1001"] and "4812_1001" in owed


def test_what_accounting_tells_of_it_all_the_same_is_believed(tmp_path: Path) -> None:
    """A controller that forgets a job within seconds hides a task that ran between two looks."""
    rows, _ = looks([FIRST, record("[2-3%1]")], [FIRST, record("[2%1]")])
    Writer(tmp_path).append(rows, batch="queue")
    asked = "job_overview"
    assert Reader(tmp_path).ask(asked, job_id="4812_3").dicts()[0]["state"] == "CANCELLED"
    moment = T0 + timedelta(seconds=9)
    ran = replace(
        record("3", raw="4815"),
        state="COMPLETED",
        state_reason=None,
        start_ts=T0,
        end_ts=moment,
        ts=moment,
        origin="sacct",
    )
    Writer(tmp_path).append([ran], batch="accounting")
    assert Reader(tmp_path).ask(asked, job_id="4812_3").dicts()[0]["state"] == "COMPLETED"

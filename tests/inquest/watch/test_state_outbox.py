"""The durable parts: what is claimed, what is told and when, and that a clock that jumps holds nothing up."""

from __future__ import annotations

import sqlite3
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from inquest.watch import outbox as outboxes
from inquest.watch import state as states
from inquest.watch.attempt import Attempt, ended
from inquest.watch.metrics import Server, page
from inquest.watch.notify.base import Channel, Filter
from inquest.watch.outbox import Outbox, Policy
from inquest.watch.settling import settle
from inquest.watch.state import State, alive, count, me
from tests.inquest.watch.accounts import Accounts
from tests.inquest.watch.notes import filled, note


def attempt(job: str = "4812", **more: object) -> Attempt:
    given = {"cluster": "lab", "job_id": job, "attempt": 1, "state": "FAILED", "end_ts": "2026-03-01T11:00:00+00:00"}
    return Attempt(**{**given, "start_ts": "2026-03-01T10:00:00+00:00", "partition": "batch", **more})  # type: ignore[arg-type]


SUMMARY = {
    "family": "A3", "mode": "data", "confidence": 0.9, "attribution": "job", "headline": "KeyError",
    "gpu_hours_held": 2.0, "gpu_hours_wasted": 0.5,
    "rendered": {"disposition": "FAILED [E1]", "What to do": ["Look [E2]."]},
}  # fmt: skip


class Clock:
    """A wall clock that can be set."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.off = 0.0
        real = time.time
        for module in (states, outboxes):
            monkeypatch.setattr(module.time, "time", lambda: real() + self.off)


def test_a_run_has_one_key_whatever_its_number() -> None:
    """Accounting that was asked for a window counts attempts differently than for the whole job."""
    assert attempt().key == attempt(attempt=3).key == "verdict:lab:4812:2026-03-01T10:00:00+00:00"
    assert attempt(start_ts=None, submit_ts="2026-03-01T09:00:00+00:00").key != attempt().key


def test_a_claim_is_one_watchers_until_it_dies(tmp_path: Path) -> None:
    """A living process of this host keeps it, a dead one's is taken at once."""
    first = State(tmp_path)
    second = State(tmp_path, owner="otherhost:1:1")
    first.add([attempt(), attempt("4813")])
    assert len(first.claim(1)) == 1
    assert [w.attempt.job_id for w in second.claim(5)] == ["4813"]
    assert first.claim(5) == []
    dead = State(tmp_path, owner=f"{me().split(':')[0]}:1:999999999")
    dead.add([attempt("4814")])
    assert len(dead.claim(5)) == 1
    assert [w.attempt.job_id for w in first.claim(5)] == ["4814"]
    assert alive(me())


def test_who_lets_a_thousand_tasks_fail_keeps_nobody_else_waiting(tmp_path: Path) -> None:
    """Users take turns, and of one user's so do arrays and single jobs; what is worked on has had its turn."""
    state = State(tmp_path)
    state.add(attempt(f"50_{n}", user="mira", array="50") for n in range(30))
    state.add(attempt(f"60_{n}", user="mira", array="60") for n in range(30))
    assert {w.attempt.array for w in state.claim(4)} == {"50", "60"}
    state.add(
        [attempt("71", user="mira"), attempt("72", user="ada"), attempt("73", user="ada"), attempt("74", user=None)]
    )
    assert {w.attempt.job_id for w in state.claim(5)} >= {"71", "72", "73", "74"}
    rest = [w.attempt.job_id for w in state.claim(1000)]
    assert len(rest) == 55 and [j for j in rest if j.startswith("50")] == [
        f"50_{n}" for n in range(30) if f"50_{n}" in rest
    ]


def test_a_lease_ends_also_when_the_clock_was_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    there = State(tmp_path, owner="otherhost:1:1")
    there.add([attempt()])
    clock.off = 1e7  # claimed while its clock was a hundred days ahead
    assert len(there.claim(1)) == 1
    clock.off = 0.0
    assert len(State(tmp_path).claim(1)) == 1


def test_an_attempt_is_settled_counted_and_noted_once(tmp_path: Path) -> None:
    state = State(tmp_path)
    channel = Channel(name="c")
    state.add([attempt()])
    told = [settle(s, attempt(), SUMMARY, [channel]) for s in (state, State(tmp_path), state)]  # type: ignore[list-item]
    assert told == [True, False, False]
    counted = {(n, f): v for n, f, _, _, v in state.tallies()}
    assert (counted["verdicts", "A3"], counted["wasted", "A3"], counted["held", "A3"]) == (1, 0.5, 2.0)
    assert state.ask("SELECT count(*) FROM note") == [(1,)]


def test_a_group_is_told_when_it_is_quiet_and_its_array_has_been_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While tasks of the array wait for their verdict the message waits; after it a second one waits for long."""
    clock = Clock(monkeypatch)
    state = filled(tmp_path, "c", [note(f"4700_{i}", id=f"n{i}", array="4700") for i in range(3)])
    state.add([attempt("4700_9", array="4700")])
    box = Outbox(state, "c", Policy(quiet_s=5, array_quiet_s=5, longest_s=60, again_s=600))
    assert box.gather() == 0
    clock.off = 10
    assert box.gather() == 0, "a task of the array is still without its verdict"
    settle(state, attempt("4700_9", array="4700"), SUMMARY, [])
    assert box.gather() == 1
    delivery = box.ready()[0]
    assert len(delivery.notes) == 3
    box.told(delivery, "told")
    with state.change() as db:
        outboxes.put(db, "c", note("4700_4", id="n4", array="4700"), group="g")
    clock.off = 120
    assert box.gather() == 0, "its group was told a moment ago"
    clock.off = 700
    assert box.gather() == 1


def test_an_arrays_tasks_that_are_noticed_poll_by_poll_are_one_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first fifty of a thousand are judged before the next are noticed; jobs that are no array's are told sooner."""
    clock = Clock(monkeypatch)
    state = filled(tmp_path, "c", [note(f"4700_{i}", id=f"n{i}", array="4700") for i in range(50)], group="array")
    with state.change() as db:
        outboxes.put(db, "c", note("4801", id="m"), group="lone")
    box = Outbox(state, "c", Policy())
    clock.off = 10
    assert box.gather() == 1
    assert [n["job"] for d in box.ready() for n in d.notes] == ["4801"]
    with state.change() as db:
        for i in range(50, 100):
            outboxes.put(db, "c", note(f"4700_{i}", id=f"n{i}", array="4700"), group="array")
    clock.off = 69
    assert box.gather() == 0
    clock.off = 71
    assert box.gather() == 1
    assert max(len(d.notes) for d in box.ready()) == 100


def test_a_group_that_never_ends_is_told_after_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    state = filled(tmp_path, "c", [note(array="4700")])
    state.add([attempt("4700_9", array="4700")])
    box = Outbox(state, "c", Policy(quiet_s=5, longest_s=60))
    clock.off = 61
    assert box.gather() == 1


def test_a_delivery_keeps_its_id_over_restarts_and_is_dropped_in_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes again later and later, also when the clock was set back, until its deadline."""
    clock = Clock(monkeypatch)
    policy = Policy(quiet_s=0, deadline_s=3600)
    state = filled(tmp_path, "c", [note()])
    Outbox(state, "c", policy).gather(now=True)
    first = Outbox(state, "c", policy).ready()[0]
    Outbox(state, "c", policy).failed(first, "no answer")
    again = Outbox(State(tmp_path), "c", policy)
    assert again.ready() == []
    clock.off = 30
    assert again.ready()[0].id == first.id
    for back in (-1e6, -7200.0):
        clock.off = back
        assert again.ready()[0].tries == 1, "a due time that lies farther ahead than any wait is a clock that jumped"
    clock.off = 100_000
    again.failed(again.ready()[0], "no answer")
    assert again.left() == 1, "a clock that jumped ahead gives up nothing at its first failure"
    clock.off += 4000
    again.failed(again.ready()[0], "no answer")
    assert again.left() == 0
    assert state.ask("SELECT outcome FROM delivery") == [("dropped",)]


def test_each_job_is_a_delivery_where_a_channel_does_not_group(tmp_path: Path) -> None:
    state = filled(tmp_path, "c", [note(str(i), id=f"n{i}") for i in range(4)])
    box = Outbox(state, "c", Policy(group=False))
    box.gather()
    assert [len(d.notes) for d in box.ready()] == [1, 1, 1, 1]


@pytest.mark.parametrize(
    ("given", "wants"),
    [
        ({}, True),
        ({"families": frozenset({"B2"})}, False),
        ({"attributions": frozenset({"job"}), "partitions": frozenset({"batch"})}, True),
        ({"users": frozenset({"wen"})}, False),
        ({"min_gpu_hours": 3.0}, False),
    ],
)
def test_a_channel_is_told_what_it_wants(given: dict[str, object], wants: bool) -> None:
    assert Filter(**given).wants(note()) is wants  # type: ignore[arg-type]
    assert not Filter().wants(note(family="G1"))
    assert Filter(healthy=True).wants(note(family="G1"))
    assert not Filter(warnings=False).wants(note(kind="warning"))


def test_the_page_for_prometheus_counts_and_escapes(tmp_path: Path) -> None:
    """Over real HTTP; a partition of any name stays within its label."""
    import httpx

    state = State(tmp_path)
    part = 'a"} evil 1\n'
    state.add([attempt(partition=part)])
    settle(state, attempt(partition=part), SUMMARY, [])
    server = Server("127.0.0.1:0", lambda: page(state, {"inquest_watch_waiting": ("Waiting.", state.waiting())}))
    try:
        answer = httpx.get(f"http://127.0.0.1:{server.port}/metrics")
        missing = httpx.get(f"http://127.0.0.1:{server.port}/etc/passwd")
    finally:
        server.close()
    lines = answer.text.splitlines()
    assert 'inquest_verdicts_total{family="A3",attribution="job",partition="a\\"} evil 1?"} 1' in lines
    assert 'inquest_gpu_hours_wasted_total{family="A3",attribution="job",partition="a\\"} evil 1?"} 0.5' in lines
    assert "inquest_watch_waiting 0" in lines
    assert "# TYPE inquest_verdicts_total counter" in lines
    assert missing.status_code == 404


def test_what_ends_now_does_not_wait_behind_what_was_noticed_hours_late(tmp_path: Path) -> None:
    """After an outage each of them takes its turn: what has just ended can still have its verdict in time."""
    state, now = State(tmp_path), datetime.now(UTC)
    state.add(attempt(str(n), end_ts=(now - timedelta(hours=2)).isoformat()) for n in range(6))
    state.add(attempt(str(n), end_ts=now.isoformat()) for n in range(90, 93))
    assert [w.attempt.job_id for w in state.claim(4)] == ["90", "0", "91", "1"]
    assert len(state.claim(100)) == 5


def test_a_full_disk_is_told_as_that(tmp_path: Path) -> None:
    """SQLite takes back by itself what finds no room; the second taking back must not be what is complained about."""
    state = State(tmp_path)
    with pytest.raises(sqlite3.OperationalError, match="full"), state.change() as db:
        db.execute("ROLLBACK")
        raise sqlite3.OperationalError("database or disk is full")
    assert state.add([attempt()]) == 1


def test_the_page_says_every_digit(tmp_path: Path) -> None:
    """A time in seconds since 1970 has ten before the point, and counters go on counting after a million."""
    state = State(tmp_path)
    with state.change() as db:
        count(db, "late", 1_234_567.25)
        count(db, "verdicts", 1_000_001, "A3", "job", "batch")
    lines = page(state, {"inquest_watch_last_poll_timestamp_seconds": ("When.", 1_796_005_474.125)}).splitlines()
    assert "inquest_watch_last_poll_timestamp_seconds 1796005474.125" in lines
    assert "inquest_seconds_to_verdict_sum 1234567.25" in lines
    assert 'inquest_verdicts_total{family="A3",attribution="job",partition="batch"} 1000001' in lines


def test_what_is_not_over_is_no_attempt(tmp_path: Path) -> None:
    """A running row, and one whose end is not known yet, wait."""
    from store.rows import SlurmJob

    rows = [
        SlurmJob(cluster="lab", job_id="1", state="RUNNING"),
        SlurmJob(cluster="lab", job_id="2", state="COMPLETED"),
    ]
    assert ended(rows, "lab") == []
    assert Accounts(tmp_path / "none").cluster == "lab"

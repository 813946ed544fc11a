"""The four live sources over recordings: what changed is told once, attempts are numbered, a death loses and doubles nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from collector.slurm.arrays import tasks
from collector.slurm.follow import follow
from collector.slurm.half import is_half
from collector.slurm.keep import keep
from collector.slurm.pace import SLOWEST, Pace
from collector.slurm.replay import Replay
from collector.sources.base import SourceUnavailable
from collector.sources.slurm_accounting import SlurmAccounting
from collector.sources.slurm_controller import SlurmController
from collector.sources.slurm_nodes import SlurmNodes
from collector.sources.slurm_queue import SlurmQueue
from store import Writer
from store.free_sql import run
from store.rows import Row, SlurmControllerSample, SlurmJob, SlurmJobEvent, SlurmNodeState, SlurmStep

T0 = datetime(2026, 3, 1, 10, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return T0 + timedelta(seconds=seconds)


@dataclass
class Fixed:
    """A clock that a test moves."""

    seconds: float = 0.0

    def steady(self) -> float:
        return self.seconds

    def now(self) -> datetime:
        return at(self.seconds)


JOB = SlurmJob(
    cluster="lab", ts=T0, job_id="7", attempt=1, job_id_raw="7", name="train", partition="gpu", qos="normal",
    state="PENDING", state_reason="Resources", restarts=0, submit_ts=T0, eligible_ts=T0, time_limit_s=3600.0,
)  # fmt: skip
RUNNING = replace(JOB, state="RUNNING", state_reason=None, start_ts=T0, node_list="gpu01")
ENDED = replace(RUNNING, state="FAILED", state_reason="NonZeroExitCode", exit_code=3, end_ts=at(50), ts=at(50))
QUIET = SlurmControllerSample(ts=T0, server_threads=3, agent_queue=0, dbd_agent_queue=0, rpc_count=1, rpc_time_us=10)


def queue(*answers: list[Row] | Exception, every_s: float = 15, state: Path | None = None) -> list[list[Row]]:
    """What a queue source gives, look by look."""
    clock = Fixed()
    source = SlurmQueue(Replay({"queue": answers}), state, clock=clock)
    found: list[list[Row]] = []
    for _ in answers:
        source.open()
        found.append(list(source.rows()))
        clock.seconds += every_s
    return found


def events(rows: list[Row]) -> list[tuple[str | None, int | None, datetime | None]]:
    return [(r.event, r.attempt, r.ts) for r in rows if isinstance(r, SlurmJobEvent)]


def test_a_jobs_life_is_told_step_by_step():
    """Each look gives what is new and nothing else; recorded times are Slurm's, a reason's time is the look's."""
    other = replace(JOB, state_reason="Priority")
    first, second, third, fourth, fifth = queue([JOB], [JOB], [other], [RUNNING], [ENDED])
    assert events(first) == [("submitted", 1, T0), ("eligible", 1, T0), ("blocked", 1, T0)]
    assert second == []
    assert events(third) == [("blocked", 1, at(30))]
    (blocked,) = [r for r in third if isinstance(r, SlurmJobEvent)]
    assert (blocked.reason, blocked.time_basis, blocked.earliest_ts) == ("Priority", "polled", at(15))
    assert events(fourth) == [("started", 1, T0)]
    assert events(fifth) == [("ended", 1, at(50))]
    assert all(r.observed for r in [*fourth, *fifth] if isinstance(r, SlurmJobEvent))


def test_suspension_updates_and_requeues_are_told():
    """Suspend and resume at the recorded time, a changed limit from what to what, a requeue where the restarts rise."""
    suspended = replace(RUNNING, state="SUSPENDED", suspend_ts=at(25))
    resumed = replace(RUNNING, suspend_ts=at(35))
    longer = replace(resumed, time_limit_s=7200.0)
    again = replace(JOB, attempt=2, restarts=1, submit_ts=at(55), eligible_ts=at(175), state_reason="BeginTime")
    told = [events(rows) for rows in queue([RUNNING], [suspended], [resumed], [longer], [again])]
    assert told[1:3] == [[("suspended", 1, at(25))], [("resumed", 1, at(35))]]
    assert told[3] == [("updated", 1, at(45))]
    assert told[4] == [("requeued", 1, at(55)), ("submitted", 2, at(55)), ("blocked", 2, at(60))]


def test_a_resumption_between_two_looks_is_told_afterwards():
    """Suspended at one look, ended at the next: the record's time of the resumption is kept, and is called inferred."""
    suspended = replace(RUNNING, state="SUSPENDED", suspend_ts=at(-5), start_ts=at(-20))
    over = replace(ENDED, suspend_ts=at(3), start_ts=at(-20), end_ts=at(10))
    _, second = queue([suspended], [over])
    assert [(r.event, r.ts, r.observed) for r in second if isinstance(r, SlurmJobEvent)] == [
        ("resumed", at(3), False),
        ("ended", at(10), True),
    ]
    killed = replace(over, suspend_ts=at(-5))
    _, second = queue([suspended], [killed])
    assert [e for e, _, _ in events(second)] == ["ended"], "it was ended while it was suspended"


def test_a_late_first_look_says_what_it_did_not_see():
    """A job that is running when we first look was submitted unseen."""
    (rows,) = queue([RUNNING])
    seen = {r.event: r.observed for r in rows if isinstance(r, SlurmJobEvent)}
    assert seen == {"submitted": False, "eligible": False, "started": True}


def test_an_estimate_is_no_event():
    """A job that may start in an hour is not yet eligible."""
    (rows,) = queue([replace(JOB, eligible_ts=at(3600))])
    assert [e for e, _, _ in events(rows)] == ["submitted", "blocked"]


def test_a_restarted_follower_tells_nothing_twice(tmp_path: Path):
    """The memory is a file: a new process goes on where the last one was; a broken file only costs a second reading."""
    clock = Fixed(10)

    def look() -> list[Row]:
        source = SlurmQueue(Replay({"queue": [[JOB]]}), tmp_path, clock=clock)
        source.open()
        rows = list(source.rows())
        source.close()
        return rows

    assert len(look()) == 4 and look() == []
    (tmp_path / "slurm_queue.json").write_text('{"version": 1, "jobs": {"7": "nonsense"}}')
    assert len(look()) == 4
    (tmp_path / "slurm_queue.json").write_text("{")
    assert len(look()) == 4


def test_waiting_array_tasks_are_jobs_of_their_own():
    """`7_[2-4:2,9%1]` is three jobs; one that starts is followed from waiting to running under its own name."""
    record = replace(JOB, job_id="7_[2-4:2,9%1]", array_job_id="7", array_task_id="2-4:2,9%1")
    assert [t.job_id for t in tasks(record)] == ["7_2", "7_4", "7_9"]
    rest = replace(record, job_id="7_[4,9%1]")
    started = replace(RUNNING, job_id="7_2", job_id_raw="8", array_job_id="7", array_task_id="2")
    _, second = queue([record], [rest, started])
    assert events(second) == [("started", 1, T0)]
    huge = replace(record, job_id="7_[0-999999]")
    assert len(list(tasks(huge))) == 1000


def test_a_job_that_vanishes_is_owed_to_accounting():
    """The controller forgot it between two looks: accounting is asked by id and tells its end."""
    clock = Fixed()
    asked = Replay({"queue": [[RUNNING], []], "accounting": [[], [], [ENDED]], "controller": [[QUIET]]})
    both = follow(asked, clock=clock)
    for source in (both.queue, both.accounting):
        source.open()
    list(both.queue.rows()), list(both.accounting.rows())
    clock.seconds = 60
    assert list(both.queue.rows()) == []
    told = list(both.accounting.rows())
    assert [(r.job_id, r.state) for r in told if isinstance(r, SlurmJob)] == [("7", "FAILED")]
    assert asked.asked[-1] == ("accounting", (at(0), None, ("7",)))


def accounting(answers: list[list[Row] | Exception], seconds: list[float], **more: list[list[Row]]) -> list[list[Row]]:
    """What an accounting source gives, look by look; a look that fails gives nothing."""
    clock = Fixed()
    access = Replay({"accounting": answers, "controller": [[QUIET]], **more})
    source = SlurmAccounting(access, clock=clock)
    found: list[list[Row]] = []
    for moment in seconds:
        clock.seconds = moment
        try:
            source.open()
            found.append(list(source.rows()))
        except SourceUnavailable:
            source.close()
            found.append([])
    return found


def test_overlapping_windows_give_a_row_once():
    """The window reaches back two minutes; what was given is not given again, what changed is."""
    step = SlurmStep(job_id="7", attempt=1, step_id="0", state="FAILED", ts=at(50), end_ts=at(50))
    changed = replace(ENDED, comment="a look at it")
    looks = accounting([[ENDED, step], [ENDED, step], [changed, step]], [60, 75, 90])
    assert [len(rows) for rows in looks] == [2, 0, 1]


def test_attempts_keep_their_numbers_when_only_the_last_one_shows():
    """slurmdbd gives no numbers: a second run that ends alone in its window is still the second."""
    first = replace(ENDED, state="PREEMPTED", restarts=None, submit_ts=at(100), start_ts=at(110), end_ts=at(150))
    second = replace(ENDED, restarts=None, submit_ts=at(150), start_ts=at(300), end_ts=at(900), ts=at(900))
    looks = accounting([[], [first], [second]], [60, 160, 910])
    numbers = [[(r.attempt, r.state) for r in rows if isinstance(r, SlurmJob)] for rows in looks]
    assert numbers == [[], [(1, "PREEMPTED")], [(2, "FAILED")]]
    assert ("requeued", 1, at(150)) in events(looks[2])


def test_a_job_from_before_is_asked_for_whole():
    """Submitted before we began to look: its earlier attempts are not in our memory, so it is asked for by its id."""
    early = at(-86_400)
    first = replace(ENDED, state="REQUEUED", restarts=None, submit_ts=early, start_ts=early, end_ts=at(-50_000))
    second = replace(ENDED, restarts=None, submit_ts=at(-50_000), start_ts=at(10), attempt=1)
    looks = accounting([[second], [first, replace(second, attempt=2)]], [60])
    numbers = [(r.attempt, r.state) for r in looks[0] if isinstance(r, SlurmJob)]
    assert numbers == [(1, "REQUEUED"), (2, "FAILED")]


def test_the_window_stays_open_while_records_are_on_their_way():
    """slurmdbd was away: until the controller has handed over what it held, the same window is read again."""
    held = replace(QUIET, ts=at(60), dbd_agent_queue=12)
    clock = Fixed(60)
    down = SourceUnavailable("slurmdbd is down", "systemctl restart slurmdbd")
    access = Replay({"accounting": [down, [], [ENDED]], "controller": [[held], [held], [replace(QUIET, ts=at(600))]]})
    source = SlurmAccounting(access, clock=clock)
    source.open()
    with pytest.raises(SourceUnavailable):
        list(source.rows())
    clock.seconds = 300
    assert list(source.rows()) == []
    clock.seconds = 600
    assert [r.job_id for r in source.rows() if isinstance(r, SlurmJob)] == ["7"]
    windows = [a[1][0] for a in access.asked if a[0] == "accounting" and a[1][2] is None]
    assert windows[1] == windows[2], "the window moved on over records that had not come"


def test_a_clock_that_was_set_back_asks_for_no_window_that_ends_before_it_begins():
    """sacct refuses such a one, and would until the clock is there again."""
    asked: list[tuple[datetime, datetime | None]] = []

    class Asked(Replay):
        def accounting(self, since: datetime, until: datetime | None = None, job_ids: Sequence[str] | None = None):
            if job_ids is None:
                asked.append((since, until))
            return super().accounting(since, until, job_ids)

    clock = Fixed(3 * 86400.0)
    source = SlurmAccounting(Asked({"accounting": [[], [ENDED]], "controller": [[QUIET]] * 2}), clock=clock)
    source.open()
    list(source.rows())
    clock.seconds = 60.0
    assert [r.job_id for r in source.rows() if isinstance(r, SlurmJob)] == ["7"]
    assert len(asked) == 2 and all(until is None or since < until <= clock.now() for since, until in asked[1:])


def test_half_a_record_is_not_given():
    """The end of a short job reaches slurmdbd before its beginning: no partition, no QOS, the array's task under a bare id."""
    half = replace(ENDED, partition=None, qos=None, name="allocation")
    assert is_half(half, at(60)) and not is_half(half, at(3600)) and not is_half(ENDED, at(60))
    assert is_half(replace(ENDED, end_ts=None), at(60)) and not is_half(RUNNING, at(60))


def test_nodes_are_intervals():
    """A state is told when it begins and, with its end, when it is over; a refusal of the events loses nothing."""
    idle = SlurmNodeState(node="gpu01", ts=at(0), state="IDLE", observed=True)
    down = SlurmNodeState(node="gpu01", ts=at(50), state="DOWN", reason="rack power", observed=True)
    clock = Fixed()
    away = SourceUnavailable("no sacctmgr", "apt-get install slurm-client")
    source = SlurmNodes(Replay({"nodes": [[idle], [idle], [down]], "node_events": [away]}), clock=clock)
    source.open()
    looks: list[list[Row]] = []
    for seconds in (0, 60, 120):
        clock.seconds = seconds
        looks.append(list(source.rows()))
    told = [[(r.state, r.ts, r.end_ts) for r in rows if isinstance(r, SlurmNodeState)] for rows in looks]
    assert told == [[("IDLE", at(0), None)], [], [("IDLE", at(0), at(120)), ("DOWN", at(50), None)]]
    assert "no sacctmgr" in source.missing["end_ts"]


@pytest.mark.parametrize(
    "busy",
    [
        replace(QUIET, server_threads=150),
        replace(QUIET, agent_queue=500),
        replace(QUIET, rpc_count=11, rpc_time_us=10 + 10 * 900_000),
    ],
)
def test_a_busy_controller_is_asked_less_often(busy: SlurmControllerSample):
    """By threads, by waiting messages, by the mean answer since the sample before; and back when it is over."""
    pace = Pace()
    pace.saw(QUIET)
    assert pace.interval(15, 0.1) == 15
    for _ in range(10):
        pace.saw(busy) if busy.rpc_count == 1 else (pace.saw(QUIET), pace.saw(busy))
    assert pace.factor in (2, SLOWEST)
    pace.saw(replace(QUIET, rpc_count=20, rpc_time_us=10 + 10 * 900_000))
    assert pace.factor < SLOWEST
    assert pace.interval(15, 2.0) >= 40, "a slow look must stretch the interval by itself"


def test_a_sample_of_the_controller_is_given_once():
    """The one that the pace took for accounting counts; it is not written twice."""
    clock = Fixed(5)
    source = SlurmController(Replay({"controller": [[QUIET]]}), clock=clock)
    source.open()
    assert len(list(source.rows())) == 1 and list(source.rows()) == []


class Died(BaseException):
    """A kill -9 at a chosen moment."""


@pytest.mark.parametrize("moment", ["before publishing", "after publishing", "before remembering"])
def test_a_death_at_any_moment_loses_and_doubles_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str):
    """What a look gave and what is remembered after it are written down as one: a new process finishes it."""
    lake = tmp_path / "lake"

    def fresh() -> SlurmQueue:
        return SlurmQueue(Replay({"queue": [[JOB]]}), lake / "slurm", clock=Fixed(10))

    writer = Writer(lake, durable=False)
    append = writer.append

    def dying(rows: list[Row], *, batch: str) -> object:
        if moment == "before publishing":
            raise Died
        append(rows, batch=batch)
        raise Died

    source = fresh()
    with pytest.MonkeyPatch.context() as patch, pytest.raises(Died):
        if moment == "before remembering":
            patch.setattr(source, "done", _dies_after(2))
        else:
            patch.setattr(writer, "append", dying)
        keep(writer, source)
    assert keep(Writer(lake, durable=False), fresh()) is None
    rows = run(lake, "SELECT event, count(*) AS n FROM slurm_job_event GROUP BY event ORDER BY event").rows
    assert rows == (("blocked", 1), ("eligible", 1), ("submitted", 1))


def _dies_after(calls: int) -> Callable[[], None]:
    left = [calls]

    def done() -> None:
        left[0] -= 1
        if left[0] <= 0:
            raise Died

    return done

"""The loop that drives live sources: each isolated, timed, retried, and recorded in `source_health`.

    loop = Loop(sources, sink, here)
    loop.run()          # until stop() or, with signals=True, SIGTERM or SIGINT

A source may say more than its Protocol asks for, and the loop takes it where it is there:
`bound_s`   how long a round may take before it counts as hung (default 2 s; with a higher one it gets a thread of its own)
`doing`     what it is waiting for, where that can hang
`rest`      gives, once at the end, rows that it had held back
`missing`   a mapping of columns that it cannot fill here to the reason: `source_health.missing_fields`
`blind`     a mapping of tables of which it sees nothing, while it works otherwise, to the reason: these are told as not looked at
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol, cast

from collector.node.clock import StepWatch
from collector.node.here import Here
from collector.node.lanes import Lanes, Runnable
from collector.node.watched import Watched
from collector.sources.base import Source, SourceUnavailable
from collector.topology.owners import Owner
from store.rows import HostEvent, Row, SourceHealth

BOUND_S = 2.0
TICK_S = 1.0
HEALTH_S = 300.0
FIRST_RETRY_S, LAST_RETRY_S = 1.0, 60.0
STOP_S = 5.0
PER_JOB = frozenset({"process", "cgroup_sample", "cuda_sample", "nccl_sample"})
"""Tables whose rows carry a job: their health is told for the node, and once more for each job on it."""


class Sink(Protocol):
    """Where rows go. Safe for threads, and never waits for a disk or a network."""

    def add(self, row: Row, *, every_s: float) -> None:
        """Take a row; `every_s` is how often its source looks (0 for what is not sampled)."""
        ...

    def tick(self) -> None:
        """Called about once a second."""
        ...


class Loop:
    """Runs sources until it is told to stop. `interval_s` is the least interval of any source."""

    def __init__(
        self,
        sources: Sequence[Source],
        sink: Sink,
        here: Here,
        *,
        interval_s: float = 0.0,
        shared_bound_s: float = BOUND_S,
        health_s: float = HEALTH_S,
        tick_s: float = TICK_S,
    ) -> None:
        self._sink, self._here = sink, here
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._step = StepWatch(here.clock)
        self._health_s, self._health_due = health_s, here.clock.steady() + health_s
        self._tick_s = tick_s
        self.tasks = [_Task(s, self._lock, sink, here, interval_s, self._notice_step) for s in sources]
        self._lanes = Lanes(cast("list[Runnable]", list(self.tasks)), here.clock, shared_bound_s, self._late)

    def run(self, *, signals: bool = False) -> list[str]:
        """Work until stopped. Gives the names of sources that hung and were left behind."""
        if signals:
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                signal.signal(number, self._told_to_stop)
        if self.tasks:
            self._lanes.start()
        while not self._stop.wait(self._tick_s):
            self.look()
        left = self._lanes.stop(STOP_S) if self.tasks else []
        self.tell_health()
        return left

    def once(self) -> None:
        """One round of each source, one after the other, each within its bound."""
        for task in self.tasks:
            thread = threading.Thread(target=task.round_and_finish, name=task.name, daemon=True)
            thread.start()
            thread.join(task.bound_s)
            if thread.is_alive():
                task.hung()
        self.tell_health()

    def stop(self) -> None:
        """End soon; from any thread."""
        self._stop.set()

    def _told_to_stop(self, _number: int, _frame: object) -> None:
        self._stop.set()

    def look(self) -> None:
        """What the watching thread does about once a second."""
        self._notice_step()
        self._lanes.look()
        if self._here.clock.steady() >= self._health_due:
            self.tell_health()
        self._sink.tick()

    def tell_health(self) -> None:
        """Write the `source_health` rows up to now."""
        self._notice_step()
        self._health_due = self._here.clock.steady() + self._health_s
        for task in self.tasks:
            task.tell_health()

    def _late(self, task: Runnable) -> None:
        cast("_Task", task).hung()

    def _notice_step(self) -> None:
        """Whoever is about to end a window asks first, in whatever thread: the step may be of this very moment."""
        with self._lock:
            jump = self._step.look()
            if jump is None:
                return
            after = self._here.clock.now()
            before = type(after).fromtimestamp(after.timestamp() - jump, after.tzinfo)
            for task in self.tasks:
                task.watched.stepped(before, after)
        text = f"the clock was set by {jump:+.3f} s, from {before:%Y-%m-%dT%H:%M:%S.%fZ}"
        self._sink.add(
            HostEvent(
                cluster=self._here.cluster,
                node=self._here.node,
                ts=after,
                origin="clock",
                event="clock_step",
                message=text,
            ),
            every_s=0,
        )


class _Task:
    """One source in the loop."""

    def __init__(
        self,
        source: Source,
        lock: threading.Lock,
        sink: Sink,
        here: Here,
        least_s: float,
        notice_step: Callable[[], None],
    ) -> None:
        self.name = source.name
        self.source = source
        self.bound_s: float = getattr(source, "bound_s", BOUND_S)
        self.watched = Watched(source.name, source.covers, here.node, here.cluster)
        self.due = here.clock.steady()
        self.rounds = 0
        self._lock, self._sink, self._here, self._least = lock, sink, here, least_s
        self._notice_step = notice_step
        self._open = False
        self._retry_s = FIRST_RETRY_S

    @property
    def every_s(self) -> float:
        """How often it looks."""
        return max(self.source.interval_s, self._least, 0.01)

    def round(self) -> None:
        """Open if need be, look once, and say what came of it."""
        clock = self._here.clock
        begun, since = clock.steady(), clock.now()
        counts: dict[str, int] = {}
        problem: str | None = None
        try:
            if not self._open:
                self.source.open()
                self._open = True
                since = clock.now()  # nobody looked while it got ready: probes take seconds to compile
            for row in self.source.rows():
                counts[row.TABLE] = counts.get(row.TABLE, 0) + 1
                self._sink.add(row, every_s=self.every_s)
        except SourceUnavailable as error:
            problem = error.reason + (f" (remedy: {error.remedy})" if error.remedy else "")
        except Exception as error:  # whatever a driver, a file or our own code does: the other sources go on
            problem = f"{type(error).__name__}: {str(error)[:300]}"
        took = clock.steady() - begun
        if problem is not None:
            self._let_go()
        else:
            self._retry_s = FIRST_RETRY_S
        self.rounds += 1
        self._notice_step()
        with self._lock:
            self._here.counters.rows += sum(counts.values())
            self.watched.saw(
                clock.now(),
                problem is None,
                message=problem,
                counts=counts,
                spent_s=took,
                missing=self._missing(),
                blind=getattr(self.source, "blind", None),
                since=since,
            )
        self._plan(begun, problem)

    def hung(self) -> None:
        """Called by the watching thread while a round takes too long."""
        with self._lock:
            self._here.counters.late_rounds += 1
            doing: str | None = getattr(self.source, "doing", None)
            text = f"no answer within {self.bound_s:g} s: it hangs" + (f" in {doing}" if doing else "")
            self.watched.saw(self._here.clock.now(), False, message=text)

    def finish(self) -> None:
        """The end: what the source still holds, then let go."""
        if not self._open:
            return
        rest: Callable[[], Iterable[Row]] = getattr(self.source, "rest", tuple)
        try:
            for row in rest():
                self._sink.add(row, every_s=0)
        except Exception as error:  # as in a round
            with self._lock:
                self.watched.saw(self._here.clock.now(), False, message=f"at the end: {type(error).__name__}: {error}")
        self._let_go()

    def round_and_finish(self) -> None:
        """One round, and no more."""
        self.round()
        self.finish()

    def tell_health(self) -> None:
        """Its `source_health` rows up to now, to the sink."""
        with self._lock:
            rows = self.watched.take(self._here.clock.now(), self._missing())
        for health in rows:
            row = replace(health, node=self._here.node)  # what slurmd's pod is called may have come to light since
            self._sink.add(row, every_s=0)
            if row.covers in PER_JOB:
                for owner in self._watched_jobs(row):
                    self._sink.add(replace(row, job_id=owner.job_id, attempt=owner.attempt), every_s=0)

    def _watched_jobs(self, row: SourceHealth) -> list[Owner]:
        """The jobs that were on this node in the window: to a question about a job, each of these is an answer."""
        owners = self._here.owners
        length = (row.end_ts - row.ts).total_seconds() if row.end_ts and row.ts else 0.0
        begun = self._here.clock.steady() - length
        return [*owners.jobs.values(), *(owner for at, owner in list(owners.ended.values()) if at >= begun)]

    def _missing(self) -> Mapping[str, str]:
        return getattr(self.source, "missing", {})

    def _let_go(self) -> None:
        self._open = False
        close: Callable[[], None] = self.source.close
        try:
            close()
        except Exception as error:  # a source that cannot even close has nothing left to lose
            with self._lock:
                self.watched.saw(self._here.clock.now(), False, message=f"close: {type(error).__name__}: {error}")

    def _plan(self, begun: float, problem: str | None) -> None:
        """The next round: on the beat of the interval, or later and later while it fails."""
        now = self._here.clock.steady()
        if problem is not None:
            self.due = now + max(self._retry_s, min(self.every_s, LAST_RETRY_S))
            self._retry_s = min(self._retry_s * 2, LAST_RETRY_S)
            return
        beat = self.every_s
        # On a common beat, so that sources of the same interval wake the processor once; beats that passed are left out.
        self.due = (now // beat + 1) * beat

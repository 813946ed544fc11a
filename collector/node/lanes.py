"""Threads that sources run in, so that one that hangs stops nobody else.

All quick sources share one lane, which costs one thread. A source whose round passes its bound keeps that thread, for a
call into a driver or a dead file system cannot be taken back; the others go on in a new lane. When the call returns
after all, the source works on in the lane that it has then for itself. So there are never more threads than sources.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol

from collector.node.clock import Clock


class Runnable(Protocol):
    """What a lane runs."""

    name: str
    bound_s: float
    due: float
    """When the next round should begin (steady seconds)."""

    def round(self) -> None:
        """One round; sets `due`; never raises."""
        ...

    def finish(self) -> None:
        """Let go of everything; never raises."""
        ...


class Lane:
    """One thread and what runs in it, in the order of when it is due."""

    def __init__(self, tasks: list[Runnable], clock: Clock) -> None:
        self.tasks = tasks
        self.current: Runnable | None = None
        self.begun = 0.0
        self._clock = clock
        self._wake = threading.Event()
        self._stop = False
        self._lock = threading.Lock()
        # A daemon: a thread that hangs in a driver must not keep the process from ending.
        self._thread = threading.Thread(target=self._run, name=f"lane-{tasks[0].name}", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """Ask it to end after the present round."""
        self._stop = True
        self._wake.set()

    def join(self, timeout_s: float) -> bool:
        """Wait for the end; False when it hangs."""
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def overdue(self, now: float) -> Runnable | None:
        """What has been running for longer than it may, if anything."""
        current = self.current
        return current if current is not None and now - self.begun > current.bound_s else None

    def part(self, stuck: Runnable) -> list[Runnable]:
        """Keep what hangs, and give the others, none of which this lane begins any more; none where it hangs no longer."""
        with self._lock:
            if self.current is not stuck:
                return []
            others = [t for t in self.tasks if t is not stuck]
            self.tasks = [stuck]
            return others

    def _begin(self, task: Runnable) -> bool:
        """Whether a task is this lane's and due; then it is what runs."""
        with self._lock:
            if task.due > self._clock.steady() or task not in self.tasks:
                return False
            self.begun = self._clock.steady()
            self.current = task
            return True

    def _run(self) -> None:
        while not self._stop:
            for task in sorted(self.tasks, key=lambda t: t.due):
                if self._stop:
                    break
                if self._begin(task):
                    task.round()
                    self.current = None
            if not self._stop:
                due = min((t.due for t in self.tasks), default=float("inf"))
                self._wake.wait(min(max(due - self._clock.steady(), 0.0), 60.0))
        for task in self.tasks:
            task.finish()


class Lanes:
    """All lanes. `late` is told of a task that passed its bound, once each time."""

    def __init__(self, tasks: list[Runnable], clock: Clock, shared_bound_s: float, late: Callable[[Runnable], None]):
        self._clock, self._late = clock, late
        quick = [t for t in tasks if t.bound_s <= shared_bound_s]
        self._lanes = [Lane(g, clock) for g in [quick, *([t] for t in tasks if t.bound_s > shared_bound_s)] if g]
        self._told: set[str] = set()

    def __len__(self) -> int:
        return len(self._lanes)

    def start(self) -> None:
        """Begin."""
        for lane in self._lanes:
            lane.start()

    def look(self) -> None:
        """Find what hangs, and let the others of its lane go on elsewhere."""
        now = self._clock.steady()
        for lane in list(self._lanes):
            stuck = lane.overdue(now)
            if stuck is None:
                self._told -= {t.name for t in lane.tasks}
                continue
            if stuck.name not in self._told:
                self._told.add(stuck.name)
                self._late(stuck)
            others = lane.part(stuck)
            if others:
                fresh = Lane(others, self._clock)
                self._lanes.append(fresh)
                fresh.start()

    def stop(self, timeout_s: float) -> list[str]:
        """End all; gives the names of what hangs and was left behind."""
        for lane in self._lanes:
            lane.stop()
        deadline = self._clock.steady() + timeout_s
        return [lane.tasks[0].name for lane in self._lanes if not lane.join(max(0.0, deadline - self._clock.steady()))]

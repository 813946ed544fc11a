"""What probes may take of the programs that they watch: where calls come too fast, the probes are there part of the time.

What a call pays hangs on its function's first instruction (bench/probes_bench.py): `push` and `nop` the kernel steps over by
itself, any other it single-steps, for thirty times as much. A process may lose only so much of its time to a group of probes. Where
it would lose more the group rests, and is attached for one window at a random moment of each stretch of time. What a window
counts stands for its stretch; how windows differ among each other tells how far that may be off.
"""

from __future__ import annotations

import os
import random
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import mean, stdev

from collector.ebpf.kernel import attach_uprobe, attach_uprobes

LAUNCH_LIMIT, OTHER_LIMIT = 0.007, 0.0025
"""Of a process's time, for each of the two groups: launches, and all other calls of the driver; together under a hundredth."""
INTERVAL_S, WINDOW_S = 10.0, 0.25
STEPPED_S, SIMPLE_S, RETURN_S = 15e-6, 0.5e-6, 1.2e-6
"""CPU time that a probe at a function's begin, single-stepped or not, and one at its return add to a call."""
WINDOWS = 12

Site = tuple[int, int, bool]
"""Place in the file, program, at the return."""


def stepped(code: bytes) -> bool:
    """Whether the kernel has to single-step the instruction that these bytes of an x86 program begin with."""
    begins = code[1:2] if code[:1] == b"\x41" else code[:1]
    return not (b"\x50" <= begins <= b"\x57" or code[:1] in (b"\x90", b"\xe9", b"\xeb") or code[:2] == b"\x0f\x1f")


@dataclass(slots=True)
class Gate:
    """A group of probes on one file. `counts` that it is given run on: calls of the group by process."""

    path: str
    sites: Sequence[Site]
    cost_s: float
    """What a call pays."""
    limit: float = LAUNCH_LIMIT
    fds: list[int] = field(default_factory=list[int])
    resting: bool = False
    rested: bool = False
    """At some time since `begin`."""
    refused: bool = False
    """Some place could not be probed: a count is a lower bound, and none says nothing."""
    stretch_s: float = 0.0
    _from: Mapping[int, int] = field(default_factory=dict[int, int])
    _stretch_at: float = 0.0
    _window_at: float = 0.0
    _rates: dict[int, deque[float]] = field(default_factory=dict[int, "deque[float]"])
    _carried: dict[int, float] = field(default_factory=dict[int, float])
    _credited: dict[int, int] = field(default_factory=dict[int, int])

    def attach(self) -> dict[str, str]:
        """Attach what is not attached. Gives what failed, by place, with the reason."""
        failed: dict[str, str] = {}
        together: dict[tuple[int, bool], list[int]] = {}
        for place, program, at_return in self.sites if not self.fds else ():
            together.setdefault((program, at_return), []).append(place)
        for (program, at_return), places in together.items():
            try:
                self.fds.append(attach_uprobes(program, self.path, places, at_return=at_return))
                continue
            except OSError:  # an older kernel, or a place that it refuses: which one is found out singly
                pass
            for place in places:
                try:
                    self.fds.append(attach_uprobe(program, self.path, place, at_return=at_return))
                except OSError as error:
                    failed[f"{self.path}+{place:#x}"] = str(error)[:200]
                    self.refused = True
        return failed

    def detach(self) -> None:
        """Detach all at once: one after the other the kernel would take a tenth of a second for each."""
        fds, self.fds = self.fds, []
        threads = [threading.Thread(target=os.close, args=(fd,), daemon=True) for fd in fds]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def begin(self, counts: Mapping[int, int]) -> None:
        """A new interval of rows."""
        self._from = counts
        self._credited = {}
        self.rested = self.resting

    def too_dear(self, counts: Mapping[int, int]) -> bool:
        """Whether some process has lost its share for a whole interval since `begin`."""
        most = max((n - self._from.get(pid, 0) for pid, n in counts.items()), default=0)
        return not self.resting and most * self.cost_s > self.limit * INTERVAL_S

    def rest(self, now: float, passed_s: float, counts: Mapping[int, int]) -> None:
        """From now on in windows only; `passed_s` is how long it took to count what came since `begin`."""
        most = max((n - self._from.get(pid, 0) for pid, n in counts.items()), default=0)
        self.resting = self.rested = True
        self._plan(now, most / max(passed_s, 0.1))
        self.detach()

    def due(self, now: float) -> bool:
        """Whether it is time for a window."""
        return self.resting and not self.fds and now >= self._window_at

    def window(self, now: float, length_s: float, counted: Mapping[int, int]) -> float:
        """A window has ended, in which so many calls were counted. Gives what each of them stands for.

        The probes are attached on when calls have become so few that they may stay.
        """
        for pid, n in counted.items():
            self._rates.setdefault(pid, deque(maxlen=WINDOWS)).append(n / length_s)
            self._credited[pid] = self._credited.get(pid, 0) + 1
        most = max(counted.values(), default=0) / length_s
        passed = now - self._stretch_at
        if most * self.cost_s < self.limit / 2:
            self.resting = False
            self._rates.clear()
            return passed / length_s
        stands_for = max(self.stretch_s, passed)
        self._plan(self._stretch_at + stands_for, most)
        return stands_for / length_s

    def error(self, pid: int) -> float | None:
        """One standard error of a process's estimated calls, relative to them; None where it cannot be told yet."""
        rates = self._rates.get(pid)
        if rates is None or len(rates) < 3 or not any(rates):
            return None
        return stdev(rates) / mean(rates) / max(self._credited.get(pid, 0), 1) ** 0.5

    def open_end(self, pid: int, now: float) -> float:
        """Calls of a process since the last stretch that was credited; negative where a stretch was credited beyond now."""
        rates = self._rates.get(pid)
        carried = (now - self._stretch_at) * mean(list(rates)[-4:]) if self.resting and rates else 0.0
        before, self._carried[pid] = self._carried.get(pid, 0.0), carried
        return carried - before

    def forget(self, pid: int) -> None:
        """A process has ended."""
        self._carried.pop(pid, None)
        self._rates.pop(pid, None)
        self._credited.pop(pid, None)

    def _plan(self, now: float, rate: float) -> None:
        """The next stretch, and when in it the window begins."""
        self._stretch_at, self.stretch_s = now, WINDOW_S * max(1.0, rate * self.cost_s / self.limit)
        self._window_at = now + random.uniform(0, self.stretch_s - WINDOW_S)

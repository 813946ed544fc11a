"""Groups of probes that cost too much are made to rest, and are there for short windows: pace.py, applied to what is probed now."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from collector.ebpf import cuda, pace
from collector.ebpf.libraries import Libraries

Counted = tuple[int, pace.Gate, set[int]]
"""A group of calls, what is probed for it on one file, and the processes that make them."""


@dataclass(slots=True)
class Windows:
    """Looks once a second after all groups. A round with a window in it takes up to a second, and no CPU time to speak of."""

    calls: cuda.Calls
    libraries: Libraries
    steady: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    _begun: float = field(default=0.0)

    def begin(self) -> None:
        """A new interval of rows."""
        self._begun = self.steady()
        counts = self.calls.taken
        for group, gate, pids in self.libraries.gates():
            gate.begin(_of(counts, pids, group))

    def look(self, *, sampling: bool) -> None:
        """Make rest what has become too dear, and hold the windows that are due. What is cheap is asked only with a sample."""
        gates = list(self.libraries.gates())
        awake = [g for g in gates if not g[1].resting and (sampling or g[1].cost_s > pace.STEPPED_S / 2)]
        if awake:
            counts, now = self.calls.now(), self.steady()
            for group, gate, pids in awake:
                mine = _of(counts, pids, group)
                if gate.too_dear(mine):
                    gate.rest(now, now - self._begun, mine)
        due = [g for g in gates if g[1].due(self.steady())]
        if due:
            self._hold(due)

    def _hold(self, due: list[Counted]) -> None:
        # Out of step with what is watched, as our rounds may not be.
        self.sleep(random.uniform(0, 2 * pace.WINDOW_S))
        self.libraries.reach()
        for _group, gate, _pids in due:
            self.libraries.note(gate.attach())
        begun, before = self.steady(), self.calls.now()
        self.sleep(pace.WINDOW_S)
        # Before they are taken away, which takes its time on a busy host: what is counted meanwhile is of no window.
        ended, after = self.steady(), self.calls.now()
        for _group, gate, _pids in due:
            gate.detach()
        self.libraries.reach()
        for group, gate, pids in due:
            old = {pid: before[pid] for pid in pids if pid in before}
            new = {pid: after[pid] for pid in pids if pid in after}
            at = _of(old, pids, group)
            counted = {pid: n - at.get(pid, 0) for pid, n in _of(new, pids, group).items()}
            self.calls.stand_for(group, old, new, gate.window(ended, ended - begun, counted))
            if not gate.resting:
                self.libraries.note(gate.attach())

    def unlike(self) -> list[Counted]:
        """The groups whose counts are not all there is, or estimates: mostly none."""
        return [g for g in self.libraries.gates() if g[1].refused or g[1].rested]

    def told(self, used: cuda.Used, unlike: Sequence[Counted]) -> dict[str, Any]:
        """What a row says otherwise where its counts are estimates, and how far they may be off, or where they say nothing.

        `unlike` is asked for once for the rows of all processes.
        """
        estimated: list[str] = []
        told: dict[str, Any] = {}
        for group, gate, pids in unlike:
            if gate.refused and used.pid in pids:
                told |= {column: None for column, counter in cuda.COLUMNS[group].items() if not getattr(used, counter)}
            if not gate.rested or used.pid not in pids:
                continue
            if group == cuda.LAUNCHES:
                launches = used.launches + gate.open_end(used.pid, self.steady())
                told |= {"launches": max(round(launches), 0), "max_launch_gap_s": None}
            name = "launches" if group == cuda.LAUNCHES else "calls"
            estimated.append(name)
            told[f"{name}_error"] = gate.error(used.pid)
        if estimated:
            told["estimated"] = "both" if len(estimated) > 1 else estimated[0]
        return told

    def forget(self, pid: int) -> None:
        """A process has ended."""
        for _group, gate, _pids in self.libraries.gates():
            gate.forget(pid)


def _of(counts: cuda.Counts, pids: Iterable[int], group: int) -> dict[int, int]:
    return {pid: counts[pid][group] for pid in pids if pid in counts}

"""cuda.bpf.c's other half: which functions of the driver's library it counts, and its counters as rows.

A launch is counted when it is enqueued. The runtime, in whatever soname or linked into a wheel, comes down to these calls.
Launches are not timed (a probe at the return would double what a launch pays): `api_time_s` is that of the other calls.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from collector.ebpf.kernel import Map

_LAUNCHES = (
    "cuLaunchKernel", "cuLaunchKernelEx", "cuLaunchCooperativeKernel", "cuLaunchCooperativeKernelMultiDevice",
)  # fmt: skip
_CALLS = ("cuMemAlloc_v2", "cuMemFree_v2", "cuModuleLoadData", "cuModuleLoadDataEx", "cuLibraryLoadData")
_SYNCS = ("cuCtxSynchronize", "cuStreamSynchronize", "cuStreamSynchronize_ptsz", "cuEventSynchronize")
_COPIES = {"copy_h2d": "cuMemcpyHtoD", "copy_d2h": "cuMemcpyDtoH", "copy_d2d": "cuMemcpyDtoD"}
_CONTEXTS = ("cuCtxCreate", "cuCtxCreate_v2", "cuCtxCreate_v3", "cuCtxCreate_v4", "cuDevicePrimaryCtxRetain")


def _timed(names: tuple[str, ...], program: str) -> list[tuple[str, str, bool]]:
    return [entry for n in names for entry in ((n, program, False), (n, "leave", True))]


PROBES: tuple[tuple[str, str, bool], ...] = (
    *((n + suffix, "launch", False) for n in _LAUNCHES for suffix in ("", "_ptsz")),
    *_timed(("cuGraphLaunch", "cuGraphLaunch_ptsz"), "graph"),
    *_timed(_CALLS, "call"),
    *_timed(_SYNCS, "sync"),
    *(
        entry
        for program, name in _COPIES.items()
        for entry in _timed((f"{name}_v2", f"{name}_v2_ptds", f"{name}Async_v2", f"{name}Async_v2_ptsz"), program)
    ),
    *_timed(("cuMemcpyPeer", "cuMemcpyPeer_ptds", "cuMemcpyPeerAsync", "cuMemcpyPeerAsync_ptsz"), "copy_peer"),
    *((n, "attached", True) for n in _CONTEXTS),
)
"""Symbol, program, at its return."""

KEY, VALUE = "=I", "=10QII"
LAUNCHES, OTHERS = 0, 9
"""Where the counts of the two groups of calls stand in a value: launches, and all that are timed."""
GROUPS: dict[int, tuple[int, ...]] = {LAUNCHES: (0,), OTHERS: (1, 2, 3, 4, 5, 6)}
"""The counters that each group feeds."""
COLUMNS: dict[int, dict[str, str]] = {
    LAUNCHES: {"launches": "launches", "max_launch_gap_s": "launches"},
    OTHERS: {
        "graph_launches": "graphs",
        "api_time_s": "api_s",
        "sync_time_s": "sync_s",
        "h2d_bytes": "h2d",
        "d2h_bytes": "d2h",
        "d2d_bytes": "d2d",
    },
}
"""The columns that each group fills, with what a reading calls them."""


def groups() -> Iterator[tuple[int | None, list[tuple[str, str, bool]]]]:
    """The probes by the group of calls that they count; those of None are rare and never rest."""
    named = {"launch": LAUNCHES, "attached": None}
    for group in (LAUNCHES, OTHERS, None):
        yield group, [probe for probe in PROBES if named.get(probe[1], OTHERS) == group]


@dataclass(frozen=True, slots=True)
class Used:
    """What a process asked of CUDA in an interval."""

    pid: int
    attached: bool
    launches: int
    graphs: int
    h2d: int
    d2h: int
    d2d: int
    api_s: float
    sync_s: float
    gap_s: float | None

    def counts(self) -> dict[str, Any]:
        """By column."""
        return {
            "launches": self.launches,
            "graph_launches": self.graphs,
            "api_time_s": self.api_s,
            "sync_time_s": self.sync_s,
            "max_launch_gap_s": self.gap_s,
            "h2d_bytes": self.h2d,
            "d2h_bytes": self.d2h,
            "d2d_bytes": self.d2d,
        }


Counts = dict[int, tuple[int, ...]]
"""All counters by process."""


@dataclass(slots=True)
class Calls:
    """Reads the counters: each reading gives what came since the one before."""

    calls: Map
    epoch: Map
    _before: dict[int, tuple[int, ...]] = field(default_factory=dict[int, tuple[int, ...]])
    _more: dict[int, list[float]] = field(default_factory=dict[int, list[float]])
    """What counted calls stand for beyond themselves, where probes rest."""
    _number: int = 1

    def begin(self) -> None:
        """The first interval."""
        self.epoch.put((0,), (self._number,))

    def now(self) -> Counts:
        """The counters as they stand; they run on."""
        return {pid: value for (pid,), value in self.calls.items()}

    @property
    def taken(self) -> Counts:
        """The counters as they were when rows were last made of them; of those that have ended perhaps, too."""
        return dict(self._before)

    def stand_for(self, group: int, before: Counts, after: Counts, each: float) -> None:
        """What calls of a group added between two readings stands for `each` times as much."""
        for pid, value in after.items():
            was = before.get(pid, (0,) * len(value))
            more = self._more.setdefault(pid, [0.0] * 7)
            for at in GROUPS[group]:
                more[at] += (value[at] - was[at]) * (each - 1)

    def take(self) -> Iterator[Used]:
        """All processes."""
        for (pid,), value in self.calls.items():
            yield self._since(pid, value)
        self._number += 1
        self.epoch.put((0,), (self._number,))

    def last(self, pid: int) -> Used | None:
        """A process that has ended: its last words; the entry is removed."""
        value = self.calls.get(pid)
        if value is None:
            return None
        used = self._since(pid, tuple(int(v) for v in value))
        self.calls.delete(pid)
        self._before.pop(pid, None)
        self._more.pop(pid, None)
        return used

    def _since(self, pid: int, value: tuple[int, ...]) -> Used:
        before = self._before.get(pid, (0,) * len(value))
        self._before[pid] = value
        more = self._more.pop(pid, None) or (0,) * 7
        new = [now - then + round(add) for now, then, add in zip(value[:7], before[:7], more, strict=True)]
        gap = value[8] / 1e9 if value[10] == self._number and value[8] else None
        launched = bool(value[0] or value[1] or value[11])
        launches, graphs, h2d, d2h, d2d, api, sync = new
        return Used(pid, launched, launches, graphs, h2d, d2h, d2d, api / 1e9, sync / 1e9, gap)

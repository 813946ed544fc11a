"""Two tiers: a coarse row of each thing now and then, always; every sample of the last minutes in memory, written on a trigger.

A coarse row sums up the samples since the one before (see RULES). The ring's samples go to tables of their own
(`gpu_detail`, `link_detail`), so that what is averaged over a job is not weighted towards its bad minutes. What a source has of
these minutes that is finer than its samples comes as detail already, and is counted as such.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import fields
from datetime import datetime
from operator import attrgetter
from typing import Any

from collector.node.clock import Clock
from store.rows import (
    CgroupSample,
    GpuDetail,
    GpuEvent,
    GpuSample,
    HostEvent,
    HostSample,
    LinkDetail,
    LinkEvent,
    LinkSample,
    Process,
    Row,
)

COARSE_S = 15.0
BEFORE_S, AFTER_S = 120.0, 20.0
DETAIL_SHARE = 0.2
"""Of all time, at most this share is written in full, however often something triggers."""
FINER = 200
"""So many finer rows of each GPU a trigger may bring at most; each counts as one second that is written in full."""

MEAN, MOST, LEAST = "mean", "most", "least"
RULES: dict[type[Row], Mapping[str, str]] = {
    GpuSample: {
        **dict.fromkeys(("engine_active", "sm_active", "tensor_active", "dram_active", "power_w"), MEAN),
        **dict.fromkeys(("pcie_tx_bytes_s", "pcie_rx_bytes_s"), MEAN),
        **dict.fromkeys(("fb_used_bytes", "temp_c", "memory_temp_c", "processes"), MOST),
    },
    LinkSample: {},
    HostSample: {
        "memory_available_bytes": LEAST,
        "load1": MEAN,
        "cpu_busy": MEAN,
        **dict.fromkeys(("psi_cpu_some", "psi_memory_full", "psi_io_full", "swap_used_bytes"), MOST),
    },
    CgroupSample: {
        **dict.fromkeys(("memory_current_bytes", "shmem_bytes", "psi_memory_full", "psi_io_full"), MOST),
    },
}
"""How the samples of a table are summed up; what is not named is the last one's: counters, states, and throttle reasons with
the clock beside them, so that the share of rows with a reason is the share of time."""

IDENTITY: dict[type[Row], tuple[str, ...]] = {
    GpuSample: ("gpu_uuid", "gpu", "mig", "job_id", "attempt", "origin"),
    LinkSample: ("fabric", "device", "port", "job_id"),
    HostSample: ("origin", "filesystem"),
    CgroupSample: ("cgroup", "job_id"),
}
DETAIL: dict[type[Row], type[Row]] = {GpuSample: GpuDetail, LinkSample: LinkDetail}
_CALM = frozenset({"up", "boot", "clock_step", "driver_reload"})


class Tiers:
    """Sorts rows into the two tiers and gives what is to be kept to `keep`. A Sink of the loop; safe for threads."""

    def __init__(
        self,
        keep: Callable[[Row], None],
        clock: Clock,
        *,
        coarse_s: float = COARSE_S,
        before_s: float = BEFORE_S,
        after_s: float = AFTER_S,
        urgent: Callable[[str], None] | None = None,
    ) -> None:
        self._keep, self._clock, self._urgent = keep, clock, urgent
        self._coarse_s, self._before_s, self._after_s = coarse_s, before_s, after_s
        self._lock = threading.Lock()
        self._open: dict[tuple[Any, ...], _Coarse] = {}
        self._ring: deque[tuple[float, Row]] = deque()
        self._full_until = float("-inf")
        self._credit_s = self._most_s = before_s + after_s + FINER
        self._credit_at = clock.steady()
        self._finer: dict[Any, int] = {}
        """By GPU the finer rows of the present episode: a trigger and those that follow in its seconds."""
        self._finer_most = self._episode = 0
        self.triggers = 0

    def add(self, row: Row, *, every_s: float) -> None:
        """A row from a source."""
        kind = type(row)
        with self._lock:
            if kind in RULES and 0 < every_s < self._coarse_s:
                self._sample(kind, row, every_s)
            else:
                if kind is GpuDetail:
                    self._count(row)
                self._keep(row)
        reason = alarming(row)
        if reason is not None and self._recent(row):
            self.trigger(reason)

    def trigger(self, reason: str) -> None:
        """Something happened: keep the last minutes in full, and what follows for a while."""
        now = self._clock.steady()
        with self._lock:
            self.triggers += 1
            self._earn(now)
            if self._credit_s > 0:
                if now > self._full_until:
                    self._finer, self._finer_most = {}, 0
                    self._episode += 1
                self._full_until = max(self._full_until, now + self._after_s)
                self._credit_s -= now - self._ring[0][0] if self._ring else 0.0
                while self._ring:
                    self._write(self._ring.popleft()[1])
        if self._urgent is not None:
            self._urgent(reason)

    def finer(self) -> tuple[int, int]:
        """See `Here.finer`. What is left of the seconds in full comes first: a sample has every column, a finer row few."""
        now = self._clock.steady()
        if now > self._full_until:  # asked for every second
            return self._episode, 0
        with self._lock:
            self._earn(now)
            left = self._credit_s - (self._full_until - now)
            return self._episode, max(0, min(FINER - self._finer_most, int(left)))

    def tick(self) -> None:
        """Forget what is too old for the ring; finish the coarse rows of things that are no longer there."""
        now = self._clock.steady()
        with self._lock:
            self._forget(now)
            for key, coarse in list(self._open.items()):
                if now - coarse.begun > 2 * self._coarse_s:
                    self._keep(self._open.pop(key).row())

    def flush(self) -> None:
        """Give the coarse rows that are still open."""
        with self._lock:
            for coarse in self._open.values():
                self._keep(coarse.row())
            self._open.clear()

    def _recent(self, row: Row) -> bool:
        """What the kernel's log still tells of last week is evidence, and no reason to keep what the ring holds now."""
        at = row.end_ts if isinstance(row, Process) else row.ts
        return at is None or (self._clock.now() - at).total_seconds() <= self._before_s

    def _sample(self, kind: type[Row], row: Row, every_s: float) -> None:
        now = self._clock.steady()
        key = (kind, _IDENTIFY[kind](row))
        coarse = self._open.get(key)
        if coarse is None:
            coarse = self._open[key] = _Coarse(kind, now, every_s)
        coarse.add(row)
        if now - coarse.begun + 1.5 * every_s > self._coarse_s:
            del self._open[key]
            self._keep(coarse.row())
        if kind in DETAIL:
            self._earn(now)
            if now <= self._full_until and self._credit_s > 0:
                self._write(row)
            else:
                self._ring.append((now, row))
                self._forget(now)

    def _forget(self, now: float) -> None:
        while self._ring and now - self._ring[0][0] > self._before_s:
            self._ring.popleft()

    def _earn(self, now: float) -> None:
        """Seconds of full detail are earned as time goes by and spent while detail is written."""
        passed = now - self._credit_at
        self._credit_at = now
        spent = min(passed, max(0.0, self._full_until - (now - passed)))
        self._credit_s = min(self._credit_s + passed * DETAIL_SHARE - spent, self._most_s)

    def _count(self, row: Row) -> None:
        """A finer row: the GPU that has the most of them says how many seconds in full all of them are."""
        gpu = _IDENTIFY[GpuSample](row)
        count = self._finer[gpu] = self._finer.get(gpu, 0) + 1
        if count > self._finer_most:
            self._finer_most = count
            self._credit_s -= 1

    def _write(self, row: Row) -> None:
        detail = DETAIL[type(row)]
        self._keep(detail(**{f.name: getattr(row, f.name) for f in fields(row)}))  # type: ignore[arg-type]


class _Coarse:
    """The samples of one thing since its last coarse row."""

    __slots__ = ("_count", "_every", "_first", "_kind", "_last", "_sums", "begun")

    def __init__(self, kind: type[Row], begun: float, every_s: float) -> None:
        self.begun = begun
        self._kind, self._every = kind, every_s
        self._count = 0
        self._first: datetime | None = None
        self._last: Row | None = None
        self._sums: dict[str, tuple[float, int]] = {}

    def add(self, row: Row) -> None:
        self._count += 1
        self._last = row
        sums = self._sums
        for name, rule in _LISTED[self._kind]:
            value = getattr(row, name)
            if value is None:
                continue
            have = sums.get(name)
            if have is None:
                sums[name] = (value, 1)
            elif rule is MEAN:
                sums[name] = (have[0] + value, have[1] + 1)
            elif rule is MOST:
                if value > have[0]:
                    sums[name] = (value, 1)
            elif value < have[0]:
                sums[name] = (value, 1)

    def row(self) -> Row:
        last = self._last
        assert last is not None
        values = {f: getattr(last, f) for f in _FIELDS[self._kind]}
        for name, rule in _LISTED[self._kind]:
            have = self._sums.get(name)
            if have is not None:
                values[name] = have[0] / have[1] if rule is MEAN else have[0]
        if "interval_s" in values and values["interval_s"] is None:
            values["interval_s"] = self._count * self._every
        return self._kind(**values)


_IDENTIFY: dict[type[Row], Callable[[Any], Any]] = {kind: attrgetter(*names) for kind, names in IDENTITY.items()}
_LISTED: dict[type[Row], tuple[tuple[str, str], ...]] = {kind: tuple(rules.items()) for kind, rules in RULES.items()}
_FIELDS: dict[type[Row], tuple[str, ...]] = {kind: tuple(f.name for f in fields(kind)) for kind in RULES}


def alarming(row: Row) -> str | None:
    """Why the minutes around this row should be kept in full; None for most rows."""
    if isinstance(row, GpuEvent | HostEvent | LinkEvent):
        return None if row.event in _CALM else f"{row.TABLE}: {row.event}"
    if isinstance(row, Process) and row.end_ts is not None and (row.exit_code or row.exit_signal or row.oom_killed):
        return "a process of a job ended abnormally"
    return None

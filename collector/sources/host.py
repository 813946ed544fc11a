"""The host itself: load, CPU, memory, pressure, disks, interfaces, boot, and how far its clock is off.

SOURCE  /proc/{loadavg,stat,meminfo,vmstat,pressure,diskstats,net/dev}, adjtimex(2).
ROWS    host_sample.
OVERHEAD  about 1 ms every five seconds, most of it the kernel's work on /proc/stat.
CAVEAT  the clock's offset is the kernel's own estimate: NULL where nothing disciplines the clock.

    some avg10=97.87 avg60=94.94 avg300=89.92 total=7803511797      (/proc/pressure/cpu)
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any, ClassVar

from collector.formats.device_names import NO_DISK, NO_NET
from collector.node.here import Here
from collector.sources.base import SourceUnavailable
from collector.topology.processes import boot_time
from store import lazy
from store.rows import HostSample, Row

_PRESSURE = lazy.compile(r"^(some|full) avg10=([\d.]+)", re.MULTILINE)
_PARTITION = lazy.compile(r"(?:nvme\d+n\d+p|mmcblk\d+p|[shv]d[a-z]+|xvd[a-z]+)\d+$")
SECTOR = 512


class Host:
    """One row about the host every five seconds."""

    name: ClassVar[str] = "host"
    covers: ClassVar[tuple[str, ...]] = ("host_sample",)

    def __init__(self, here: Here, offset: Callable[[], float | None] | None = None) -> None:
        self._here = here
        self._offset = offset or clock_offset
        self._boot: datetime | None = None
        self._cpu: tuple[int, int] | None = None
        self.missing: dict[str, str] = {}

    @property
    def interval_s(self) -> float:
        """Seconds."""
        return 5.0

    def open(self) -> None:
        """Find /proc."""
        try:
            self._boot = boot_time(self._here.proc)
        except OSError as error:
            raise SourceUnavailable(f"cannot read {self._here.proc}: {error}", "mount /proc of the host") from None
        if not (self._here.proc / "pressure/cpu").exists():
            why = "this kernel gives no pressure (PSI): boot with psi=1"
            self.missing.update(dict.fromkeys(("psi_cpu_some", "psi_memory_full", "psi_io_full"), why))

    def rows(self) -> Iterator[Row]:
        """One row."""
        values: dict[str, Any] = {}
        for part in (self._load, self._processors, self._memory, self._pressure, self._disks, self._interfaces):
            try:
                part(values)
            except (OSError, ValueError, IndexError, KeyError) as error:
                self.missing[part.__name__.strip("_")] = f"{type(error).__name__}: {error}"[:120]
        offset = self._offset()
        if offset is None:
            self.missing["clock_offset_s"] = "nothing disciplines the clock: run chrony, ntpd or a PTP daemon"
        else:
            self.missing.pop("clock_offset_s", None)
        yield HostSample(
            cluster=self._here.cluster,
            node=self._here.node,
            ts=self._here.clock.now(),
            origin=self.name,
            boot_ts=self._boot,
            clock_offset_s=offset,
            **values,
        )

    def close(self) -> None:
        """Nothing is held."""

    def _text(self, name: str) -> str:
        return (self._here.proc / name).read_text("utf-8", "replace")

    def _load(self, to: dict[str, Any]) -> None:
        to["load1"] = float(self._text("loadavg").split()[0])

    def _processors(self, to: dict[str, Any]) -> None:
        with (self._here.proc / "stat").open("rb") as file:
            ticks = [int(n) for n in file.readline().split()[1:9]]
        idle = ticks[3] + ticks[4]
        now, before = (idle, sum(ticks)), self._cpu
        self._cpu = now
        if before is not None and now[1] > before[1]:
            to["cpu_busy"] = 1 - (now[0] - before[0]) / (now[1] - before[1])

    def _memory(self, to: dict[str, Any]) -> None:
        sizes = {line.split(":")[0]: int(line.split()[1]) * 1024 for line in self._text("meminfo").splitlines()[:20]}
        to["memory_total_bytes"], to["memory_available_bytes"] = sizes["MemTotal"], sizes["MemAvailable"]
        if "SwapTotal" in sizes:
            to["swap_used_bytes"] = sizes["SwapTotal"] - sizes["SwapFree"]
        found = re.search(r"^oom_kill (\d+)$", self._text("vmstat"), re.MULTILINE)
        to["oom_kills"] = int(found[1]) if found else None

    def _pressure(self, to: dict[str, Any]) -> None:
        for column, name, kind in (
            ("psi_cpu_some", "cpu", "some"),
            ("psi_memory_full", "memory", "full"),
            ("psi_io_full", "io", "full"),
        ):
            if column not in self.missing:
                to[column] = {k: float(v) for k, v in _PRESSURE.findall(self._text(f"pressure/{name}"))}[kind]

    def _disks(self, to: dict[str, Any]) -> None:
        read = written = 0
        for line in self._text("diskstats").splitlines():
            f = line.split()
            if len(f) >= 10 and not NO_DISK.match(f[2]) and not _PARTITION.match(f[2]):
                read, written = read + int(f[5]), written + int(f[9])
        to["disk_read_bytes"], to["disk_written_bytes"] = read * SECTOR, written * SECTOR

    def _interfaces(self, to: dict[str, Any]) -> None:
        received = sent = 0
        for line in self._text("net/dev").splitlines()[2:]:
            name, _, rest = line.partition(":")
            if not NO_NET.match(name.strip()):
                f = rest.split()
                received, sent = received + int(f[0]), sent + int(f[8])
        to["net_rx_bytes"], to["net_tx_bytes"] = received, sent


class _Timex(ctypes.Structure):
    _fields_ = (
        ("modes", ctypes.c_uint),
        ("offset", ctypes.c_long),
        ("freq", ctypes.c_long),
        ("maxerror", ctypes.c_long),
        ("esterror", ctypes.c_long),
        ("status", ctypes.c_int),
        ("rest", ctypes.c_char * 256),
    )


_UNSYNC, _NANO, _ERROR = 0x0040, 0x2000, 5


def clock_offset() -> float | None:
    """The kernel's estimate of the clock's offset (s); None where the clock is not disciplined."""
    timex = _Timex()
    try:
        state = ctypes.CDLL(None, use_errno=True).adjtimex(ctypes.byref(timex))
    except (OSError, AttributeError):
        return None
    if state < 0 or state == _ERROR or timex.status & _UNSYNC:
        return None
    return timex.offset * (1e-9 if timex.status & _NANO else 1e-6)

"""The kernel's log as it is written: XIDs, OOM kills, hung tasks, machine checks, storage stalls, links.

SOURCE  /dev/kmsg, from where the last collector stopped (same boot), else from the beginning of the ring.
ROWS    gpu_event, host_event, link_event; classified as the importer of kernel logs does.
OVERHEAD  one read per message; nothing is parsed that holds none of the telling words.
CAVEAT  times since boot are made absolute with the clock of now. Lines that user programs write to /dev/kmsg are left out:
        only the kernel's word is evidence. What the ring overwrote before it was read is counted in source_health.

    4,1120,206764307,-;NVRM: Xid (PCI:0000:1b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

from collector.formats.kernel_events import Event, Recogniser
from collector.node.here import Here
from collector.sources.base import SourceUnavailable
from collector.topology.cgroup_paths import place
from collector.topology.owners import NOBODY
from store import lazy
from store.rows import GpuEvent, HostEvent, LinkEvent, Row

_TYPES = {"gpu_event": GpuEvent, "host_event": HostEvent, "link_event": LinkEvent}
_RECORD = lazy.compile(rb"(\d{1,4}),(\d{1,18}),(\d{1,18}),[^;]*;([^\n]*)")
_AT_ONCE = 20_000


class KernelLog:
    """Reads /dev/kmsg without waiting."""

    name: ClassVar[str] = "kernel_log"
    covers: ClassVar[tuple[str, ...]] = ("gpu_event", "host_event", "link_event")

    def __init__(self, here: Here, uptime: Callable[[], float] | None = None) -> None:
        self._here = here
        self._uptime = uptime or (lambda: time.clock_gettime(time.CLOCK_MONOTONIC))
        self._fd = -1
        self._next = 0
        self._recogniser = Recogniser()
        self._overrun = 0

    @property
    def interval_s(self) -> float:
        """Seconds."""
        return 1.0

    @property
    def missing(self) -> dict[str, str]:
        """What was overwritten before it was read."""
        return (
            {"message": f"{self._overrun} kernel messages were overwritten before they were read"}
            if self._overrun
            else {}
        )

    def open(self) -> None:
        """Open the device."""
        path = self._here.dev / "kmsg"
        try:
            self._fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except PermissionError:
            raise SourceUnavailable(f"may not read {path}", "sysctl kernel.dmesg_restrict=0 (or run as root)") from None
        except OSError as error:
            raise SourceUnavailable(
                f"{path}: {error.strerror}", "docker run --device /dev/kmsg ... (in a pod a hostPath)"
            ) from None
        self._next = self._remembered()

    def rows(self) -> Iterator[Row]:
        """Events since the last look."""
        boot = self._here.clock.now().timestamp() - self._uptime()
        told = False
        for raw in self._records():
            found = _RECORD.match(raw)
            if found is None:
                continue
            number = int(found[2])
            if number < self._next:
                continue
            if self._next and number > self._next:
                self._overrun += number - self._next
            self._next = number + 1
            if int(found[1]) >> 3:  # a user program's line, whatever it says
                continue
            ts = datetime.fromtimestamp(boot + int(found[3]) / 1e6, UTC)
            message = _unescaped(found[4])
            for event in self._recogniser.read(message, ts):
                told = True
                yield self._row(event)
        if told:
            self._remember()

    def rest(self) -> Iterator[Row]:
        """An OOM kill of which only the first line was written."""
        return (self._row(event) for event in self._recogniser.close())

    def close(self) -> None:
        """Let go; remember where."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
            self._remember()

    def _records(self) -> Iterator[bytes]:
        for _ in range(_AT_ONCE):
            try:
                raw = os.read(self._fd, 8192)
            except BlockingIOError:
                return
            except BrokenPipeError:  # the ring went round: the next read gives the oldest there is
                continue
            if not raw:
                return
            yield raw

    def _row(self, event: Event) -> Row:
        owners = self._here.owners
        fields: dict[str, Any] = dict(event.fields)
        ts: datetime = event.line
        if event.table == "gpu_event":
            bus = fields.get("pci_bus_id") or ""
            fields["gpu_uuid"] = fields.get("gpu_uuid") or owners.gpu_by_bus.get(bus)
            fields["gpu"] = next((n for n, u in owners.gpu_order.items() if u == fields["gpu_uuid"]), None)
        owner = owners.of_pid(fields.get("pid"))
        if owner.job_id is None and event.table == "gpu_event":
            owner = owners.of_gpu(fields.get("gpu_uuid"))
        cgroup = place(fields.get("cgroup") or "")
        named = cgroup.job or cgroup.sluid
        if named:
            shown = owners.names.get(named, cgroup.job)
            owner = owners.jobs.get(shown or "", NOBODY) if shown != owner.job_id else owner
            fields["job_id"] = shown
        fields["job_id"] = fields.get("job_id") or owner.job_id
        if fields["job_id"] == owner.job_id:
            fields["attempt"] = owner.attempt
        if fields.get("event") == "xid":
            owners.kernel_xids[(fields.get("pci_bus_id"), fields.get("xid"))] = self._here.clock.steady()
        return _TYPES[event.table](cluster=self._here.cluster, node=self._here.node, ts=ts, origin=self.name, **fields)

    def _cursor(self) -> Path | None:
        return self._here.state / "kernel_log" if self._here.state else None

    def _boot_id(self) -> str:
        try:
            return (self._here.proc / "sys/kernel/random/boot_id").read_text().strip()
        except OSError:
            return "unknown"

    def _remembered(self) -> int:
        """The number of the first message that no collector of this boot has read."""
        path = self._cursor()
        try:
            boot, _, number = path.read_text().partition(" ") if path else ("", "", "")
        except OSError:
            return self._next
        return max(self._next, int(number)) if boot == self._boot_id() and number.isdigit() else self._next

    def _remember(self) -> None:
        path = self._cursor()
        if path is None:
            return
        try:
            fresh = path.with_name(".kernel_log")
            fresh.write_text(f"{self._boot_id()} {self._next}")
            fresh.rename(path)
        except OSError:
            return  # the disk is full or away: after a restart some events are told twice


def _unescaped(raw: bytes) -> str:
    """The kernel writes control and non-ASCII bytes as \\xNN."""
    if b"\\x" in raw:
        raw = re.sub(rb"\\x([0-9a-f]{2})", lambda m: bytes([int(m[1], 16)]), raw)
    return raw.decode("utf-8", "replace")

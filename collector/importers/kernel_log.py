"""A node's kernel log: XIDs, OOM kills, crashes, storage stalls, links. See kernel_times for the printings that are read.

Of what other programs say in a journal only the words are read of those that end processes for want of memory (memory_daemons),
and of NVIDIA's Fabric Manager (fabric_words).

SOURCE  `dmesg -T`, `dmesg --time-format iso`, `journalctl -k -o short-iso` (or json), syslog, /dev/kmsg, pstore; `dmesg -t`
        where it holds nothing but what drivers say of devices.
ROWS    gpu_event, host_event, link_event. The file's name is the node's (`kernel/NODE.log`), else the host in the lines (line_hosts).
CAVEAT  times since boot become times only where the log holds the line in which the kernel set its clock.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC
from pathlib import Path
from typing import ClassVar, cast

from collector.formats.fabric_words import FabricWords, of_fabric
from collector.formats.kernel_events import Event, Recogniser, interesting
from collector.formats.kernel_times import LEVEL, Clock, Spoken
from collector.formats.line_hosts import LineHosts, hosts_of
from collector.formats.memory_daemons import DAEMONS, memory_kill
from collector.formats.text import decode, lines
from collector.formats.text import head as first_bytes
from collector.importers.base import ImportContext, ImportFailed
from store import lazy
from store.rows import GpuEvent, HostEvent, LinkEvent, Row

_TYPES = {"gpu_event": GpuEvent, "host_event": HostEvent, "link_event": LinkEvent}
_WORDS = lazy.compile(
    r"\bkernel:|NVRM|nvidia|amdgpu|mlx5|usb \d|ACPI|systemd\[1\]|EXT4-fs|XFS \(|oom|segfault|Linux version|cgroup|audit:|IPv6:|pci |nvme|CPU\d|Memory|"
    r"SCSI|scsi|ata\d|Lustre|nfs|mce|EDAC|Call Trace|RIP:|docker|cali|eth\d|bond\d|PM:|perf:|VFS:|watchdog"
)
_LEVEL = lazy.compile(rf"{LEVEL}\s")
# Who pastes a piece of the log copies the command along that printed it, behind a prompt or not.
_ASKED = lazy.compile(
    r"\s*(?:.{0,80}?[$#%>]\s*)?(?:sudo\s+)?(?:(?:dmesg|journalctl)(?:\s.*)?|(?:cat|tail|z?e?grep)\s.{0,200}/var/log/(?:messages|syslog|kern|dmesg)\b.*)"
)
_PLAIN = lazy.compile(
    r"(?:kernel: +)?(?:NVRM: |(?:nvidia|nvidia-\w+|pcieport|amdgpu|mlx5_core) [0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.\d: |nvidia-nv(?:switch|link)\d*: )"
)
# A date as programs' loggers write it too. Without a host behind it only dmesg does, and it counts microseconds and names its zone.
_DATED = lazy.compile(r"\s*\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?!,\d{6}(?:Z|[+-]\d\d:?\d\d)\s)")
_SLURM = lazy.compile(r"\bStepId=\d|oom[-_]kill events?\b")  # slurmstepd dates its lines as a kernel may, and is none
_LEADS = lazy.compile(r"\s*(?:[^\s\[\]<>]+ ){3,60}\S{1,40}:\s*")  # a sentence that leads to what stands below it


class KernelLog:
    """Reads kernel logs."""

    name: ClassVar[str] = "kernel_log"
    covers: ClassVar[tuple[str, ...]] = ("gpu_event", "host_event", "link_event")

    def claims(self, path: Path, head: bytes) -> int:
        """Nearly every line begins as a kernel log's does. A job's own log that quotes the kernel is none, nor is a logger's."""
        clock = Clock(UTC, None)
        texts = _begin(head)
        split = [(t, clock.split(t)) for t in texts]
        dated = [(t, s) for t, s in split if s is not None]
        texts = [t for t, s in split if s is not None or not t[:1].isspace()]
        told = path.parent.name == "kernel"
        spoken = [
            s
            for t, s in dated
            if (s.kernel or s.who in DAEMONS) and not _SLURM.search(t) and (told or s.host or not _DATED.match(t))
        ]
        if path.parent.name not in {"kernel", "logs"} and _syslog(dated, len(texts), head):
            return 91
        if not spoken:
            return 91 if _without_times(texts) and path.parent.name != "logs" else 0
        share = len(spoken) / len(texts)
        named = sum(1 for t in texts if _WORDS.search(t)) / len(texts)
        if told:
            return 97 if share > 0.2 else 0
        if path.parent.name == "logs" or share < 0.8:
            return 0
        boot = sum(1 for s in spoken if s.since_boot is not None) / len(texts)
        levelled = sum(1 for t in texts if _LEVEL.match(t)) / len(texts)
        return 92 if named > 0.2 or max(boot, levelled) > 0.8 else 0

    def rows(self, path: Path, ctx: ImportContext) -> Iterator[Row]:
        """Events in the file's order."""
        clock, recogniser, fabric = Clock(ctx.zone, ctx.modified, ctx.start), Recogniser(), FabricWords()
        hosts = LineHosts(ctx, hosts_of(path, Clock(ctx.zone, ctx.modified, ctx.start)))
        read = number = 0
        undated: list[int] = []
        ended: set[int] = set()  # processes that such a program has told of
        above: tuple[int, Spoken] | None = None  # the line that this one may go on from, and what it said until now
        plain = _without_times(_begin(first_bytes(path)))
        for number, line in lines(path, ctx):
            daemon = " to process " in line or "Killed /" in line or "abric" in line or "NVSwitch" in line
            wanted = recogniser.listing or daemon or interesting(line)
            if not wanted and number % 64 != 1:
                above = None
                continue
            spoken = clock.split(line)
            if spoken is None and above is not None and line[:1].isspace():
                # a message of several lines: only the first has a time
                begun, first = above
                spoken = replace(first, message=f"{first.message} {line.strip()}"[:2000])
                above = begun, spoken
            else:
                above = (number, spoken) if spoken is not None and spoken.kernel else None
            if spoken is None and plain and _PLAIN.match(line):
                spoken = Spoken(None, None, None, line.strip(), True)
            if spoken is not None and spoken.who in DAEMONS:
                read += 1
                ctx.saw(spoken.ts)
                if (fields := memory_kill(spoken.who, spoken.message)) is not None and fields.get("pid") not in ended:
                    ended.add(fields.get("pid") or -number)
                    yield _row(Event("host_event", fields, (number, spoken)), ctx, hosts, undated)
                continue
            if spoken is not None and of_fabric(spoken.who, spoken.message):
                read += 1
                ctx.saw(spoken.ts)
                if (fields := fabric.read(spoken.who, spoken.message)) is not None:
                    yield _row(Event("gpu_event", fields, (number, spoken)), ctx, hosts, undated)
                continue
            if spoken is None or not spoken.kernel:
                continue
            read += 1
            ctx.saw(spoken.ts)
            if wanted:
                for event in recogniser.read(spoken.message, (number, spoken)):
                    above = None  # it is told: what goes on below it is no second one
                    yield _row(event, ctx, hosts, undated)
        for event in recogniser.close():
            yield _row(event, ctx, hosts, undated)
        if number and not read:
            raise ImportFailed("no line begins as a kernel log's lines do")
        if undated:
            ctx.problem(
                f"{len(undated)} events have no time: they have none, or count from a boot whose moment the log does not tell"
            )


def _syslog(dated: list[tuple[str, Spoken]], of: int, head: bytes) -> bool:
    """Whether this is what a host's programs and its kernel said, one line each behind the host's name."""
    hosted = sum(1 for _, s in dated if s.host is not None)
    others = sum(1 for _, s in dated if s.host is not None and not s.kernel)
    return others > 0 and hosted >= 0.8 * of and b" kernel: " in head


def _begin(head: bytes) -> list[str]:
    texts = [t for t in decode(head[:32_768]).splitlines()[:200] if t.strip() and not _ASKED.fullmatch(t)]
    return texts[1:] if len(texts) > 1 and _LEADS.fullmatch(texts[0]) else texts


def _without_times(texts: list[str]) -> bool:
    """Whether nearly every line is a driver's word on a device, with nothing before it."""
    return bool(texts) and sum(1 for t in texts if _PLAIN.match(t)) >= 0.8 * len(texts)


def _row(event: Event, ctx: ImportContext, hosts: LineHosts, undated: list[int]) -> Row:
    number, spoken = cast("tuple[int, Spoken]", event.line)
    if spoken.ts is None:
        undated.append(number)
    return _TYPES[event.table](
        cluster=ctx.cluster,
        node=hosts.node(spoken.host),
        ts=spoken.ts,
        origin=f"{ctx.name}:{number}",
        **event.fields,
    )

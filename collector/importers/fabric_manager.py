"""What NVIDIA's Fabric Manager says, where it stands alone: its own log, or its unit's journal. Beside the kernel's lines `kernel_log` reads it.

SOURCE  /var/log/fabricmanager.log, `journalctl -u nvidia-fabricmanager` in every form that a kernel's log is read in.
ROWS    gpu_event `sxid` and `fabric`. The file's name is the node's (`kernel/NODE.log`), else the host in the lines.
CAVEAT  it knows of switches and links: that a GPU had no error is for the kernel's log to say, and not for the lack of one here.

    [Mar 01 2026 10:00:00] [ERROR] [tid 841] detected NVSwitch fatal error 22013 on fid 0 on NVSwitch pci bus id 00000000:C1:00.0 physical id 8 port 41
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC
from pathlib import Path
from typing import ClassVar

from collector.formats.fabric_words import FabricWords, of_fabric
from collector.formats.kernel_times import Clock
from collector.formats.text import decode, lines
from collector.importers.base import ImportContext, ImportFailed
from store.rows import GpuEvent, Row


class FabricManager:
    """Reads the Fabric Manager's own words."""

    name: ClassVar[str] = "fabric_manager"
    covers: ClassVar[tuple[str, ...]] = ("gpu_event",)

    def claims(self, path: Path, head: bytes) -> int:
        """Nearly every line is of the Fabric Manager, or of systemd on its service, and none is of the kernel."""
        clock = Clock(UTC, None)
        texts = [t for t in decode(head[:32_768]).splitlines()[:200] if t.strip()]
        spoken = [s for t in texts if (s := clock.split(t)) is not None]
        own = sum(1 for s in spoken if of_fabric(s.who, s.message))
        return 96 if own and own >= 0.8 * len(texts) and not any(s.kernel for s in spoken) else 0

    def rows(self, path: Path, ctx: ImportContext) -> Iterator[Row]:
        """Events in the file's order."""
        clock, words = Clock(ctx.zone, ctx.modified, ctx.start), FabricWords()
        read = number = undated = 0
        for number, line in lines(path, ctx):
            spoken = clock.split(line)
            if spoken is None or not of_fabric(spoken.who, spoken.message):
                continue
            read += 1
            ctx.saw(spoken.ts)
            fields = words.read(spoken.who, spoken.message)
            if fields is None:
                continue
            undated += spoken.ts is None
            node = ctx.node or spoken.host
            yield GpuEvent(cluster=ctx.cluster, node=node, ts=spoken.ts, origin=f"{ctx.name}:{number}", **fields)
        if number and not read:
            raise ImportFailed("no line is one of the Fabric Manager's")
        if undated:
            ctx.problem(f"{undated} events have no time")

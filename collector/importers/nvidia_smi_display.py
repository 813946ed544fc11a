"""What nvidia-smi and dcgmi print for people: the table, `-q`, `-q -x`, dmon; several of them, one after the other, in a capture.

SOURCE  nvidia-smi of any driver, dcgmi dmon; a capture in which each call stands above its output (`# $ nvidia-smi -q`).
ROWS    gpu_sample, gpu_device. The node is the file's name (`metrics/NODE.txt`).
CAVEAT  one moment, or rounds without times (dmon prints them with `-o DT`); pmon's processes are not kept. Times are local.

    Mon May  4 15:18:49 2026
    | NVIDIA-SMI 580.95.05              Driver Version: 580.95.05      CUDA Version: 13.0     |
    |   0  NVIDIA H100 80GB HBM3          On  |   00000000:1B:00.0 Off |                    0 |
    | N/A   33C    P0             71W /  700W |    1234MiB /  81559MiB |     97%      Default |
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import ClassVar

from collector.formats import slurm_values as sv
from collector.formats.smi_display import Displays, Shown
from collector.formats.text import decode, lines
from collector.importers.base import ImportContext, ImportFailed
from collector.importers.nvidia_smi import NvidiaSmi
from store import lazy
from store.rows import GpuDevice, GpuSample, Row

_CALL = lazy.compile(r"# \$ (?:/\S*/)?nvidia-smi\b")
_CTIME = r"\s*(?:[A-Z][a-z]{2} ){2}[ \d]\d \d\d:\d\d:\d\d \d{4}\s*$"
_KINDS = (
    (lazy.compile(r"\| NVIDIA-SMI \S+ "), lazy.compile(r"[|+][-=+| ]|" + _CTIME)),
    (
        lazy.compile(r"=+NVSMI LOG=+"),
        lazy.compile(r"=+NVSMI LOG=+|\s{4,}\S|GPU [0-9A-Fa-f]{4,8}:|[A-Z][\w /.()-]+ +: "),
    ),
    (lazy.compile(r"<nvidia_smi_log>"), lazy.compile(r"\s*<|\s+None$")),
    (lazy.compile(r"#\s*(?:Date\s+)?(?:Time\s+)?gpu\s+(?:pwr|pid|sm)\b"), lazy.compile(r"#|[\s\d:]*\d\s+[-\d]")),
    (lazy.compile(r"#Entity\s"), lazy.compile(r"#|GPU(?:-I)? \d+ |ID\s")),
)
"""How a display opens, and what its lines are."""
_FOREIGN = 2
_JOBS = lazy.compile(
    r"\W*(?:srun|slurmstepd|sbatch|salloc|docker|apptainer|Traceback|FATAL)\b|.{1,200}(?:: line \d+: |command not found)"
)
"""What the script of a job prints that showed its GPUs first, and then failed."""


class NvidiaSmiDisplay:
    """Reads what nvidia-smi and dcgmi show."""

    name: ClassVar[str] = "nvidia_smi_display"
    covers: ClassVar[tuple[str, ...]] = ("gpu_sample", "gpu_device")

    def claims(self, path: Path, head: bytes) -> int:
        """Nothing but displays, apart from the command above them; or a capture of several calls."""
        texts = [t for t in decode(head).splitlines()[:4000] if t.strip()]
        if sum(1 for t in texts if _CALL.match(t)) >= 3:
            return 91
        own = next((o for opens, o in _KINDS if any(opens.search(t) for t in texts[:6])), None)
        if own is None:
            return 0
        others = [t for t in texts if not own.match(t)]
        return 93 if len(others) <= _FOREIGN and not any(_JOBS.match(t) for t in others) else 0

    def rows(self, path: Path, ctx: ImportContext) -> Iterator[Row]:
        """A sample per GPU and display; each GPU once as a device."""
        displays = Displays(ctx.problem)
        csv = NvidiaSmi()
        seen: set[str] = set()
        table: list[str] | None = None
        untimed = shown = 0
        for _, line in lines(path, ctx):
            table, sample = csv.of_line(line, table, ctx)
            if sample is not None:
                shown += 1
                yield sample
                continue
            for one in displays.feed(line):
                shown += 1
                untimed += one.time is None
                yield from self._rows(one, ctx, seen)
        for one in displays.close():
            shown += 1
            untimed += one.time is None
            yield from self._rows(one, ctx, seen)
        if not shown:
            raise ImportFailed("no GPU stands in it (of pmon's processes nothing is kept)")
        if untimed:
            ctx.note(f"{untimed} samples have no time: dmon prints it with -o DT only, dcgmi dmon never")

    def _rows(self, shown: Shown, ctx: ImportContext, seen: set[str]) -> Iterator[Row]:
        sample = GpuSample(
            cluster=ctx.cluster, node=ctx.node, ts=_moment(shown.time, ctx), origin=ctx.name, **shown.sample
        )
        ctx.saw(sample.ts)
        yield sample
        mark = f"{sample.pci_bus_id}"
        if shown.device and mark not in seen and len(seen) < 4096:
            seen.add(mark)
            yield GpuDevice(
                cluster=ctx.cluster,
                node=ctx.node,
                ts=sample.ts,
                origin=ctx.name,
                gpu=sample.gpu,
                gpu_uuid=sample.gpu_uuid,
                pci_bus_id=sample.pci_bus_id,
                fb_total_bytes=sample.fb_total_bytes,
                power_limit_w=sample.power_limit_w,
                **shown.device,
            )


def _moment(text: str | None, ctx: ImportContext) -> datetime | None:
    if text is None:
        return None
    try:
        return sv.to_utc(datetime.strptime(text, "%a %b %d %H:%M:%S %Y"), ctx.zone)
    except ValueError:
        return sv.time(text, ctx.zone)

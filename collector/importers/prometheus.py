"""Prometheus text exposition and OpenMetrics: one scrape, or a dump of series with timestamps.

SOURCE  `curl NODE:9400/metrics` (dcgm-exporter), :9100 (node_exporter), :8000 (vLLM), `promtool tsdb dump-openmetrics`.
ROWS    gpu_sample, host_sample, link_sample, cgroup_sample, inference_sample: the metrics of one moment merged to one row;
        gpu_event where the last XID of a GPU changes; log_event where a rank's monitor says that it stands still.
CAVEAT  a scrape without timestamps gets the file's own time; metrics that fill no column are counted, not kept.

    DCGM_FI_DEV_FB_USED{gpu="0",UUID="GPU-1f..",Hostname="node1"} 71234 1772359200000
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from collector.formats import hang_gauges
from collector.formats.metric_names import NAMES
from collector.formats.metric_rows import Key, Samples, Series
from collector.formats.text import decode, opened, read_some
from collector.formats.xid_counts import Known
from collector.importers.base import ImportContext, ImportFailed
from store import lazy
from store.rows import Block, Row, one_by_one

LINE = lazy.compile(
    r"^[ \t]*([a-zA-Z_:][\w:]*)[ \t]*(?:\{([^\"}\n]*(?:\"[^\"\\\n]*(?:\\.[^\"\\\n]*)*\"[^\"}\n]*)*)\})?[ \t]+"
    r"([+-]?(?:\d[\d.]*(?:[eE][+-]?\d+)?|\.\d+|NaN|Inf|nan|inf))(?:[ \t]+(-?\d[\d.eE+]*))?[ \t\r]*(?=$|#)",
    re.MULTILINE,
)
_LABEL = lazy.compile(r"([a-zA-Z_]\w*)\s*=\s*\"((?:[^\"\\]|\\.)*)\"")
_ESCAPE = lazy.compile(r"\\(.)")
_CHUNK = 4 << 20
WINDOW_BYTES = 96 << 20
"""A larger file is read once per window of time, so that memory does not grow with it."""


class Prometheus:
    """Reads exposition text."""

    name: ClassVar[str] = "prometheus"
    covers: ClassVar[tuple[str, ...]] = (
        "gpu_sample",
        "gpu_device",
        "host_sample",
        "link_sample",
        "cgroup_sample",
        "inference_sample",
    )

    def claims(self, path: Path, head: bytes) -> int:
        """Most lines are samples or comments; other comments than the format's own say nothing for or against it."""
        texts = [t for t in decode(head[:16_384]).splitlines() if t.strip()][:-1] or decode(head[:16_384]).splitlines()
        if not texts:
            return 0
        declared = sum(1 for t in texts if t.startswith(("# HELP ", "# TYPE ", "# UNIT ", "# EOF")))
        remarks = sum(1 for t in texts if t.startswith("#")) - declared
        samples = [m for t in texts if not t.startswith("#") and (m := LINE.match(t))]
        labelled = sum(1 for m in samples if m.group(2) or m.group(1) in NAMES)
        named = path.suffix == ".prom" and len(samples) > 0
        if remarks > max(2, len(samples)) or declared + len(samples) < 0.9 * (len(texts) - remarks):
            return 0
        if not (declared or labelled or named):
            return 0
        if path.parent.name == "metrics" or declared or named or any(m.group(1) in NAMES for m in samples):
            return 93
        return 70 if labelled > 0.9 * len(samples) else 0

    def rows(self, path: Path, ctx: ImportContext) -> Iterator[Row]:
        """Rows by entity and time; a large file in windows of time, one after the other."""
        return one_by_one(self.blocks(path, ctx))

    def blocks(self, path: Path, ctx: ImportContext) -> Iterator[Row | Block]:
        """The same rows, those of a GPU's whole series as a block."""
        xids: dict[Key, int] = {}
        counted: Known = {}
        stuck: hang_gauges.Said = {}
        for at, (low, high) in enumerate(_windows(path, ctx)):
            samples = Samples(ctx, xids, stuck, counted)
            unknown = _collect(path, ctx if at == 0 else replace(ctx, problems=[], notes=[]), samples, low, high)
            if at == 0:
                if not samples and not unknown and low is None:
                    raise ImportFailed("no sample in it")
                if unknown:
                    ctx.note(f"{len(unknown)} metrics fill no column: {', '.join(sorted(unknown)[:5])}")
                yield from samples.devices()
            yield from samples.blocks()
        yield from Samples(ctx, xids, stuck).standstills()


def _collect(path: Path, ctx: ImportContext, samples: Samples, low: int | None, high: int | None) -> dict[str, int]:
    cache: dict[tuple[str, str], Series | None] = {}
    found: dict[tuple[str, str], list[tuple[int | None, float]]] = {}
    unknown: dict[str, int] = {}
    untimed = int(ctx.modified.timestamp() * 1000) if ctx.modified else None
    told = low is not None
    for chunk in chunks(path, ctx):
        for name, labels, value, stamp in LINE.findall(chunk):
            place = (name, labels)
            if place not in cache:
                cache[place] = samples.series(name, parse_labels(labels)) if name in NAMES else None
            series = cache[place]
            if series is None:
                if name not in NAMES:
                    unknown[name] = unknown.get(name, 0) + 1
                continue
            if stamp:
                ts = milliseconds(stamp)
                if low is not None and high is not None and not low <= (ts or 0) < high:
                    continue
            else:
                ts = untimed
                if not told:
                    told = True
                    ctx.note("samples without timestamps: the file's own time is taken")
            found.setdefault(place, []).append((ts, float(value)))
    for place in list(found):
        series = cache[place]
        if series is not None:
            samples.extend(series, found.pop(place))
    return unknown


def _windows(path: Path, ctx: ImportContext) -> list[tuple[int | None, int | None]]:
    if ctx.size <= WINDOW_BYTES:
        return [(None, None)]
    silent = ImportContext(ctx.name, ctx.zone)
    stamps = [
        t for c in chunks(path, silent) for _, _, _, s in LINE.findall(c) if s and (t := milliseconds(s)) is not None
    ]
    if not stamps:
        return [(None, None)]
    count = -(-ctx.size // WINDOW_BYTES)
    first, last = min(stamps), max(stamps) + 1
    step = -(-(last - first) // count)
    return [(first + i * step, first + (i + 1) * step) for i in range(count)]


def chunks(path: Path, ctx: ImportContext) -> Iterator[str]:
    """The file in pieces of whole lines."""
    rest = b""
    with opened(path) as stream:
        while block := read_some(stream, _CHUNK, ctx.problem):
            ctx.bytes_read += len(block)
            if ctx.on_progress is not None:
                ctx.on_progress(ctx.bytes_read)
            block = rest + block
            cut = block.rfind(b"\n") + 1
            if not cut and len(block) > 4 * _CHUNK:
                ctx.problem("a line of more than 16 MiB is left out")
                block, cut = b"", 0
            rest = block[cut:]
            if cut:
                yield decode(block[:cut])
    if rest:
        yield decode(rest)


def parse_labels(text: str) -> dict[str, str]:
    """`gpu="0",Hostname="node1"` to a mapping."""
    found = dict(_LABEL.findall(text))
    if "\\" in text:
        return {k: _ESCAPE.sub(lambda m: "\n" if m.group(1) == "n" else m.group(1), v) for k, v in found.items()}
    return found


def milliseconds(stamp: str) -> int | None:
    """A timestamp in milliseconds; OpenMetrics writes seconds, the older format milliseconds."""
    try:
        value = float(stamp)
    except ValueError:
        return None
    if not 0 < value < 1e15:
        return None
    return round(value) if value > 1e11 else round(value * 1000)

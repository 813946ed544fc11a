"""voir: the record that milabench keeps of a run, one JSON object a line: what the program printed, its losses, its GPUs.

SOURCE    milabench and voir (NAME.data, NAME.jsonl)
ROWS      those of job_log (parsers/voir.py reads the losses and the end), and gpu_sample
CAVEAT    load is the share of time in which any kernel ran. Older records give samples no times: they are laid evenly between
          the begin and the end of the run, and it is noted. Losses never have one: they are laid evenly between the samples
          that stand before and after them in the record, so that what the GPUs did in training can be told from the start.

    {"event": "data", "data": {"task": "main", "gpudata": {"0": {"memory": [524.0, 81251.1], "load": 0.97, "temperature": 30}}}, "pipe": "data"}
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, cast

from collector.formats.text import lines
from collector.importers.base import ImportContext
from collector.importers.job_log import JobLog
from collector.parsers.values import bare
from store.rows import Block, GpuSample, LogLine, Row, TrainStep, one_by_one

MIB = 1 << 20
_KEYS = {"event", "data", "pipe"}
_LONGEST = 1 << 20


class Voir:
    """Reads a record."""

    name: ClassVar[str] = "voir"
    covers: ClassVar[tuple[str, ...]] = (*JobLog.covers, "gpu_sample")

    def claims(self, path: Path, head: bytes) -> int:
        """Its first line is such an object, or the long beginning of one."""
        first, ends, _ = head.lstrip().partition(b"\n")
        if not first.startswith((b'{"event": "', b'{"event":"')):
            return 0
        if not ends:
            return 70 if first.split(b'"')[3] in (b"config", b"meta", b"start") else 0
        return 95 if (_object(first.decode("utf-8", "replace")) or {}).keys() == _KEYS else 0

    def rows(self, path: Path, ctx: ImportContext) -> Iterator[Row]:
        """What was printed, then the samples. Raises ImportFailed."""
        return one_by_one(self.blocks(path, ctx))

    def blocks(self, path: Path, ctx: ImportContext) -> Iterator[Row | Block]:
        """`rows`, of which many are given at once."""
        record = _read(path, ctx)
        # Lines without a time of their own get the file's, and a copy's is that of the copy.
        ctx.modified = record.end or ctx.modified
        samples = record.timed(ctx)
        between = _laid(record, samples)
        for block in JobLog().blocks(path, ctx):
            if isinstance(block, Block) and block.row_type not in (LogLine, TrainStep):
                yield block
                continue
            for row in block.rows() if isinstance(block, Block) else (block,):
                if isinstance(row, LogLine) and row.line_no in record.times:
                    yield replace(row, ts=record.times[row.line_no], ts_kind="embedded")
                elif isinstance(row, TrainStep) and row.line_no in between:
                    yield replace(row, ts=between[row.line_no], ts_kind="carried")
                else:
                    yield row
        for _, ts, gpus in samples:
            for gpu, told in gpus.items():
                yield _row(ctx, record.node, ts, gpu, told)


Sample = tuple[int, datetime, dict[int, dict[str, Any]]]
"""Line, time, and what each GPU showed."""


@dataclass(slots=True)
class _Record:
    """What a record tells of the whole run. `times`: of lines that carry one. `losses`: lines that report one."""

    node: str | None
    begin: datetime | None = None
    end: datetime | None = None
    times: dict[int, datetime] = field(default_factory=dict[int, datetime])
    losses: list[int] = field(default_factory=list[int])
    samples: list[tuple[int, datetime | None, dict[int, dict[str, Any]]]] = field(
        default_factory=list[tuple[int, datetime | None, dict[int, dict[str, Any]]]]
    )

    def timed(self, ctx: ImportContext) -> list[Sample]:
        """The samples with their times, in the record's order."""
        told = [(line, ts, gpus) for line, ts, gpus in self.samples if ts is not None]
        untimed = len(self.samples) - len(told)
        if not untimed:
            return told
        if told or self.begin is None or self.end is None:
            ctx.note(f"{untimed} samples of the GPUs without times are left out: nothing tells where they belong")
            return told
        ctx.note("samples of the GPUs carry no times: they are laid evenly between the run's begin and end")
        step = (self.end - self.begin) / (untimed + 1)
        return [(line, self.begin + n * step, gpus) for n, (line, _, gpus) in enumerate(self.samples, 1)]


def _laid(record: _Record, samples: list[Sample]) -> dict[int, datetime]:
    """Times of the losses by line: spread evenly between the samples around them, the begin and the end of the run."""
    if record.begin is None or record.end is None:
        return {}
    marks = [(0, record.begin), *((line, ts) for line, ts, _ in samples), (1 << 62, record.end)]
    found: dict[int, datetime] = {}
    losses = iter(record.losses)
    line = next(losses, None)
    for (_, low), (last, high) in pairwise(marks):
        here: list[int] = []
        while line is not None and line < last:
            here.append(line)
            line = next(losses, None)
        for n, at in enumerate(here, 1):
            found[at] = low + n * (high - low) / (len(here) + 1)
    return found


def _read(path: Path, ctx: ImportContext) -> _Record:
    record = _Record(ctx.node)
    for number, line in lines(path, ImportContext(ctx.name, ctx.zone)):
        found = _object(line)
        data: Any = found.get("data") if found else None
        if found is None or not isinstance(data, dict):
            continue
        told = cast("dict[str, Any]", data)
        ts, event = _time(told.get("time")), found["event"]
        if ts is not None:
            record.times[number] = ts
        if event == "start":
            record.begin = ts
        elif event == "end":
            record.end = ts
        elif event == "meta":
            record.node = _node(told) or record.node
        elif event == "data" and "loss" in told:
            record.losses.append(number)
        elif event == "data" and (gpus := _gpus(told.get("gpudata"))):
            record.samples.append((number, ts, gpus))
    return record


def _gpus(told: Any) -> dict[int, dict[str, Any]]:
    if not isinstance(told, dict):
        return {}
    items = cast("dict[str, Any]", told).items()
    return {int(k): cast("dict[str, Any]", v) for k, v in items if k.isdigit() and isinstance(v, dict)}


def _row(ctx: ImportContext, node: str | None, ts: datetime, gpu: int, told: dict[str, Any]) -> GpuSample:
    match told.get("memory"):
        case [used, total]:
            pass
        case _:
            used = total = None
    return GpuSample(
        cluster=ctx.cluster,
        node=node,
        ts=ts,
        origin=ctx.name,
        job_id=ctx.job_id,
        attempt=ctx.attempt,
        gpu=gpu,
        fb_used_bytes=_mebibytes(used),
        fb_total_bytes=_mebibytes(total),
        engine_active=bare(told.get("load")),
        activity_source="nvml",
        temp_c=bare(told.get("temperature")),
        power_w=bare(told.get("power")),
    )


def _node(meta: dict[str, Any]) -> str | None:
    os: Any = meta.get("os")
    name = cast("dict[str, Any]", os).get("nodename") if isinstance(os, dict) else None
    return name if isinstance(name, str) and name else None


def _object(line: str) -> dict[str, Any] | None:
    if len(line) > _LONGEST:
        return None
    try:
        record: Any = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", record) if isinstance(record, dict) and record.keys() == _KEYS else None


def _time(value: Any) -> datetime | None:
    seconds = bare(value)
    try:
        return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def _mebibytes(value: Any) -> int | None:
    number = bare(value)
    return None if number is None else round(number * MIB)

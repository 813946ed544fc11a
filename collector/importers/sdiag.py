"""`sdiag` (text or `--json`): the controller's own health.

SOURCE  sdiag of Slurm 20.11 to 26.05; several outputs may stand in one file, one after the other.
ROWS    slurm_controller_sample.

    sdiag output at Sun Mar  1 10:00:00 2026 (1772359200)
    Server thread count:  3
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar

from collector.formats import slurm_json as sj
from collector.formats import slurm_values as sv
from collector.formats.text import decode, head, lines, whole
from collector.importers.base import ImportContext, ImportFailed
from store import lazy
from store.rows import Row, SlurmControllerSample

_HEAD = lazy.compile(r"sdiag output at (?P<local>.*?)(?: \((?P<epoch>\d+)\))?\s*$")
_SINCE = lazy.compile(r"Data since\s+(?P<local>.*?)(?: \((?P<epoch>\d+)\))?\s*$")
_LINE = lazy.compile(r"\s*(?P<name>[A-Za-z][^:]*?)\s*:\s*(?P<value>-?\d+)\s*$")
_TEXT = {
    "server thread count": "server_threads", "agent queue size": "agent_queue", "dbd agent queue size": "dbd_agent_queue",
    "jobs submitted": "jobs_submitted", "jobs started": "jobs_started", "jobs completed": "jobs_completed",
    "jobs canceled": "jobs_canceled", "jobs failed": "jobs_failed", "jobs pending": "jobs_pending",
    "jobs running": "jobs_running",
}  # fmt: skip
_RPC = lazy.compile(r"\s*\w+\s*\(\s*\d+\)\s+count:(?P<count>\d+)\s+ave_time:\d+\s+total_time:(?P<time>\d+)")
_MAIN = {"last cycle": "main_cycle_last_us", "mean cycle": "main_cycle_mean_us"}
_BACKFILL = {"last cycle": "backfill_cycle_last_us", "depth mean": "backfill_depth_mean"}
_JSON = {
    "server_thread_count": "server_threads", "agent_queue_size": "agent_queue", "dbd_agent_queue_size": "dbd_agent_queue",
    "jobs_submitted": "jobs_submitted", "jobs_started": "jobs_started", "jobs_completed": "jobs_completed",
    "jobs_canceled": "jobs_canceled", "jobs_failed": "jobs_failed", "jobs_pending": "jobs_pending",
    "jobs_running": "jobs_running", "schedule_cycle_last": "main_cycle_last_us",
    "schedule_cycle_mean": "main_cycle_mean_us", "bf_cycle_last": "backfill_cycle_last_us",
    "bf_depth_mean": "backfill_depth_mean",
}  # fmt: skip


class Sdiag:
    """Reads sdiag."""

    name: ClassVar[str] = "sdiag"
    covers: ClassVar[tuple[str, ...]] = ("slurm_controller_sample",)

    def claims(self, path: Path, head: bytes) -> int:
        """Its title, or its JSON's names."""
        if b"sdiag output at" in head[:4096]:
            return 95
        return 95 if b'"server_thread_count"' in head and b'"statistics"' in head else 0

    def rows(self, path: Path, ctx: ImportContext) -> Iterator[Row]:
        """One row per output."""
        is_json = b'"server_thread_count"' in head(path)
        yield from _json(path, ctx) if is_json else _text(path, ctx)


def _text(path: Path, ctx: ImportContext) -> Iterator[Row]:
    values: dict[str, Any] = {}
    ts: datetime | None = None
    section = _TEXT
    begun = by_type = False
    for _, line in lines(path, ctx):
        title, since = _HEAD.search(line), _SINCE.search(line)
        if title:
            if begun:
                yield _row(values, ts, ctx)
            values, begun, section, ts = {}, True, _TEXT, _moment(title, ctx)
            by_type = False
        elif since:
            values["stats_since_ts"] = _moment(since, ctx)
        elif line.startswith("Main schedule"):
            section = _MAIN
        elif line.startswith("Backfilling stats"):
            section = _BACKFILL
        elif line.startswith("Remote Procedure Call statistics by message type"):
            section, values["rpc_count"], values["rpc_time_us"] = {}, 0, 0
            by_type = True
        elif line.startswith(("Latency", "Remote Procedure", "Pending RPC", "Main scheduler exit", "Backfill exit")):
            section, by_type = {}, False
        elif by_type and (rpc := _RPC.match(line)):
            values["rpc_count"] += int(rpc.group("count"))
            values["rpc_time_us"] += int(rpc.group("time"))
        else:
            found = _LINE.match(line)
            column = section.get(found.group("name").lower()) if found else None
            if found and column and column not in values:
                values[column] = int(found.group("value"))
    if not begun:
        raise ImportFailed("no line `sdiag output at ...`")
    yield _row(values, ts, ctx)


def _json(path: Path, ctx: ImportContext) -> Iterator[Row]:
    raw = whole(path, ctx, 64 << 20)
    document = decode(raw) if raw is not None else ""
    found = next(
        sj.array(re.sub(r'"statistics"\s*:\s*\{', '"statistics": [{', document, count=1), "statistics", ctx.problem),
        None,
    )
    if found is None:
        raise ImportFailed("no `statistics` in it")
    values = {column: sj.whole(found.get(name)) for name, column in _JSON.items()}
    rpcs = [sj.obj(r) for r in sj.items(found.get("rpcs_by_message_type"))]
    if rpcs:
        values["rpc_count"] = sum(sj.whole(r.get("count")) or 0 for r in rpcs)
        values["rpc_time_us"] = sum(sj.whole(r.get("total_time")) or 0 for r in rpcs)
    values["stats_since_ts"] = sj.moment(found.get("req_time_start"))  # type: ignore[assignment]
    yield _row(values, sj.moment(found.get("req_time")), ctx)


def _row(values: dict[str, Any], ts: datetime | None, ctx: ImportContext) -> Row:
    return SlurmControllerSample(cluster=ctx.cluster, ts=ts, origin=ctx.name, **values)


def _moment(found: re.Match[str], ctx: ImportContext) -> datetime | None:
    if found.group("epoch"):
        return sv.time(found.group("epoch"), ctx.zone)
    try:
        return sv.to_utc(datetime.strptime(found.group("local").strip(), "%a %b %d %H:%M:%S %Y"), ctx.zone)
    except ValueError:
        return None

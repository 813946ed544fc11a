"""Metric samples to rows: many metrics of one GPU (host, port, server) at one moment become one row.

Values that mean "no value" (NaN, DCGM's blank numbers) are left out. Nothing is summed over MIG instances: what belongs
to the physical GPU goes to the row without an instance, once.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any, cast

from collector.formats import hang_gauges
from collector.formats.device_names import NO_DISK, NO_NET, PSEUDO
from collector.formats.histogram import quantile
from collector.formats.metric_blocks import Bits, Gauges, blank, turns, typed
from collector.formats.metric_names import NAMES, Metric
from collector.formats.node_names import NodeNames, node_of
from collector.formats.one_host import REMEDY, several
from collector.formats.slowdowns import Slowdowns
from collector.formats.xid_counts import Known, XidCounts
from collector.importers.base import ImportContext
from store import lazy
from store.rows import (
    Block,
    CgroupSample,
    GpuDevice,
    GpuEvent,
    GpuSample,
    HostSample,
    InferenceSample,
    LinkSample,
    Row,
    one_by_one,
)

_INDEX_LABELS = ("gpu", "minor_number", "index", "gpu_id", "card")
_COUNTED = frozenset({"clock_events", "held_down", "xid_count"})
_STATES = {1: "DOWN", 2: "INIT", 3: "ARMED", 4: "ACTIVE", 5: "ACTIVE_DEFER"}
_JOB = lazy.compile(r"/job_(?P<job>\d+)(?:/step_(?P<step>\w+))?")
Key = tuple[str, str | None, tuple[tuple[str, Any], ...]]


@dataclass(slots=True)
class _Cells:
    values: dict[str, float] = field(default_factory=dict[str, float])
    ranks: dict[str, int] = field(default_factory=dict[str, int])
    buckets: dict[str, dict[float, float]] = field(default_factory=dict[str, dict[float, float]])


@dataclass(slots=True)
class Series:
    """Where the samples of one label set of one metric go."""

    metric: Metric
    key: Key
    part: str = ""
    bound: float = 0.0


class Samples:
    """Collects samples; `rows` gives them by entity and time. Times are milliseconds since 1970, None where unknown."""

    def __init__(
        self,
        ctx: ImportContext,
        xids: dict[Key, int] | None = None,
        stuck: hang_gauges.Said | None = None,
        counted: Known | None = None,
    ) -> None:
        """What earlier parts of the same file left: last XIDs, last words of ranks' monitors, XIDs that were counted."""
        self._ctx = ctx
        self._names = NodeNames(ctx.nodes, ctx.aliases)
        self._xids = {} if xids is None else xids
        self._stuck = {} if stuck is None else stuck
        self._cells: dict[tuple[Key, int | None], _Cells] = {}
        self._gauges: dict[Key, Gauges] = {}
        self._grid: tuple[list[int | None], list[datetime | None]] = [], []
        self._slow = Slowdowns()
        self._xid_counts = XidCounts({} if counted is None else counted)
        self._named: dict[Key, dict[str, Any]] = {}
        self._devices: dict[tuple[str | None, str | int | None], dict[str, Any]] = {}

    def __bool__(self) -> bool:
        return bool(self._cells or self._gauges)

    def series(self, name: str, labels: Mapping[str, str]) -> Series | None:
        """Where a metric with these labels goes; None when it fills no column."""
        metric = NAMES.get(name)
        if metric is None:
            return None
        label, value = metric.needs
        if label and (label not in labels or value not in {"", labels[label]}):
            return None
        told = node_of(labels, self._names)
        node = told or self._ctx.node
        if metric.entity == "gpu":
            window = _number(labels.get("window_size_in_ms", "0"))
            part = labels.get("xid" if metric.column == "xid_count" else "clock_event", "")
            return Series(metric, self._gpu(told, labels, metric), part, window)
        if metric.entity == "link":
            return Series(metric, ("link", node, (("device", labels.get("device")), ("port", labels.get("port")))))
        if metric.entity == "filesystem":
            if PSEUDO.match(labels.get("fstype", "")):
                return None
            return Series(metric, ("filesystem", node, (("filesystem", labels.get("mountpoint")),)))
        if metric.entity == "cgroup":
            own = _cgroup(labels)
            return None if own is None else Series(metric, ("cgroup", node, own))
        if metric.entity == "rank":
            own = hang_gauges.identity(labels, bool(self._ctx.nodes))
            return None if own is None else Series(metric, ("rank", node, own))
        if metric.entity == "inference":
            key: Key = ("inference", node, (("model", labels.get("model_name")),))
            return Series(metric, key, bound=_number(labels.get("le", "")) if "le" in labels else 0.0)
        device = labels.get("device", "")
        if ("disk" in name and NO_DISK.match(device)) or ("network" in name and NO_NET.match(device)):
            return None
        part = labels.get("mode", "") if metric.column == "cpu" else ""
        return Series(metric, ("host", node, ()), "idle" if part in {"idle", "iowait"} else "busy")

    def add(self, series: Series, ts: int | None, value: float) -> None:
        """One sample."""
        self.extend(series, [(ts, value)])

    def extend(self, series: Series, samples: Sequence[tuple[int | None, float]]) -> None:
        """Samples of one series with their times; of two of one time the later counts."""
        if series.metric.entity == "gpu":
            self._of_gpu(series, samples)
            return
        for ts, value in samples:
            if not blank(value):
                self._cell(series, ts, value)

    def _of_gpu(self, series: Series, samples: Sequence[tuple[int | None, float]]) -> None:
        metric = series.metric
        gauges = self._gauges.get(series.key)
        if gauges is None:
            gauges = self._gauges[series.key] = Gauges()
        if metric.column not in _COUNTED:
            gauges.put(metric, samples)
            return
        for ts, value in samples:
            if ts is None or blank(value):
                continue
            if metric.column == "held_down":
                self._slow.time(series.key, metric.bit, ts, value * metric.scale)
            elif metric.column == "xid_count":
                self._xid_counts.count(series.key, bool(metric.bit), series.part, ts, value)
            else:
                self._slow.count(series.key, series.part, ts, value, series.bound)

    def _cell(self, series: Series, ts: int | None, value: float) -> None:
        metric = series.metric
        place = (series.key, ts)
        cells = self._cells.get(place)
        if cells is None:
            cells = self._cells[place] = _Cells()
        column = metric.column
        if column in {"ttft", "inter_token"}:
            if metric.rank <= cells.ranks.get(column, 9):
                if metric.rank < cells.ranks.get(column, 9):
                    cells.buckets[column] = {}
                cells.ranks[column] = metric.rank
                cells.buckets[column][series.bound] = cells.buckets[column].get(series.bound, 0.0) + value
            return
        if column == "cpu":
            column = series.part
        if metric.add:
            cells.values[column] = cells.values.get(column, 0.0) + value * metric.scale
        elif metric.rank <= cells.ranks.get(column, 9):
            cells.ranks[column] = metric.rank
            cells.values[column] = value * metric.scale

    def rows(self) -> Iterator[Row]:
        """The rows, by entity and time."""
        return one_by_one(self.blocks())

    def blocks(self) -> Iterator[Row | Block]:
        """The same rows; those of a GPU as one block, and the blocks first."""
        slow: dict[Key, dict[int | None, tuple[int, int]]] = {}
        for place, told in self._slow.bits().items():
            key, ts = cast("tuple[Key, int]", place)
            slow.setdefault(key, {})[ts] = told
        seen: dict[Key, list[GpuSample]] = {}
        for key in sorted(self._gauges, key=_place):
            block = self._block(key, slow.get(key, {}))
            if block is None:
                continue
            yield block
            xids = block.columns.get("last_xid", ())
            for i in turns(xids):
                changed = next(block.part(i, i + 1).rows())
                if xids[i] is not None and changed.ts is not None and isinstance(changed, GpuSample):
                    seen.setdefault((*key[:2], key[2][:1]), []).append(changed)
        before: dict[Key, _Cells] = {}
        for key, ts in sorted(self._cells, key=lambda k: (*_place(k[0]), k[1] or 0)):
            cells = self._cells[key, ts]
            if key[0] == "rank":
                self._stuck[key[1:]] = moment(ts), cells.values["stands_still"]
                continue
            row = self._row(key, moment(ts), cells, before.get(key))
            if row is not None:
                yield row
            before[key] = cells
        for gpu, samples in seen.items():
            yield from self._new_xids(gpu, samples)
        yield from self._counted_xids({(gpu, s.last_xid) for gpu, samples in seen.items() for s in samples})

    def standstills(self) -> Iterator[Row]:
        """Which ranks stood still by their monitors' last word, once all rows were given."""
        told = {"cluster": self._ctx.cluster, "origin": self._ctx.name, "file": self._ctx.name}
        yield from hang_gauges.events(self._stuck, self._ctx.modified, told)

    def _new_xids(self, gpu: Key, samples: list[GpuSample]) -> Iterator[GpuEvent]:
        """The last XID of a GPU stands for days: it is an event where it changes. One that comes again does not show."""
        for sample in sorted(samples, key=lambda s: (str(s.ts), s.last_xid or 0)):
            earlier, xid = self._xids.get(gpu), sample.last_xid or 0
            if earlier is not None and xid not in {0, earlier}:
                yield GpuEvent(
                    cluster=sample.cluster,
                    node=sample.node,
                    ts=sample.ts,
                    origin=sample.origin,
                    job_id=sample.job_id,
                    gpu=sample.gpu,
                    gpu_uuid=sample.gpu_uuid,
                    pci_bus_id=sample.pci_bus_id,
                    event="xid",
                    xid=xid,
                    message=f"the exporter's last XID went from {earlier} to {xid}",
                )
            self._xids[gpu] = xid

    def _counted_xids(self, told: set[tuple[Key, int | None]]) -> Iterator[GpuEvent]:
        """XIDs whose count rose, but for those of which the exporter's last XID tells (`told`): what happened once is one event."""
        since: dict[Hashable, int] = {k: span[0] for k, g in self._gauges.items() if (span := g.span())}
        for gpu, ts, xid in self._xid_counts.new(since):
            key = cast("Key", gpu)
            if ((*key[:2], key[2][:1]), xid) not in told:
                where: dict[str, Any] = {**dict(key[2]), **self._named.get(key, {}), "cluster": self._ctx.cluster}
                where |= {"node": key[1] or self._home, "origin": self._ctx.name, "ts": moment(ts)}
                yield GpuEvent(**where, event="xid", xid=xid, message=f"the exporter's count of XID {xid} rose")

    def _block(self, key: Key, slow: Bits) -> Block | None:
        times, columns = self._gauges[key].table(slow)
        labels = dict[str, Any](key[2]) | self._named.get(key, {})
        constants = {"cluster": self._ctx.cluster, "node": key[1] or self._home, "origin": self._ctx.name, **labels}
        constants = {name: value for name, value in constants.items() if name not in columns}
        if self._grid[0] != times:  # a query's series have the same times
            self._grid = times, [moment(ts) for ts in times]
        columns["ts"] = self._grid[1]
        return Block(GpuSample, len(times), constants, columns) if times else None

    def devices(self) -> Iterator[GpuDevice]:
        """What the labels say about each GPU."""
        for (node, _), fields in self._devices.items():
            if fields.get("model") or fields.get("driver_version"):
                yield GpuDevice(cluster=self._ctx.cluster, node=node or self._home, origin=self._ctx.name, **fields)

    @cached_property
    def _home(self) -> str | None:
        """The node of GPUs of which no label tells a host, once all samples are there."""
        gpus: list[tuple[int, str, tuple[int, int] | None]] = []
        for key, gauges in self._gauges.items():
            number, uuid = self._named.get(key, {}).get("gpu"), dict[str, Any](key[2]).get("gpu_uuid")
            if key[1] is None and number is not None and uuid:
                gpus.append((number, uuid, gauges.span()))
        if several(gpus):
            self._ctx.note(REMEDY)
            return None
        return self._ctx.node

    def _gpu(self, node: str | None, labels: Mapping[str, str], metric: Metric) -> Key:
        """The GPU (or instance) by its UUID, else by its number; what repeats per instance belongs to the whole GPU."""
        text = next((labels[n] for n in _INDEX_LABELS if n in labels), "")
        index = int(text) if text.isascii() and text.isdigit() and len(text) < 6 else None
        uuid = labels.get("UUID") or labels.get("uuid") or labels.get("gpu_uuid") or None
        if uuid and "-" in uuid and not uuid.startswith(("GPU-", "MIG-")):
            uuid = f"GPU-{uuid}"
        instance = labels.get("GPU_I_ID", "")
        mig = f"{labels.get('GPU_I_PROFILE', '')}/{instance}" if instance and not metric.shared else None
        job = labels.get("hpc_job") or labels.get("slurm_job_id") or labels.get("slurmjobid")
        if "job_user" in labels:  # AMD's exporter; elsewhere the label is anyone's
            job = job or labels.get("job_id")
        job = None if job in {None, "", "0"} or (instance and metric.shared) else job
        identity = ("gpu_uuid", uuid) if uuid else ("gpu", index)
        key: Key = ("gpu", node, (identity, ("mig", mig), ("job_id", job)))
        known = {"gpu": index, "pci_bus_id": labels.get("pci_bus_id") or None}
        self._named.setdefault(key, {}).update({k: v for k, v in known.items() if v is not None})
        device = self._devices.setdefault((node, uuid or index), {"gpu_uuid": uuid})
        driver = labels.get("DCGM_FI_DRIVER_VERSION") or labels.get("DCGM_FI_SYSTEM_DRIVER_VERSION")
        known |= {"model": _model(labels), "driver_version": driver}
        device.update({k: v for k, v in known.items() if v})
        if index is not None:
            device["gpu"] = index
        return key

    def _row(self, key: Key, ts: datetime | None, cells: _Cells, earlier: _Cells | None) -> Row | None:
        entity, node, own = key
        labels: dict[str, Any] = dict(own)
        common: dict[str, Any] = {"cluster": self._ctx.cluster, "node": node, "ts": ts, "origin": self._ctx.name}
        values = dict(cells.values)
        if entity == "link":
            state = values.pop("state", None)
            named: dict[str, Any] = {
                "state": _STATES.get(int(state)) if state is not None else None,
                "fabric": "infiniband",
            }
            return LinkSample(**common, **labels, **named, **_typed(values))
        if entity == "cgroup":
            return CgroupSample(**common, **labels, **_cgroup_columns(values))
        if entity == "inference":
            return InferenceSample(**common, **labels, engine="vllm", **_inference(cells))
        if entity == "filesystem":
            return HostSample(**common, **labels, **_typed(values))
        return HostSample(**common, **_host(values, earlier.values if earlier else None))


def _cgroup(labels: Mapping[str, str]) -> tuple[tuple[str, Any], ...] | None:
    """Job, step and path of a job's cgroup or of a pod's container; None for what is neither (a unit, a pod's sandbox)."""
    path = labels.get("cgroup") or labels.get("id") or ""
    found = _JOB.search(path)
    job = labels.get("slurmjobid") or labels.get("jobid") or (found["job"] if found else None)
    if job:
        step = labels.get("step") or (found["step"] if found else None)
        return (("job_id", job), ("step_id", step or None), ("cgroup", path or None))
    pod, container = (
        labels.get("pod") or labels.get("pod_name"),
        labels.get("container") or labels.get("container_name"),
    )
    if not pod or container in {None, "", "POD"}:
        return None
    return (("job_id", None), ("step_id", None), ("cgroup", f"{labels.get('namespace', '')}/{pod}/{container}"))


def _cgroup_columns(values: dict[str, float]) -> dict[str, Any]:
    """cAdvisor writes no limit as 0, the kernel's first cgroups as a number that no memory has."""
    limit = values.get("memory_max_bytes")
    if limit is not None and not 0 < limit < 2**60:
        del values["memory_max_bytes"]
    return _typed(values)


def _model(labels: Mapping[str, str]) -> str | None:
    """The product: `name` is one only beside the labels of an exporter that calls it so."""
    named = labels.get("name") if {"compute_mode", "minor_number"}.intersection(labels) else None
    return labels.get("modelName") or labels.get("card_series") or named or labels.get("gpu_type")


def moment(ts: int | None) -> datetime | None:
    """Milliseconds since 1970 to UTC."""
    if ts is None or not 0 <= ts < 250_000_000_000_000:
        return None
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ts)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _place(key: Key) -> tuple[str, str, str]:
    return key[0], key[1] or "", str(key[2])


def _typed(values: Mapping[str, float]) -> dict[str, Any]:
    return {column: typed(column, value) for column, value in values.items()}


def _host(values: dict[str, float], earlier: Mapping[str, float] | None) -> dict[str, Any]:
    total, free, boot = values.pop("swap_total", None), values.pop("swap_free", None), values.pop("boot", None)
    idle, busy = values.pop("idle", None), values.pop("busy", None)
    typed = _typed(values)
    if total is not None and free is not None:
        typed["swap_used_bytes"] = int(total - free)
    if boot is not None:
        typed["boot_ts"] = moment(int(boot * 1000))
    if idle is not None and busy is not None and earlier is not None and "idle" in earlier and "busy" in earlier:
        rest, work = idle - earlier["idle"], busy - earlier["busy"]
        if rest >= 0 and work >= 0 and rest + work > 0:
            typed["cpu_busy"] = work / (rest + work)
    return typed


def _inference(cells: _Cells) -> dict[str, Any]:
    values = dict(cells.values)
    hits, queries = values.pop("cache_hits", None), values.pop("cache_queries", None)
    typed = _typed(values)
    if hits is not None and queries and "kv_cache_hit" not in typed:
        typed["kv_cache_hit"] = hits / queries
    for column, buckets in cells.buckets.items():
        typed[f"{column}_p50_s"] = quantile(buckets, 0.5)
        typed[f"{column}_p99_s"] = quantile(buckets, 0.99)
    return typed

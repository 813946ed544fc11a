"""Samples of GPUs and hosts as files of metrics, in the forms in which people keep them.

`exposed`   OpenMetrics with times, one file for each exporter, as `promtool tsdb dump-openmetrics` writes it
`by_node`   the same, one file for each node
`by_metric` what a range query of Prometheus answers, one file for each metric: no sample has two of them, and values stand on
            the query's grid
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

MIB = 1 << 20
FORMS = ("exposed", "by_node", "by_metric")
_STEPS_S = (15.0, 30.0, 60.0)
_STALE = 1.5
"""Prometheus marks a series that its target no longer gives; a value is answered as long as the next may still come."""
_LOOKBACK_S = 300.0
"""And no longer than that, by default."""

Metrics = Iterable[tuple[str, str, Callable[[Any], object]]]
Labels = Mapping[str, str]

GPU: Metrics = (
    ("DCGM_FI_DEV_FB_USED", "fb_used_bytes", lambda v: v // MIB),
    ("DCGM_FI_DEV_FB_TOTAL", "fb_total_bytes", lambda v: v // MIB),
    ("DCGM_FI_PROF_GR_ENGINE_ACTIVE", "engine_active", float),
    ("DCGM_FI_PROF_SM_ACTIVE", "sm_active", float),
    ("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "tensor_active", float),
    ("DCGM_FI_PROF_DRAM_ACTIVE", "dram_active", float),
    ("DCGM_FI_DEV_GPU_TEMP", "temp_c", float),
    ("DCGM_FI_DEV_MEMORY_TEMP", "memory_temp_c", float),
    ("DCGM_FI_DEV_POWER_USAGE", "power_w", float),
    ("DCGM_FI_DEV_SM_CLOCK", "sm_clock_mhz", float),
    ("DCGM_FI_DEV_CLOCKS_EVENT_REASONS", "throttle_reasons", int),
    ("DCGM_FI_DEV_ECC_SBE_VOL_TOTAL", "ecc_sbe_total", int),
    ("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", "ecc_dbe_total", int),
    ("DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS", "remapped_correctable", int),
    ("DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS", "remapped_uncorrectable", int),
    ("DCGM_FI_DEV_ROW_REMAP_PENDING", "remap_pending", int),
    ("DCGM_FI_DEV_ROW_REMAP_FAILURE", "remap_failure", int),
    ("DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL", "nvlink_errors", int),
    ("DCGM_FI_DEV_PCIE_REPLAY_COUNTER", "pcie_replays", int),
    ("DCGM_FI_DEV_XID_ERRORS", "last_xid", int),
)
HOST: Metrics = (
    ("node_load1", "load1", float),
    ("node_memory_MemTotal_bytes", "memory_total_bytes", int),
    ("node_memory_MemAvailable_bytes", "memory_available_bytes", int),
    ("node_vmstat_oom_kill", "oom_kills", int),
)


def drawn(job_id: str, seed: float) -> str:
    """The form for a job: the same from the same seed."""
    return Random(f"metric files {job_id} {seed}").choice(FORMS)


def write(folder: Path, gpus: list[Any], hosts: list[Any], form: str, seed: float) -> None:
    """The files of one job's metrics; none where nothing was sampled."""
    step = Random(f"step {seed}").choice(_STEPS_S)
    for stem, samples, metrics, labels in (("dcgm", gpus, GPU, _gpu), ("node", hosts, HOST, _host)):
        if not samples:
            continue
        folder.mkdir(parents=True, exist_ok=True)
        if form == "by_metric":
            for name, series in _series(samples, metrics, labels):
                (folder / f"{name}.json").write_text(_matrix(name, series, step), encoding="utf-8")
            continue
        parts: dict[str, list[Any]] = defaultdict(list)
        for row in samples:
            parts[f"{row.node}-{stem}" if form == "by_node" else stem].append(row)
        for part, own in parts.items():
            text = "".join(f"{line}\n" for line in _exposed(own, metrics, labels))
            (folder / f"{part}.om").write_text(text + "# EOF\n", encoding="utf-8")


def _series(
    samples: list[Any], metrics: Metrics, labels: Callable[[Any], Labels]
) -> Iterator[tuple[str, dict[str, list[tuple[float, object, Labels]]]]]:
    """Each metric with its series, each in the order of time."""
    ordered = sorted(samples, key=lambda r: (str(labels(r)), r.ts))
    for name, column, shown in metrics:
        series: dict[str, list[tuple[float, object, Labels]]] = defaultdict(list)
        for row in ordered:
            if (value := getattr(row, column)) is not None:
                own = labels(row)
                series[str(own)].append((row.ts.timestamp(), shown(value), own))
        if series:
            yield name, series


def _exposed(samples: list[Any], metrics: Metrics, labels: Callable[[Any], Labels]) -> Iterator[str]:
    """OpenMetrics with times: a series follows another."""
    for name, series in _series(samples, metrics, labels):
        yield f"# TYPE {name} gauge"
        for points in series.values():
            text = ",".join(f'{k}="{v}"' for k, v in points[0][2].items())
            yield from (f"{name}{{{text}}} {value} {ts:.3f}" for ts, value, _ in points)


def _matrix(name: str, series: Mapping[str, list[tuple[float, object, Labels]]], step: float) -> str:
    """What `/api/v1/query_range` answers: at each step of the grid the newest value before it."""
    result = [
        {"metric": {"__name__": name, **points[0][2]}, "values": list(_gridded(points, step))}
        for points in series.values()
    ]
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": result}})


def _gridded(points: list[tuple[float, object, Labels]], step: float) -> Iterator[list[object]]:
    gaps = sorted(b[0] - a[0] for a, b in pairwise(points))
    fresh = min(_STALE * max(gaps[len(gaps) // 2] if gaps else step, step), _LOOKBACK_S)
    at, tick = 0, -(-points[0][0] // step) * step
    while tick <= points[-1][0] + step:
        while at + 1 < len(points) and points[at + 1][0] <= tick:
            at += 1
        if points[at][0] <= tick and tick - points[at][0] <= fresh:
            yield [int(tick), str(points[at][1])]
        tick += step


def _gpu(row: Any) -> Labels:
    uuid = {"UUID": row.gpu_uuid} if row.gpu_uuid else {}
    card = {"device": f"nvidia{row.gpu}", "modelName": "NVIDIA H100 80GB HBM3"}
    return {"gpu": str(row.gpu), **uuid, **card, "Hostname": str(row.node)}


def _host(row: Any) -> Labels:
    return {"instance": f"{row.node}:9100", "job": "node"}

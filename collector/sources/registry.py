"""Every live source of a node by name. A source's module is loaded only when it is wanted."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Sequence
from typing import cast

from collector.node.here import Here
from collector.sources.base import Source

SOURCES: dict[str, tuple[str, str]] = {
    "cgroup": ("Cgroup", "memory, OOM kills and pressure of jobs and steps"),
    "dcgm": ("Dcgm", "dcgm-exporter: SM and tensor activity before Hopper (on with $INQUEST_DCGM_URL)"),
    "disk": ("Disk", "how full local file systems are"),
    "ebpf": ("Ebpf", "CUDA calls, NCCL collectives, ends and output of job processes, by kernel probes"),
    "host": ("Host", "load, memory, pressure, disks, interfaces, the clock's offset"),
    "infiniband": ("Infiniband", "InfiniBand, RoCE and EFA ports: errors and flaps"),
    "kernel_log": ("KernelLog", "XIDs, OOM kills, hung tasks, machine checks, storage stalls"),
    "network": ("Network", "network interfaces: errors and carrier losses"),
    "nvml": ("Nvml", "NVIDIA GPUs: samples, XIDs, throttling, NVLink, MIG"),
    "ourselves": ("Ourselves", "what the collector itself costs"),
    "remote_disk": ("RemoteDisk", "how full remote file systems are, and whether they answer"),
    "topology": ("Topology", "processes of jobs: step, rank, GPUs, container, how they ended"),
}
"""Module's stem → its class and what it looks at. A class takes a `Here`."""

OPTIONAL: dict[str, str] = {"dcgm": "INQUEST_DCGM_URL"}
"""Only when named, or when this variable is set."""


def sources(here: Here, names: Sequence[str] = ()) -> list[Source]:
    """The sources of these names, or all that are on by default. Raises KeyError with a name that is none."""
    wanted = list(names) or [n for n in SOURCES if n not in OPTIONAL or os.environ.get(OPTIONAL[n])]
    return [make(name, here) for name in wanted]


def make(name: str, here: Here) -> Source:
    """One source."""
    module = importlib.import_module(f"collector.sources.{name}")
    return cast("Callable[[Here], Source]", getattr(module, SOURCES[name][0]))(here)

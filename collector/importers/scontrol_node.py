"""`scontrol show node` (with or without `-o`): a node's state, its reason, its load and allocation.

SOURCE  scontrol of Slurm 20.11 to 26.05.
ROWS    slurm_node_state (a snapshot, from when its reason was set), slurm_node_sample (at the file's own time).

    NodeName=node1 Arch=x86_64 CoresPerSocket=32
       State=DOWN+DRAIN ThreadsPerCore=1 Reason=Kill task failed [root@2026-03-01T10:00:00]
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar

from collector.formats import slurm_values as sv
from collector.formats.forms import Form, of_fields
from collector.formats.key_values import Blocks
from collector.formats.node_states import node_state
from collector.formats.text import decode, lines
from collector.importers.base import ImportContext, ImportFailed
from store import lazy
from store.rows import Row, SlurmNodeSample, SlurmNodeState

_KEYS = [
    "Arch",
    "CoresPerSocket",
    "CPUAlloc",
    "CPUEfctv",
    "CPUErr",
    "CPUTot",
    "CPULoad",
    "AvailableFeatures",
    "ActiveFeatures",
    "Gres",
    "GresDrain",
    "GresUsed",
    "NodeAddr",
    "NodeHostName",
    "Port",
    "Version",
    "OS",
    "RealMemory",
    "AllocMem",
    "FreeMem",
    "Sockets",
    "Boards",
    "SocketsPerBoard",
    "MemSpecLimit",
    "CPUSpecList",
    "CoreSpecCount",
    "State",
    "ThreadsPerCore",
    "TmpDisk",
    "Weight",
    "Owner",
    "MCS_label",
    "Partitions",
    "BootTime",
    "SlurmdStartTime",
    "LastBusyTime",
    "ResumeAfterTime",
    "CfgTRES",
    "AllocTRES",
    "CapWatts",
    "CurrentWatts",
    "AveWatts",
    "LowestJoules",
    "ConsumedJoules",
    "ExtSensorsJoules",
    "ExtSensorsWatts",
    "ExtSensorsTemp",
    "ReservationName",
    "NextState",
    "InstanceId",
    "InstanceType",
    "Topology",
    "CertFlags",
    "KeepAliveTime",
    "ParentJobs",
]
BLOCKS = Blocks("NodeName", _KEYS, ("Reason", "Comment", "Extra", "OS"))
_REASON = lazy.compile(r"(?P<text>.*?)\s*\[(?P<user>[^@\]]*)@(?P<time>[^\]]+)\]\s*\Z", re.DOTALL)
_ON_HOLD = frozenset({"DOWN", "DRAINED", "DRAINING", "FAIL", "FAILING", "ERROR"})


class ScontrolNode:
    """Reads scontrol's blocks of nodes."""

    name: ClassVar[str] = "scontrol_node"
    covers: ClassVar[tuple[str, ...]] = ("slurm_node_state", "slurm_node_sample")

    def claims(self, path: Path, head: bytes) -> int:
        """Blocks that begin with NodeName= and name a State."""
        text = decode(head)
        return 94 if re.match(r"\s*NodeName=\S+ ", text) and "State=" in text and "CPUTot=" in text else 0

    def form(self, lines: Sequence[str]) -> Form:
        """Fields with their values."""
        return of_fields

    def aliases(self, path: Path, ctx: ImportContext) -> Iterator[tuple[str, str]]:
        """Each node with its address and its host's name."""
        for _, block in BLOCKS.cut(lines(path, ctx)):
            for key in ("NodeAddr", "NodeHostName"):
                if (node := sv.word(block.get("NodeName"))) and (other := sv.word(block.get(key))):
                    yield node, other

    def rows(self, path: Path, ctx: ImportContext) -> Iterator[Row]:
        """A state and a sample per node."""
        count = 0
        for number, block in BLOCKS.cut(lines(path, ctx)):
            count += 1
            origin, node = f"{ctx.name}:{number}", sv.word(block.get("NodeName"))
            base, flags = node_state(block.get("State", ""))
            told = _REASON.match(block.get("Reason", ""))
            since = sv.time(told.group("time"), ctx.zone) if told else None
            yield SlurmNodeState(
                cluster=ctx.cluster,
                node=node,
                ts=(since if base in _ON_HOLD else None) or ctx.modified,
                origin=origin,
                state=base,
                state_flags=flags,
                reason=sv.word(told.group("text")) if told else sv.word(block.get("Reason")),
                reason_user=sv.word(told.group("user")) if told else None,
                observed=True,
            )
            allocated = sv.tres(block.get("AllocTRES"))
            configured = sv.tres(block.get("CfgTRES"))
            load = sv.word(block.get("CPULoad"))
            used = sv.tres_gpus(allocated)
            gpus = sv.tres_gpus(configured)
            yield SlurmNodeSample(
                cluster=ctx.cluster,
                node=node,
                ts=ctx.modified,
                origin=origin,
                cpu_load=float(load) if load and re.fullmatch(r"\d+(?:\.\d+)?", load) else None,
                cpus=sv.integer(block.get("CPUTot")),
                cpus_alloc=sv.integer(block.get("CPUAlloc")),
                memory_bytes=sv.size(block.get("RealMemory"), "M"),
                memory_alloc_bytes=sv.size(block.get("AllocMem"), "M"),
                memory_free_bytes=sv.size(block.get("FreeMem"), "M"),
                gpus=gpus if gpus is not None else sv.gres_gpus(block.get("Gres")),
                gpus_alloc=used if used is not None else sv.gres_gpus(block.get("GresUsed")),
                boot_ts=sv.time(block.get("BootTime"), ctx.zone),
                slurmd_start_ts=sv.time(block.get("SlurmdStartTime"), ctx.zone),
            )
        if not count:
            raise ImportFailed("no block that begins with NodeName=")

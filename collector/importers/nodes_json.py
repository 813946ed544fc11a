"""`scontrol show node --json`, slurmrestd's `/slurm/nodes`, `sinfo --json`: node states with exact times.

SOURCE  Slurm 21.08 to 26.05. Until 22.05 `sinfo --json` prints what scontrol does; from 23.02 on it groups nodes that are alike, and
        has no sample of each.
ROWS    slurm_node_state (a snapshot, from when its reason was set), slurm_node_sample (at the file's own time).

    {"nodes": [{"name": "node1", "state": ["DOWN", "DRAIN"], "reason": "Not responding", "reason_changed_at": 1772359200}]}
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from collector.formats import slurm_json as sj
from collector.formats import slurm_values as sv
from collector.formats.hostlist import expand
from collector.formats.node_states import node_state
from collector.formats.text import decode, whole
from collector.importers.base import ImportContext, ImportFailed
from store import lazy
from store.rows import Row, SlurmNodeSample, SlurmNodeState

LIMIT = 256 << 20
_NODES = lazy.compile(r'"nodes"\s*:\s*\[')
_GROUPS = lazy.compile(r'"sinfo"\s*:\s*\[')
_ON_HOLD = frozenset({"DOWN", "DRAINED", "DRAINING", "FAIL", "FAILING", "ERROR"})


class NodesJson:
    """Reads the controller's nodes."""

    name: ClassVar[str] = "nodes_json"
    covers: ClassVar[tuple[str, ...]] = ("slurm_node_state", "slurm_node_sample")

    def claims(self, path: Path, head: bytes) -> int:
        """A list of nodes with the controller's members."""
        if _GROUPS.search(decode(head)) and b'"hostnames"' in head:
            return 95
        if b'"real_memory"' not in head or b'"state"' not in head:
            return 0
        return 95 if _NODES.search(decode(head)) else 0

    def aliases(self, path: Path, ctx: ImportContext) -> Iterator[tuple[str, str]]:
        """Each node with its address and its host's name; none where nodes are grouped."""
        raw = whole(path, ctx, LIMIT)
        text = decode(raw) if raw is not None else ""
        for item in sj.array(text, "nodes", ctx.problem) if _NODES.search(text) else ():
            for key in ("address", "hostname"):
                if (node := sj.text(item.get("name"))) and (other := sj.text(item.get(key))):
                    yield node, other

    def rows(self, path: Path, ctx: ImportContext) -> Iterator[Row]:
        """A state and a sample per node."""
        raw = whole(path, ctx, LIMIT)
        if raw is None:
            raise ImportFailed(f"more than {LIMIT >> 20} MiB of JSON: ask for fewer nodes")
        text = decode(raw)
        if _GROUPS.search(text):
            yield from _grouped(text, ctx)
            return
        count = 0
        for count, item in enumerate(sj.array(text, "nodes", ctx.problem), 1):
            origin, node = f"{ctx.name}:nodes[{count - 1}]", sj.text(item.get("name"))
            node = node.partition(".")[0] if node else None
            base, flags = node_state([*sj.words(item.get("state")), *sj.words(item.get("state_flags"))])
            since = sj.moment(item.get("reason_changed_at"))
            yield SlurmNodeState(
                cluster=sj.text(item.get("cluster_name")) or ctx.cluster,
                node=node,
                ts=(since if base in _ON_HOLD else None) or ctx.modified,
                origin=origin,
                state=base,
                state_flags=flags,
                reason=sj.text(item.get("reason")),
                reason_user=sj.text(item.get("reason_set_by_user")),
                observed=True,
            )
            allocated, configured = sv.tres(sj.text(item.get("tres_used"))), sv.tres(sj.text(item.get("tres")))
            used, gpus = sv.tres_gpus(allocated), sv.tres_gpus(configured)
            load, memory = sj.number(item.get("cpu_load")), sj.whole(item.get("real_memory"))
            free = sj.whole(item.get("free_mem", item.get("free_memory")))
            taken = sj.whole(item.get("alloc_memory"))
            yield SlurmNodeSample(
                cluster=sj.text(item.get("cluster_name")) or ctx.cluster,
                node=node,
                ts=ctx.modified,
                origin=origin,
                cpu_load=load / 100 if load is not None and load < 1e9 else None,
                cpus=sj.whole(item.get("cpus")),
                cpus_alloc=sj.whole(item.get("alloc_cpus")),
                memory_bytes=memory << 20 if memory is not None and 0 <= memory < 1 << 40 else None,
                memory_alloc_bytes=taken << 20 if taken is not None and 0 <= taken < 1 << 40 else None,
                memory_free_bytes=free << 20 if free is not None and 0 <= free < 1 << 40 else None,
                gpus=gpus if gpus is not None else sv.gres_gpus(sj.text(item.get("gres"))),
                gpus_alloc=used if used is not None else sv.gres_gpus(sj.text(item.get("gres_used"))),
                boot_ts=sj.moment(item.get("boot_time")),
                slurmd_start_ts=sj.moment(item.get("slurmd_start_time")),
            )
        if not count and ctx.problem_count:
            raise ImportFailed(f"no node could be read: {ctx.problems[0]}")


def _grouped(text: str, ctx: ImportContext) -> Iterator[Row]:
    """A state for each node of `sinfo --json`; one that is in several partitions is told of in each."""
    told: set[str] = set()
    for at, item in enumerate(sj.array(text, "sinfo", ctx.problem)):
        node, reason, nodes = (sj.obj(item.get(k)) for k in ("node", "reason", "nodes"))
        base, flags = node_state(sj.words(node.get("state")))
        since = sj.moment(reason.get("time"))
        for name in (n for some in sj.items(nodes.get("nodes")) if isinstance(some, str) for n in expand(some)):
            if name in told:
                continue
            told.add(name)
            yield SlurmNodeState(
                cluster=sj.text(item.get("cluster")) or ctx.cluster,
                node=name.partition(".")[0],
                ts=(since if base in _ON_HOLD else None) or ctx.modified,
                origin=f"{ctx.name}:sinfo[{at}]",
                state=base,
                state_flags=flags,
                reason=sj.text(reason.get("description")),
                reason_user=sj.text(reason.get("user")),
                observed=True,
            )

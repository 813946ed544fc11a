"""nccl.bpf.c's other half: the functions of NCCL (and the driver's events) that it counts, and its counters as rows.

`enqueued` is exact. An end is what the host sees: an event behind the collective that it found finished, or a stream that it
waited for; NCCL runs the collectives of a communicator in order, so an end ends all before it. A program that never asks
shows none: then `completed` and `in_flight` stay unknown.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from collector.ebpf.kernel import Map

KINDS = {
    1: "all_reduce", 2: "broadcast", 3: "reduce", 4: "all_gather", 5: "reduce_scatter", 6: "all_to_all", 7: "gather",
    8: "scatter", 9: "send", 10: "recv",
}  # fmt: skip
_COLLECTIVES = {
    "ncclAllReduce": "all_reduce", "ncclBroadcast": "broadcast", "ncclReduce": "reduce",
    "ncclAllGather": "all_gather", "ncclReduceScatter": "reduce_scatter", "ncclAlltoAll": "all_to_all",
    "ncclGather": "gather", "ncclScatter": "scatter", "ncclSend": "send", "ncclRecv": "recv",
}  # fmt: skip
"""Not ncclBcast, which calls ncclBroadcast: it would be counted twice."""
_INITS = {
    "ncclCommInitRank": "init", "ncclCommInitRankConfig": "init", "ncclCommInitRankScalable": "scalable",
    "ncclCommSplit": "split", "ncclCommShrink": "shrunk",
}  # fmt: skip

PROBES: tuple[tuple[str, str, bool], ...] = (
    *((symbol, program, False) for symbol, program in _COLLECTIVES.items()),
    *(e for symbol, program in _INITS.items() for e in ((symbol, program, False), (symbol, "init_done", True))),
    *((n, "closed", False) for n in ("ncclCommDestroy", "ncclCommAbort")),
)
ENDS: tuple[tuple[str, str, bool], ...] = (
    *((n, "recorded", False) for n in ("cuEventRecord", "cuEventRecord_ptsz", "cuEventRecordWithFlags",
                                       "cuEventRecordWithFlags_ptsz")),
    *(e for n in ("cuEventQuery", "cuEventSynchronize") for e in ((n, "event_asked", False), (n, "finished", True))),
    *(e for n in ("cuStreamQuery", "cuStreamQuery_ptsz", "cuStreamSynchronize", "cuStreamSynchronize_ptsz")
      for e in ((n, "stream_asked", False), (n, "finished", True))),
)  # fmt: skip
"""Functions of libcuda, probed only where a process maps both libraries."""

COMM_KEY, COMM, KIND_KEY, KIND = "=QII", "=QQQIiIIII", "=QII", "=QQ"


@dataclass(frozen=True, slots=True)
class Enqueued:
    """Collectives of one kind."""

    kind: str
    count: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Spoke:
    """One communicator of one process in an interval. None: not known from here."""

    pid: int
    comm: str
    size: int | None
    rank: int | None
    seq: int | None
    completed: int | None
    in_flight: int | None
    kinds: tuple[Enqueued, ...]


@dataclass(slots=True)
class Talks:
    """Reads the counters: each reading gives what came since the one before."""

    comms: Map
    kinds: Map
    _done: dict[tuple[int, int], int] = field(default_factory=dict[tuple[int, int], int])
    _counts: dict[tuple[int, int, int], tuple[int, int]] = field(
        default_factory=dict[tuple[int, int, int], tuple[int, int]]
    )

    def take(self, only: int | None = None) -> Iterator[Spoke]:
        """All communicators, or those of a process that has ended, whose entries are removed."""
        kinds: dict[tuple[int, int], list[Enqueued]] = {}
        for (comm, pid, kind), (count, size) in self.kinds.items():
            if only is not None and pid != only:
                continue
            before = self._counts.get((comm, pid, kind), (0, 0))
            self._counts[comm, pid, kind] = (count, size)
            if count > before[0]:
                told = Enqueued(KINDS.get(kind, "other"), count - before[0], size - before[1])
                kinds.setdefault((comm, pid), []).append(told)
            if only is not None:
                self.kinds.delete(comm, pid, kind)
                self._counts.pop((comm, pid, kind), None)
        for (comm, pid, _), (ident, seq, done, size, rank, ends, closed, *_) in self.comms.items():
            if only is not None and pid != only:
                continue
            completed = done - self._done.get((comm, pid), 0) if ends else None
            self._done[comm, pid] = done
            yield Spoke(
                pid=pid,
                comm=f"{ident:016x}" if ident else f"{pid}:{comm:x}",
                size=size or None,
                rank=rank if rank >= 0 else None,
                seq=seq if ident else None,
                completed=completed,
                in_flight=max(seq - done, 0) if ends else None,
                kinds=tuple(kinds.get((comm, pid), ())),
            )
            if closed or only is not None:
                self.comms.delete(comm, pid, 0)
                self._done.pop((comm, pid), None)

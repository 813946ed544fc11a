"""PyTorch's flight recorder (`TORCH_NCCL_DUMP_ON_TIMEOUT`): one row per entry, one per process group's status.

SOURCE  dumps of torch 2.2 to 2.9 as JSON, or as pickles (`nccl_trace_rank_3`, `_dump_3`), read by an unpickler that can
        make plain data only: a pickle that names any class or function is refused before anything of it runs.
ROWS    nccl_sample. The rank is the dump's own, else the number at the end of the file's name.
CAVEAT  the buffer holds the last entries only; times are wall-clock nanoseconds of the process.

    {"version": "2.9", "pg_status": {"0": {"last_enqueued_collective": 12}}, "entries": [{"collective_seq_id": 12, "state": "started"}]}
"""

from __future__ import annotations

import io
import json
import pickle
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar

from collector.formats import slurm_json as sj
from collector.formats.text import decode, whole
from collector.importers.base import ImportContext, ImportFailed
from collector.intake.discover import stem
from store import lazy
from store.rows import NcclSample, Row

LIMIT = 256 << 20
_RANK = lazy.compile(r"(?:rank|dump|trace)[_.-]?(?:rank[_.-]?)?(\d{1,7})|(?:^|[_.-])r?(\d{1,7})$", re.IGNORECASE)
_OPERATION = lazy.compile(r"^(?:nccl|gloo|mpi|ucc|xccl|hccl):", re.IGNORECASE)
_NAMES = {
    "allreduce": "all_reduce", "all_reduce_barrier": "barrier", "allreduce_coalesced": "all_reduce",
    "_allgather_base": "all_gather", "allgather": "all_gather", "all_gather_into_tensor": "all_gather",
    "_all_gather_base": "all_gather", "allgather_into_tensor_coalesced": "all_gather",
    "_reduce_scatter_base": "reduce_scatter", "reduce_scatter_tensor": "reduce_scatter",
    "reduce_scatter_tensor_coalesced": "reduce_scatter", "alltoall": "all_to_all", "alltoall_base": "all_to_all",
    "all_to_all_single": "all_to_all", "_broadcast_oop": "broadcast", "_reduce_oop": "reduce",
}  # fmt: skip
_FRAMES = 8


class _PlainData(pickle.Unpickler):
    """Knows no class and no function, so nothing of the pickle can run."""

    def find_class(self, module_name: str, global_name: str, /) -> Any:
        """Refuse."""
        raise pickle.UnpicklingError(f"it names {module_name}.{global_name}: only plain data is read")

    def persistent_load(self, pid: Any) -> Any:
        """Refuse."""
        raise pickle.UnpicklingError("it refers to objects outside itself")


class FlightRecorder:
    """Reads flight-recorder dumps."""

    name: ClassVar[str] = "flight_recorder"
    covers: ClassVar[tuple[str, ...]] = ("nccl_sample",)

    def claims(self, path: Path, head: bytes) -> int:
        """JSON with entries that have collective numbers, or a pickle with the same words."""
        if b"entries" not in head and b"pg_status" not in head and b"pg_config" not in head:
            return 0
        told = sum(
            word in head
            for word in (b"pg_status", b"pg_config", b"collective_seq_id", b"p2p_seq_id", b"profiling_name")
        )
        if told == 0:
            return 0
        if head.startswith(b"\x80"):
            return 95
        return 95 if head.lstrip()[:1] == b"{" else 0

    def rows(self, path: Path, ctx: ImportContext) -> Iterator[Row]:
        """The status of each process group, then the entries in the dump's order."""
        dump = _load(path, ctx)
        entries = sj.items(dump.get("entries"))
        rank = sj.whole(dump.get("rank"))
        rank = rank_of(path.name) if rank is None else rank
        if rank is None:
            ctx.problem("neither the dump nor the file's name says which rank this is")
        groups = _Groups(dump, rank)
        numbers = _numbers(dump, entries)
        last = max((t for e in entries if (t := _newest(sj.obj(e)))), default=None)
        for name, status in sj.obj(dump.get("pg_status")).items():
            yield _status(sj.obj(status), groups.fields(*numbers.get(str(name), _unnamed(name))), ctx, rank, last)
        for entry in entries:
            row = _entry(sj.obj(entry), groups, ctx, rank)
            if row is not None:
                yield row


def rank_of(name: str) -> int | None:
    """The rank in a dump's file name: `nccl_trace_rank_3`, `_dump_3`, `rank03.json`, `3.pkl`."""
    bare = stem(PurePosixPath(name).name)
    bare = re.sub(r"\.(?:json|pkl|pickle|bin|dump)$", "", bare)
    found = [next(g for g in m.groups() if g) for m in _RANK.finditer(bare)]
    return int(found[-1]) if found else None


def _load(path: Path, ctx: ImportContext) -> sj.Object:
    raw = whole(path, ctx, LIMIT)
    if raw is None:
        raise ImportFailed(f"more than {LIMIT >> 20} MiB: no flight recorder writes that much")
    try:
        value: Any = _PlainData(io.BytesIO(raw)).load() if raw.startswith(b"\x80") else json.loads(decode(raw))
    except (pickle.UnpicklingError, ValueError, RecursionError) as error:
        raise ImportFailed(f"the dump cannot be read: {str(error)[:200]}") from None
    except Exception as error:  # a broken pickle fails with whatever its opcodes meet
        raise ImportFailed(f"the dump is broken: {type(error).__name__}") from None
    if isinstance(value, list):
        return {"entries": sj.items(value)}
    if not isinstance(value, dict):
        raise ImportFailed("the dump is not an object with entries")
    return sj.obj(value)


def _numbers(dump: sj.Object, entries: list[Any]) -> dict[str, tuple[str, str]]:
    """Name and description of the groups by their number in this process: the status knows only numbers.

    Entries tell of the groups that were used lately. Names count up over the job, numbers over the process, both in order of
    creation: where there are as many of one as of the other and the entries agree, the order tells the rest.
    """
    told: dict[str, tuple[str, str]] = {}
    for entry in map(sj.obj, entries):
        group = sj.items(entry.get("process_group"))
        if group and entry.get("pg_id") is not None:
            told.setdefault(str(entry["pg_id"]), (str(group[0]), str(group[1]) if len(group) > 1 else ""))
    names, numbers = sj.obj(dump.get("pg_config")), sj.obj(dump.get("pg_status"))
    if len(names) != len(numbers) or not all(str(k).isdecimal() and len(str(k)) < 10 for k in (*names, *numbers)):
        return told
    pairs = zip(sorted(map(str, numbers), key=int), sorted(map(str, names), key=int), strict=True)
    ordered = {number: (name, str(sj.obj(names[name]).get("desc") or "")) for number, name in pairs}
    agrees = all(ordered.get(number, (name, ""))[0] == name for number, (name, _) in told.items())
    return ordered if agrees else told


def _unnamed(number: str) -> tuple[str, str]:
    """A group that no entry names; the first is always the default one."""
    return ("0", "") if str(number) == "0" else (f"pg_id {number}", "")


class _Groups:
    """The process groups of a dump: name to description, members, and this rank's number in each."""

    def __init__(self, dump: sj.Object, rank: int | None) -> None:
        self._described: dict[str, tuple[str, list[int]]] = {}
        for key, value in sj.obj(dump.get("pg_config")).items():
            config = sj.obj(value)
            ranks = config.get("ranks")
            if isinstance(ranks, str):
                members = [int(n) for n in re.findall(r"\d{1,7}", ranks)]
            else:
                members = [n for n in map(sj.whole, sj.items(ranks)) if n is not None]
            self._described[str(key)] = (str(config.get("desc") or ""), members)
        self._rank = rank

    def fields(self, name: str, described: str = "") -> dict[str, Any]:
        """The columns that say which communicator a row is about."""
        desc, members = self._described.get(name, (described, []))
        desc = described or desc
        number = members.index(self._rank) if self._rank is not None and self._rank in members else None
        return {
            "comm": f"{name}:{desc}" if desc and desc != name else name,
            "comm_size": len(members) or None,
            "comm_rank": number,
        }


def _status(
    status: sj.Object, group: dict[str, Any], ctx: ImportContext, rank: int | None, last: datetime | None
) -> NcclSample:
    enqueued, completed = (
        sj.whole(status.get("last_enqueued_collective")),
        sj.whole(status.get("last_completed_collective")),
    )
    known = enqueued is not None and completed is not None and min(enqueued, completed) >= 0
    return NcclSample(
        cluster=ctx.cluster,
        node=ctx.node,
        ts=last,
        origin=ctx.name,
        job_id=ctx.job_id,
        attempt=ctx.attempt,
        rank=rank,
        last_enqueued_seq=enqueued,
        last_completed_seq=completed,
        in_flight=enqueued - completed if known and enqueued is not None and completed is not None else None,
        **group,
    )


def _entry(entry: sj.Object, groups: _Groups, ctx: ImportContext, rank: int | None) -> NcclSample | None:
    if not entry:
        ctx.problem("an entry that is not an object")
        return None
    group = entry.get("process_group")
    parts = [str(p) for p in sj.items(group)] or ([str(group)] if group is not None else [str(entry.get("pg_id", ""))])
    created, started, ended = (
        _moment(entry.get(k)) for k in ("time_created_ns", "time_discovered_started_ns", "time_discovered_completed_ns")
    )
    operation = _OPERATION.sub("", str(entry.get("profiling_name") or ""))
    point = entry.get("is_p2p") is True
    seq = sj.whole(entry.get("p2p_seq_id" if point else "collective_seq_id"))
    duration = sj.number(entry.get("duration_ms"))
    return NcclSample(
        cluster=ctx.cluster,
        node=ctx.node,
        ts=created or started or ended,
        origin=ctx.name,
        job_id=ctx.job_id,
        attempt=ctx.attempt,
        rank=rank,
        collective=_NAMES.get(operation, operation) or None,
        seq=seq if seq is not None else sj.whole(entry.get("seq_id")),
        bytes=_bytes(entry),
        duration_ms=float(duration) if duration is not None else None,
        state=sj.text(entry.get("state")),
        sizes=f"{_sizes(entry.get('input_sizes'))} -> {_sizes(entry.get('output_sizes'))}",
        frames=_frames(entry.get("frames")),
        started_ts=started,
        completed_ts=ended,
        **groups.fields(parts[0], parts[1] if len(parts) > 1 else ""),
    )


def _newest(entry: sj.Object) -> datetime | None:
    keys = ("time_created_ns", "time_discovered_started_ns", "time_discovered_completed_ns")
    return max((t for k in keys if (t := _moment(entry.get(k)))), default=None)


def _moment(value: Any) -> datetime | None:
    nanoseconds = sj.whole(value)
    if not nanoseconds or not 0 < nanoseconds < 4_000_000_000_000_000_000:
        return None
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=nanoseconds // 1000)


_WIDTHS = {
    "double": 8, "long": 8, "float64": 8, "int64": 8, "complexfloat": 8, "float": 4, "int": 4, "float32": 4, "int32": 4,
    "half": 2, "bfloat16": 2, "float16": 2, "short": 2, "byte": 1, "char": 1, "bool": 1, "uint8": 1, "int8": 1,
}  # fmt: skip


def _bytes(entry: sj.Object) -> int | None:
    """Size of the inputs, where their types are known."""
    total: int | None = None
    for shape, kind in zip(sj.items(entry.get("input_sizes")), sj.items(entry.get("input_dtypes")), strict=False):
        width = _WIDTHS.get(
            str(kind).lower().removeprefix("torch.").removeprefix("c10::"), 1 if "float8" in str(kind).lower() else 0
        )
        count = 1
        for side in sj.items(shape):
            count *= sj.whole(side) or 0
        if not width or count > 1 << 50:
            return None
        total = (total or 0) + count * width
    return total


def _sizes(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), default=str)[:500] if value is not None else "?"


def _frames(value: Any) -> str | None:
    told: list[str] = []
    for frame in sj.items(value)[:_FRAMES]:
        if isinstance(frame, str):
            told.append(frame[:300])
        else:
            item = sj.obj(frame)
            told.append(f"{item.get('filename', '?')}:{item.get('line', '?')} in {item.get('name', '?')}"[:300])
    return "\n".join(told) or None

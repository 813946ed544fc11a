"""`sacctmgr show event --parsable2` (or its table): when nodes were down or drained, and why.

SOURCE  sacctmgr of Slurm 20.11 to 26.05, best with `start=YYYY-MM-DD` and `format=Cluster,NodeName,Start,End,State,Reason,User`.
ROWS    slurm_node_state. An event without a node is about the controller itself.

    Cluster|NodeName|TimeStart|TimeEnd|State|Reason|User
    gpu|node7|2026-03-01T10:00:00|Unknown|DOWN*|Not responding|slurm(64030)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar

from collector.formats import slurm_values as sv
from collector.formats.delimited import Layout, header, records
from collector.formats.node_states import node_state
from collector.formats.text import decode, lines
from collector.importers.base import ImportContext, ImportFailed
from store import lazy
from store.rows import Row, SlurmNodeState

_NAMES = {
    "node name": "nodename", "node": "nodename", "start": "timestart", "end": "timeend", "time start": "timestart",
    "time end": "timeend",
}  # fmt: skip
_TIME = lazy.compile(r"(?:\d{4}-\d\d-\d\dT[\d:.+-]+|\d{9,11}|Unknown|None|N/A|)\Z")


class SacctmgrEvent:
    """Reads sacctmgr's events."""

    name: ClassVar[str] = "sacctmgr_event"
    covers: ClassVar[tuple[str, ...]] = ("slurm_node_state",)

    def claims(self, path: Path, head: bytes) -> int:
        """A header with node name, start and state."""
        layout, _ = _layout(decode(head).splitlines()[:10])
        return 0 if layout is None else 95

    def rows(self, path: Path, ctx: ImportContext) -> Iterator[Row]:
        """One interval per event."""
        first = [text for _, text in _first(path, ctx)]
        layout, skip = _layout(first)
        if layout is None:
            raise ImportFailed("no header with NodeName, TimeStart and State")
        checks = [layout.names.index(n) for n in ("timestart", "timeend") if n in layout.names]

        def looks_right(values: Sequence[str]) -> bool:
            return all(i < len(values) and _TIME.match(values[i].strip()) for i in checks)

        body = (item for item in lines(path, ctx) if item[0] > skip)
        for number, values in records(body, layout, looks_right, ctx.problem):
            cells = dict(zip(layout.names, values, strict=True))
            base, flags = node_state((cells.get("state") or "").strip())
            yield SlurmNodeState(
                cluster=sv.word(cells.get("cluster")) or ctx.cluster,
                node=sv.word(cells.get("nodename")),
                ts=sv.time(cells.get("timestart"), ctx.zone),
                origin=f"{ctx.name}:{number}",
                state=base,
                state_flags=flags,
                end_ts=sv.time(cells.get("timeend"), ctx.zone),
                reason=sv.word(cells.get("reason")),
                reason_user=sv.word(cells.get("user")),
                observed=False,
            )


def _first(path: Path, ctx: ImportContext) -> Iterator[tuple[int, str]]:
    for number, text in lines(path, ImportContext(ctx.name, ctx.zone)):
        yield number, text
        if number >= 10:
            return


def _layout(texts: Sequence[str]) -> tuple[Layout | None, int]:
    for i, text in enumerate(texts):
        layout = header(text, texts[i + 1] if i + 1 < len(texts) else "")
        if layout is None:
            continue
        layout.names = [_NAMES.get(n, n) for n in layout.names]
        if {"nodename", "timestart", "state"} <= set(layout.names):
            return layout, i + (2 if layout.spans else 1)
    return None, 0

"""`sinfo`, `sinfo -N`, `sinfo -R`: states of nodes, and why they are out of service.

SOURCE  sinfo of any version in its default columns, without --noheader.
ROWS    slurm_node_state: a snapshot at the file's own time; with -R from when the reason was set.

    PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST
    gpu*         up   infinite      2  down* node[3-4]
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import ClassVar

from collector import slurm_values as sv
from collector.hostlist import HostListError, expand
from collector.importers.base import ImportContext
from collector.node_states import node_state
from collector.text import decode, lines
from store.rows import Row, SlurmNodeState

_HEADS = {
    "summary": re.compile(r"^\s*PARTITION\s+AVAIL\s+TIMELIMIT\s+NODES\s+STATE\s+NODELIST\s*$"),
    "nodes": re.compile(r"^\s*NODELIST\s+NODES\s+PARTITION\s+STATE\s*$"),
    "reasons": re.compile(r"^\s*REASON\s+USER\s+TIMESTAMP\s+(?:STATE\s+)?NODELIST\s*$"),
}
_ROWS = {
    "summary": re.compile(r"\S+\s+\S+\s+\S+\s+\d+\s+(?P<state>\S+)\s+(?P<nodes>\S+)\s*$"),
    "nodes": re.compile(r"(?P<nodes>\S+)\s+\d+\s+\S+\s+(?P<state>\S+)\s*$"),
    "reasons": re.compile(
        r"(?P<reason>.*?)\s+(?P<user>\S+)\s+(?P<time>\d{4}-\d\d-\d\dT[\d:]+|Unknown)\s+(?:(?P<state>[a-z_*~#!%$@^+-]+)\s+)?(?P<nodes>\S+)\s*$"
    ),
}


class Sinfo:
    """Reads sinfo's default tables."""

    name: ClassVar[str] = "sinfo"
    covers: ClassVar[tuple[str, ...]] = ("slurm_node_state",)

    def claims(self, path: Path, head: bytes) -> int:
        """One of the default headers in the first lines."""
        return 90 if any(_kind(t) for t in decode(head[:2048]).splitlines()[:5]) else 0

    def rows(self, path: Path, ctx: ImportContext) -> Iterator[Row]:
        """One state per node; a node in several partitions once."""
        kind: str | None = None
        seen: set[tuple[str, str | None, datetime | None]] = set()
        for number, line in lines(path, ctx):
            kind = _kind(line) or kind
            if kind is None or _kind(line) or not line.strip():
                continue
            found = _ROWS[kind].match(line.strip())
            if found is None:
                ctx.problem(f"line {number}: not a row of sinfo: {line.strip()[:80]!r}")
                continue
            part = found.groupdict()
            base, flags = node_state(part.get("state") or "")
            since = sv.time(part.get("time"), ctx.zone) or ctx.modified
            try:
                nodes = expand(part["nodes"]) if part["nodes"] != "n/a" else []
            except HostListError as wrong:
                ctx.problem(f"line {number}: {wrong}")
                continue
            for node in nodes:
                if (node, base, since) in seen:
                    continue
                seen.add((node, base, since))
                yield SlurmNodeState(
                    cluster=ctx.cluster,
                    node=node,
                    ts=since,
                    origin=f"{ctx.name}:{number}",
                    state=base,
                    state_flags=flags,
                    reason=sv.word(part.get("reason")),
                    reason_user=sv.word(part.get("user")),
                    observed=True,
                )


def _kind(line: str) -> str | None:
    return next((kind for kind, pattern in _HEADS.items() if pattern.match(line)), None)

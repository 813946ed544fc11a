"""`sinfo`, `sinfo -N`, both with `-l`, `sinfo -R`: states of nodes, and why they are out of service.

SOURCE  sinfo of any version in its default columns, or in any with bars between them (`-o %all`), without --noheader.
ROWS    slurm_node_state: a snapshot at the file's own time; with -R from when the reason was set.

    PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST
    gpu*         up   infinite      2  down* node[3-4]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import ClassVar

from collector.formats import slurm_values as sv
from collector.formats.forms import Form, divided, first_with
from collector.formats.hostlist import HostListError, expand
from collector.formats.node_states import node_state
from collector.formats.text import decode, lines
from collector.importers.base import ImportContext
from collector.importers.squeue import barred, between, heads
from store import lazy
from store.rows import Row, SlurmNodeState

_HEADS = {
    "summary": lazy.compile(r"^\s*PARTITION\s+AVAIL\s+TIMELIMIT\s+NODES\s+STATE\s+NODELIST\s*$"),
    "nodes": lazy.compile(r"^\s*NODELIST\s+NODES\s+PARTITION\s+STATE\s*$"),
    "long": lazy.compile(
        r"^\s*PARTITION\s+AVAIL\s+TIMELIMIT\s+JOB_SIZE\s+ROOT\s+(?:OVERSUBS|SHARE)\s+GROUPS\s+NODES\s+STATE\s+(?:RESERVATION\s+)?NODELIST\s*$"
    ),
    "long_nodes": lazy.compile(
        r"^\s*NODELIST\s+NODES\s+PARTITION\s+STATE\s+CPUS\s+S:C:T\s+MEMORY\s+TMP_DISK\s+WEIGHT\s+(?:AVAIL_FE|FEATURES)\s+REASON\s*$"
    ),
    "reasons": lazy.compile(r"^\s*REASON\s+USER\s+TIMESTAMP\s+(?:STATE\s+)?NODELIST\s*$"),
}
_ROWS = {
    "summary": lazy.compile(r"\S+\s+\S+\s+\S+\s+\d+\s+(?P<state>\S+)\s+(?P<nodes>\S+)\s*$"),
    "nodes": lazy.compile(r"(?P<nodes>\S+)\s+\d+\s+\S+\s+(?P<state>\S+)\s*$"),
    "long": lazy.compile(r"(?:\S+\s+){7}\d+\s+(?P<state>[a-z_*~#!%$@^+-]+)\s+(?:\S+\s+)?(?P<nodes>\S+)\s*$"),
    "long_nodes": lazy.compile(
        r"(?P<nodes>\S+)\s+\d+\s+\S+\s+(?P<state>\S+)\s+\d+\s+[\d:]+\s+\d+\s+\d+\s+\d+\s+\S+\s+(?P<reason>\S.{0,200})$"
    ),
    "reasons": lazy.compile(
        r"(?P<reason>.*?)\s+(?P<user>\S+)\s+(?P<time>\d{4}-\d\d-\d\dT[\d:]+|Unknown)\s+(?:(?P<state>[a-z_*~#!%$@^+-]+)\s+)?(?P<nodes>\S+)\s*$"
    ),
}
# Of two columns of one name the first is it, as `%all` prints them; a single node is also its host.
_BARRED = {
    "NODELIST": "nodes",
    "HOSTNAMES": "host",
    "STATE": "state",
    "REASON": "reason",
    "USER": "user",
    "TIMESTAMP": "time",
}


class Sinfo:
    """Reads sinfo's default tables, and those with bars."""

    name: ClassVar[str] = "sinfo"
    covers: ClassVar[tuple[str, ...]] = ("slurm_node_state",)

    def claims(self, path: Path, head: bytes) -> int:
        """One of the default headers in the first lines."""
        start = decode(head[:2048])
        return 90 if any(_kind(t) for t in start.splitlines()[:5]) or heads(start, _barred) else 0

    def form(self, lines: Sequence[str]) -> Form | None:
        """As many words as the header, or bars; of reasons, which are free text, it is not told."""
        head = first_with("PARTITION|NODELIST", lines)
        if "|" in head:
            return divided("|", head)
        words = len(head.split())  # one fewer where a partition has no node
        return (lambda line: len(line.split()) in (words, words - 1)) if words and "REASON" not in head else None

    def rows(self, path: Path, ctx: ImportContext) -> Iterator[Row]:
        """One state per node; a node in several partitions once."""
        kind: str | None = None
        names: list[str] | None = None
        seen: set[tuple[str, str | None, datetime | None]] = set()
        for number, line in lines(path, ctx):
            head, bars = _kind(line), _barred(line)
            if head or bars or not line.strip():
                kind, names = (head, bars) if head or bars else (kind, names)
                continue
            if kind is None and names is None:
                continue
            part = _between(names, line) if names else _matched(kind, line)
            if part is None:
                ctx.problem(f"line {number}: not a row of sinfo: {line.strip()[:80]!r}")
                continue
            base, flags = node_state(part.get("state") or "")
            since = sv.time(part.get("time"), ctx.zone) or ctx.modified
            try:
                nodes = expand(part["nodes"] or "") if part["nodes"] != "n/a" else []
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


def _matched(kind: str | None, line: str) -> dict[str, str | None] | None:
    found = _ROWS[kind].match(line.strip()) if kind else None
    return found.groupdict() if found else None


def _barred(line: str) -> list[str] | None:
    return barred(
        line,
        (
            frozenset({"NODELIST", "HOSTNAMES"}),
            frozenset({"STATE"}),
            frozenset({"AVAIL", "REASON", "CPUS", "PARTITION"}),
        ),
    )


def _between(names: list[str], line: str) -> dict[str, str | None] | None:
    part = between(names, line, _BARRED)
    if not part:
        return None
    part["nodes"] = part.get("nodes") or part.get("host") or "n/a"
    if part.get("reason") is None:
        part["user"] = part["time"] = None
    return part


def _kind(line: str) -> str | None:
    return next((kind for kind, pattern in _HEADS.items() if pattern.match(line)), None)

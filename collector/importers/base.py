"""What an importer is: one file that another tool wrote, recognised by its place and its first bytes, to rows.

An importer streams: it never holds a whole file unless the format forces it to (JSON), and then says how large a file
it accepts. What it cannot read it reports through `ctx.problem(...)` and goes on; it raises `ImportFailed` only when
nothing of the file can be used.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from pathlib import Path
from typing import ClassVar, Protocol

from store.rows import Row


class ImportFailed(Exception):
    """Nothing of this file could be used; the text says why and what would help."""


@dataclass(slots=True)
class ImportContext:
    """What is known before the file is read, and what is found out while it is.

    `zone` applies to times without a zone; `zone_known` says whether it was given or inferred (else it is UTC by default).
    `own_zone`: that of what a log's program printed, where its clock was in another one.
    `start`: when a log's job began; for a node's file, when the jobs ran, where the file's own time is much later.
    `budget_bytes`: a log larger than this is read in parts (head, tail, windows, around what looks fatal), and says so.
    `name` is the file's path relative to what was imported (what `origin` and `file` columns carry).
    `nodes` are the nodes that accounting names, as Slurm spells them, and `aliases` their addresses and host names; `one_node`: the log's job ran on a single one.
    """

    name: str
    zone: tzinfo
    zone_known: bool = False
    own_zone: tzinfo | None = None
    cluster: str | None = None
    node: str | None = None
    job_id: str | None = None
    attempt: int | None = None
    modified: datetime | None = None
    start: datetime | None = None
    size: int = 0
    problems: list[str] = field(default_factory=list[str])
    problem_count: int = 0
    notes: list[str] = field(default_factory=list[str])
    bytes_read: int = 0
    on_progress: Callable[[int], None] | None = None
    budget_bytes: int | None = None
    seen_from: datetime | None = None
    seen_to: datetime | None = None
    nodes: Collection[str] = frozenset()
    aliases: Mapping[str, str] = field(default_factory=dict[str, str])
    one_node: bool = False

    def saw(self, ts: datetime | None) -> None:
        """Note that something of this time was read, whether or not it became a row: it widens the window looked at."""
        if ts is not None:
            if self.seen_from is None or ts < self.seen_from:
                self.seen_from = ts
            if self.seen_to is None or ts > self.seen_to:
                self.seen_to = ts

    def note(self, text: str) -> None:
        """Note a limit or a choice that is no damage: what was left out on purpose, what was assumed."""
        if len(self.notes) < 20:
            self.notes.append(text[:300])

    def problem(self, text: str) -> None:
        """Note something that could not be read; the first twenty are kept, all are counted."""
        self.problem_count += 1
        if len(self.problems) < 20:
            self.problems.append(text[:300])


class Importer(Protocol):
    """One file format. `name` is the module's stem; `covers` the tables it fills.

    An importer of accounting whose times are exact whatever the zone sets `exact_times = True` besides. One whose files
    repeat themselves has `blocks` besides: as `rows`, with many rows of one table in a `Block`. One that leaves some of its
    files alone where they merely lie in a folder, and reads them when asked by name, has `passes_over(path)`. One of a tool that
    scripts call has `form(lines)`: which lines may be the tool's, by the first ones of a file; None where they do not tell.
    One of a cluster's nodes has `aliases(path, ctx)`: each node with the addresses and host names that Slurm knows it by.
    """

    name: ClassVar[str]
    covers: ClassVar[tuple[str, ...]]

    def claims(self, path: Path, head: bytes) -> int:
        """How sure it is that this file is its own: 0 not at all to 100; `head` is the first 64 KiB.

        The folder that the file stands in (`path.parent.name`: slurm, logs, metrics, kernel, nccl, tables) may help,
        and a single file without such a folder must be recognised by its contents.
        """
        ...

    def rows(self, path: Path, ctx: ImportContext) -> Iterator[Row]:
        """The file's rows in order. Raises ImportFailed."""
        ...

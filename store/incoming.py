"""Chunks that nodes handed over: plain files in the lake, which wait until whoever has the engine open takes them in.

    LAKE/incoming/NODE@ID/         a chunk: TABLE.csv (the store's CSV), columns.json; whole, and never changed
    LAKE/incoming/.new-NODE@ID/    one that is being copied
    LAKE/incoming/bad/             files that the store could not read, for somebody to look at

A chunk comes into being by a rename and is removed only after its rows are published, under an id that is the chunk's:
killed at any moment and handed over again, it is published once. Nothing here loads the engine.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from store.lake import Lake, folder_node, node_folder, sync_file, sync_folder
from store.rows import columns, tables

COLUMNS = "columns.json"
BAD = "bad"


@dataclass(frozen=True, slots=True)
class Chunk:
    """A chunk that waits."""

    path: Path

    @property
    def home(self) -> str:
        """The node, as a folder's name."""
        return self.path.name.partition("@")[0]

    @property
    def id(self) -> str:
        """When the chunk was begun, by its node's clock, and a random part."""
        return self.path.name.partition("@")[2]

    @property
    def key(self) -> str:
        """The batch id under which it is published."""
        return f"collect/{folder_node(self.home) or 'node'}/{self.id}"

    def files(self) -> list[Path]:
        """Its tables' files, sorted; none where it was taken in meanwhile."""
        try:
            return sorted(self.path.glob("*.csv"))
        except OSError:  # removed between its look whether there is a folder and the one into it
            return []

    def layout(self) -> str:
        """The columns of its files, as JSON; chunks of one version have the same. Empty where it was taken in meanwhile."""
        try:
            return (self.path / COLUMNS).read_text()
        except OSError:
            return ""

    def bytes(self) -> int:
        """Its size; zero where it was taken in meanwhile."""
        try:
            with os.scandir(self.path) as entries:
                return sum(entry.stat().st_size for entry in entries)
        except OSError:
            return 0


def columns_of(layout: str) -> dict[str, list[str]]:
    """The columns by table that a chunk's layout names; those of this version where it cannot be read."""
    try:
        return json.loads(layout)
    except ValueError:
        return json.loads(own_layout())


def grouped(chunks: Iterable[Chunk], most: int, most_bytes: int) -> Iterator[tuple[str, list[Chunk]]]:
    """Chunks that can be read together, since they have one layout: so many at most, and so large, save one alone."""
    by_layout: dict[str, list[Chunk]] = {}
    for chunk in chunks:
        by_layout.setdefault(chunk.layout(), []).append(chunk)
    for layout, alike in by_layout.items():
        group: list[Chunk] = []
        size = 0
        for chunk in alike:
            more = chunk.bytes()
            if group and (len(group) >= most or size + more > most_bytes):
                yield layout, group
                group, size = [], 0
            group.append(chunk)
            size += more
        yield layout, group


def folder(lake: Lake) -> Path:
    """Where chunks wait."""
    return lake.root / "incoming"


def waiting(lake: Lake, node: str | None = None) -> list[Chunk]:
    """The chunks that wait, of one node or all, those that were begun first first."""
    start = "" if node is None else f"{node_folder(node)}@"
    found = [Chunk(p) for p in _listed(folder(lake)) if "@" in p.name and p.name[0] != "." and p.name.startswith(start)]
    return sorted(found, key=lambda chunk: (chunk.id, chunk.home))


def place(lake: Lake, node: str, ident: str) -> Chunk:
    """The chunk of a node, whether or not it is there."""
    return Chunk(folder(lake) / f"{node_folder(node)}@{ident}")


def put(lake: Lake, node: str, ident: str, source: Path) -> Chunk:
    """Copy a folder of whole files into the lake, all of it or nothing. Raises StoreError, OSError.

    One process at a time may put a chunk.
    """
    lake.create()
    folder(lake).mkdir(exist_ok=True)
    chunk = place(lake, node, ident)
    new = chunk.path.with_name(f".new-{chunk.path.name}")
    shutil.rmtree(new, ignore_errors=True)  # of one who died
    if chunk.path.exists():
        return chunk
    try:
        new.mkdir()
        for path in sorted(source.glob("*.csv")):
            try:
                shutil.copyfile(path, new / path.name)
            except FileNotFoundError:  # given up meanwhile, to keep to the spool's budget
                if not new.is_dir():
                    raise
        (new / COLUMNS).write_text(_layout(source))
        if lake.durable:
            for path in new.iterdir():
                sync_file(path)
            sync_folder(new)
        new.rename(chunk.path)
        if lake.durable:
            sync_folder(folder(lake))
    except OSError:
        shutil.rmtree(new, ignore_errors=True)
        raise
    return chunk


def _layout(source: Path) -> str:
    """The columns that the chunk was written with; where a death took that file, those of this version."""
    try:
        text = (source / COLUMNS).read_text()
        json.loads(text)
    except (OSError, ValueError):
        text = own_layout()
    return text


def own_layout() -> str:
    """The columns of all tables, as this version writes them."""
    return json.dumps({n: [c.name for c in columns(row)] for n, row in tables().items()}, separators=(",", ":"))


def laid_aside(lake: Lake, node: str | None = None) -> list[Path]:
    """The files that could not be read, of one node or all."""
    start = "" if node is None else f"{node_folder(node)}@"
    return sorted(p for p in _listed(folder(lake) / BAD) if p.name.startswith(start))


def _listed(place: Path) -> list[Path]:
    try:
        return list(place.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []


def lay_aside(lake: Lake, path: Path) -> Path:
    """Put a chunk's file where it keeps nobody waiting. Raises OSError."""
    aside = folder(lake) / BAD
    aside.mkdir(exist_ok=True)
    return path.rename(aside / f"{path.parent.name}-{path.name}")

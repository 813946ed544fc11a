"""Waiting chunks into segments of the lake: many at a time, each once, by any number of processes at once.

A run makes one batch of all that it may take. Each chunk's key is held while its batch is published, and gets a record that
names the batch, before the batch's own record puts all of it in place at one moment (`commits.claim`). A process that dies
before that moment has published nothing of any of them; one that dies after it leaves chunks that the next one finds published
and only removes.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path

from store import commits, incoming
from store.incoming import Chunk
from store.lake import Lake, nonce
from store.result import StoreError
from store.rows import columns, tables
from store.writer import Writer

MOST, MOST_BYTES = 32, 64 << 20
"""Chunks in a batch: what is lost of work by a death stays small."""

Files = list[tuple[str, list[Path], list[str]]]


@dataclass(slots=True)
class Taken:
    """What a run did. `newer` chunks have columns that this version does not know: they are left to one that does, on their
    node at the latest. `busy` ones somebody else is taking in, `left` ones would have been too late.
    """

    chunks: int = 0
    rows: int = 0
    duplicates: int = 0
    newer: int = 0
    busy: int = 0
    left: int = 0
    laid_aside: list[str] = field(default_factory=list[str])
    error: str | None = None


def take_in(
    lake: Lake | Path | str, *, node: str | None = None, limit_s: float | None = None, writer: Writer | None = None
) -> Taken:
    """Take in what waits, of one node or of all; begins no batch after `limit_s` seconds.

    Where nothing waits it costs a look at one folder. What is in the way (the lake is full, or may not be written) is told as
    `error`; the chunks stay.
    """
    lake = Lake.of(lake)
    done, begun = Taken(), time.monotonic()
    try:
        chunks = incoming.waiting(lake, node)
        known = [chunk for chunk in chunks if not _newer(chunk)]
        done.newer = len(chunks) - len(known)
        batches = list(incoming.grouped(known, MOST, MOST_BYTES))
        for number, (layout, batch) in enumerate(batches):
            if limit_s is not None and time.monotonic() - begun > limit_s:
                done.left = sum(len(later) for _, later in batches[number:])
                break
            writer = writer or Writer(lake, memory_mb=256, threads=1)
            _take(lake, writer, incoming.columns_of(layout), batch, done)
    except (StoreError, OSError) as error:
        done.error = str(error)[:500]
    return done


def _newer(chunk: Chunk) -> bool:
    known, layout = tables(), incoming.columns_of(chunk.layout())
    for path in chunk.files():
        row = known.get(path.stem)
        if path.stem in layout and (row is None or not {c.name for c in columns(row)}.issuperset(layout[path.stem])):
            return True
    return False


def _take(lake: Lake, writer: Writer, layout: dict[str, list[str]], batch: Sequence[Chunk], done: Taken) -> None:
    with ExitStack() as held:
        mine: list[Chunk] = []
        for chunk in batch:
            if not held.enter_context(commits.trying(lake, chunk.key)):
                done.busy += 1
            elif commits.published(lake, chunk.key):
                done.duplicates += 1
                shutil.rmtree(chunk.path, ignore_errors=True)
            elif chunk.path.is_dir():
                mine.append(chunk)
        if not mine:
            return
        keys = [chunk.key for chunk in mine]
        try:
            published = writer.append_csvs(_files(mine, layout), batch=f"taken/{nonce()}", parts=keys)
        except StoreError:
            bad = [
                path
                for table, paths, names in _files(mine, layout)
                for path in paths
                if not writer.readable(table, path, names)
            ]
            if not bad:
                raise
            for path in bad:
                with suppress(FileNotFoundError):
                    incoming.lay_aside(lake, path)
                    done.laid_aside.append(f"{path.parent.name}/{path.name}")
            published = writer.append_csvs(_files(mine, layout), batch=f"taken/{nonce()}", parts=keys)
        done.chunks += len(mine)
        done.rows += sum(published.rows.values())
        for chunk in mine:
            shutil.rmtree(chunk.path, ignore_errors=True)


def _files(chunks: Sequence[Chunk], layout: dict[str, list[str]]) -> Files:
    """By table the files of chunks of one layout; a table that the layout lacks is read as this version writes it."""
    by_table: dict[str, list[Path]] = {}
    for chunk in chunks:
        for path in chunk.files():
            by_table.setdefault(path.stem, []).append(path)
    known = tables()
    return [
        (table, paths, layout.get(table) or ([c.name for c in columns(known[table])] if table in known else []))
        for table, paths in sorted(by_table.items())
    ]

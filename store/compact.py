"""Small segments into few sorted ones, and the clean-up of what nobody counts any more.

Runs beside writers, readers and other compactors. Of a partition only what is committed for good is merged: a batch that
a later one may replace keeps its own segments. What was merged or replaced stays on disk for a grace period, in which
readers that know the old manifest finish.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from store import commits, day_index, incoming, manifest, views
from store.engine import PARQUET, literal, writing
from store.lake import Lake, locked, nonce, sync_file
from store.manifest import Manifest, Segment
from store.rows import columns, tables
from store.segments import describe
from store.snapshot import partitions

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

GRACE_S = 600.0
"""How long a replaced segment stays on disk."""
SETTLE_S = 60.0
"""How old a commit must be before its segments are merged: longer than any reader takes to read the manifests once."""
TARGET_BYTES = 256 << 20
"""Segments are merged up to this size."""

ORDER = {
    "gpu_sample": ("ts", "gpu"),
    "gpu_minute": ("job_id", "gpu", "gpu_uuid", "ts"),
    "log_line": ("job_id", "file", "line_no"),
    "log_event": ("job_id", "file", "line_no"),
    "train_step": ("job_id", "file", "line_no"),
}
"""How a merged segment is sorted; other tables by job, where there is one, and time."""


@dataclass(slots=True)
class Compacted:
    """What a run did. `removed` counts files deleted after their grace period, `abandoned` segments of dead writers,
    `listed` days of which the index was made.
    """

    partitions: int = 0
    merged: int = 0
    into: int = 0
    removed: int = 0
    abandoned: int = 0
    busy: int = 0
    listed: int = 0
    problems: list[str] = field(default_factory=list[str])


def compact(
    lake: Lake | Path | str,
    *,
    table: str | None = None,
    min_segments: int = 4,
    grace_s: float = GRACE_S,
    settle_s: float = SETTLE_S,
    memory_mb: int = 1024,
    threads: int = 2,
    on_step: Callable[[str, int, int], None] | None = None,
) -> Compacted:
    """Merge where a partition has at least `min_segments` small ones, and clean up. Raises StoreError.

    `on_step` is told each partition, how many are done and of how many.
    """
    lake = Lake.of(lake)
    lake.check()
    done = Compacted()
    with lake.scratch() as scratch, writing(memory_mb=memory_mb, threads=threads, spill=scratch) as con:
        places = [(name, p) for name in ([table] if table else tables()) for p in partitions(lake, name)]
        for number, (name, partition) in enumerate(places):
            if on_step is not None:
                on_step(partition, number, len(places))
            folder = lake.tables / partition
            with locked(folder / "compact.lock", wait=False) as ours:
                if ours:
                    done.partitions += 1
                    _one(lake, con, scratch, name, folder, min_segments, grace_s, settle_s, done)
                else:
                    done.busy += 1
    if table is None:
        done.listed = day_index.build(lake)
    done.removed += _sweep(lake)
    return done


def _one(
    lake: Lake,
    con: DuckDBPyConnection,
    scratch: Path,
    table: str,
    folder: Path,
    min_segments: int,
    grace_s: float,
    settle_s: float,
    done: Compacted,
) -> None:
    have = manifest.load(folder)
    if have is None:
        return
    final, dead = _judge(lake, have, grace_s, settle_s)
    known = {c.name for c in columns(tables()[table])}
    small = [s for s in final if s.bytes < TARGET_BYTES // 2 and known.issuperset(s.columns)]
    merged: list[tuple[list[Segment], Segment]] = []
    if len(small) >= min_segments:
        try:
            merged = [(group, _merge(con, scratch, table, folder, group)) for group in _groups(small)]
        except duckdb.Error as e:
            done.problems.append(f"{folder}: left as it is: {str(e).splitlines()[0]}: run `inquest doctor`")
    clean = time.time() - grace_s
    if merged or dead or any(at <= clean for at in have.dropped.values()) or strays(folder, have):
        with locked(folder / "lock"):
            _replace(lake, scratch, folder, merged, dead, clean, done)


def _judge(lake: Lake, have: Manifest, grace_s: float, settle_s: float) -> tuple[list[Segment], set[str]]:
    """The segments that are committed for good, and the files of those that nobody will ever count again."""
    final: list[Segment] = []
    dead: set[str] = set()
    known: dict[str, commits.Commit | None] = {}
    for s in have.segments:
        if s.key is None:
            final.append(s)
            continue
        if s.key not in known:
            known[s.key] = commits.read(lake, s.key)
        commit = known[s.key]
        if commit is not None and commit.pub == s.pub:
            if not commit.replaceable and commits.age(commit) >= settle_s:
                final.append(s)
        elif commit is None or commits.age(commit) >= grace_s:
            with commits.trying(lake, s.key) as ours:  # else a writer is about to publish it
                commit = commits.read(lake, s.key) if ours else None
                if ours and (commit is None or commit.pub != s.pub):
                    dead.add(s.file)
    return final, dead


def _groups(small: list[Segment]) -> list[list[Segment]]:
    """Neighbours in time, together no larger than the target; one alone is left as it is."""
    groups: list[list[Segment]] = [[]]
    size = 0
    for s in sorted(small, key=lambda s: (s.ts_min or 0, s.file)):
        if groups[-1] and size + s.bytes > TARGET_BYTES:
            groups.append([])
            size = 0
        groups[-1].append(s)
        size += s.bytes
    return [g for g in groups if len(g) > 1]


def _merge(con: DuckDBPyConnection, scratch: Path, table: str, folder: Path, group: list[Segment]) -> Segment:
    names = tuple(c.name for c in columns(tables()[table]))
    order = ORDER.get(table) or tuple(n for n in ("job_id", "ts") if n in names)
    path = scratch / f"{nonce()}.parquet"
    source = views.select(table, [(folder / s.file, s) for s in group])
    by = ", ".join(f'"{n}"' for n in order)
    con.execute(f"COPY (SELECT * FROM ({source}) ORDER BY {by}) TO {literal(str(path))} ({PARQUET})")
    return describe(con, [path], names)[path.name]


def _replace(
    lake: Lake,
    scratch: Path,
    folder: Path,
    merged: list[tuple[list[Segment], Segment]],
    dead: set[str],
    clean: float,
    done: Compacted,
) -> None:
    """Change the manifest; the caller holds its lock. Nobody but us drops segments (`compact.lock`), so all are there."""
    have = manifest.load(folder) or Manifest()
    now = time.time()
    segments = {s.file: s for s in have.segments}
    for group, whole in merged:
        if lake.durable:
            sync_file(scratch / whole.file)
        (scratch / whole.file).rename(folder / whole.file)
        for s in group:
            have.dropped[segments.pop(s.file).file] = now
        segments[whole.file] = replace(whole, key=None, pub=None)
        done.merged += len(group)
        done.into += 1
    for file in dead:
        have.dropped[segments.pop(file).file] = clean
        done.abandoned += 1
    have.dropped = {f: at for f, at in have.dropped.items() if at > clean}
    have.segments = list(segments.values())
    manifest.save(folder, have, lake.durable)
    for path in strays(folder, have):
        path.unlink(missing_ok=True)
        done.removed += 1


def strays(folder: Path, have: Manifest) -> list[Path]:
    """Files that the manifest does not name. For whoever holds the partition's lock they are what a process left that
    died before it could enter them, or after it took them out; without the lock some may be about to be entered.
    """
    listed = {s.file for s in have.segments} | have.dropped.keys()
    return [p for p in folder.iterdir() if p.name.startswith(".") or (p.suffix == ".parquet" and p.name not in listed)]


def _sweep(lake: Lake) -> int:
    """Remove the scratch folders of dead processes: their locks can be had. And what died while it wrote a record."""
    swept = 0
    for folder in (lake.root / "tmp").iterdir():
        with suppress(OSError):
            # A scratch folder may be between its making and its locking; an engine's spill folder has no lock.
            age = time.time() - folder.stat().st_mtime
            if age < (86400 if folder.name.startswith("spill-") else 5):
                continue
            with locked(folder / "lock", wait=False) as ours:
                if ours:
                    shutil.rmtree(folder)
                    swept += 1
    # A chunk that is being copied is looked after by its node; one of a day ago has none any more.
    for path in incoming.folder(lake).glob(".new-*"):
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > 86400:
                shutil.rmtree(path)
                swept += 1
    for path in lake.commits.glob("*/.*"):
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > 3600:
                path.unlink()
                swept += 1
    return swept

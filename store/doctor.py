"""Is everything there that was published, once, and readable? And what was handed over and waits?"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import duckdb

from store import commits, day_marks, engine, incoming, manifest
from store.compact import strays
from store.day_index import DayIndex
from store.lake import NO_DAY, Lake
from store.manifest import Manifest, Segment
from store.result import StoreError
from store.retain import gone_before
from store.rows import tables
from store.snapshot import EVERYTHING, partition_of, partitions


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that a look at the lake brought up. `serious` means that answers are wrong or incomplete."""

    kind: str
    serious: bool
    where: str
    what: str
    remedy: str


@dataclass(slots=True)
class Examined:
    """What was looked at."""

    batches: int
    partitions: int
    segments: int
    rows: int
    findings: list[Finding]

    @property
    def healthy(self) -> bool:
        """Nothing serious was found."""
        return not any(f.serious for f in self.findings)


def doctor(
    lake: Lake | Path | str, *, deep: bool = False, on_step: Callable[[str, int, int], None] | None = None
) -> Examined:
    """Examine a lake, also while it is written. `deep` reads every value, else the files' footers. Raises StoreError.

    `on_step` is told each partition, how many are done and of how many.
    """
    lake = Lake.of(lake)
    lake.check()
    found = Examined(0, 0, 0, 0, [])
    current, expected = _published(lake, found)
    seen: set[str] = set()
    listed = _listed(lake)
    with engine.asking(memory_mb=1024, threads=2, folders=[lake.tables]) as con:
        places = [p for table in tables() for p in partitions(lake, table)]
        for number, partition in enumerate(places):
            if on_step is not None:
                on_step(partition, number, len(places))
            seen.add(partition)
            _partition(lake, con, partition, current, expected.get(partition, 0), deep, found)
            _index(lake, partition, listed, found)
    _handed_over(lake, found)
    first = gone_before(lake)
    for partition, rows in expected.items():
        place = partition_of(partition)
        if partition not in seen and rows and not _aged(partition, first):
            found.findings.append(
                Finding("loss", True, partition, f"{rows} published rows of {place.table}, no manifest", IMPORT_AGAIN)
            )
    return found


IMPORT_AGAIN = "import the source again under a new lake, or restore the folder from a copy"


def _published(lake: Lake, found: Examined) -> tuple[dict[str, str], dict[str, int]]:
    current: dict[str, str] = {}
    expected: dict[str, int] = {}
    for path in commits.paths(lake):
        try:
            commit = commits.load(path)
        except StoreError as e:
            found.findings.append(
                Finding("broken record", True, str(path), str(e), "delete it and import the batch again")
            )
            continue
        if commit is not None and not commit.is_part:
            found.batches += 1
            current[commit.key] = commit.pub
            for partition, rows in commit.partitions.items():
                expected[partition] = expected.get(partition, 0) + rows
    return current, expected


def _handed_over(lake: Lake, found: Examined) -> None:
    """What nodes handed over and nobody took in yet. It is in every answer all the same, unless it is very much."""
    chunks = incoming.waiting(lake)
    if chunks:
        homes = {chunk.home for chunk in chunks}
        size = sum(chunk.bytes() for chunk in chunks)
        what = (
            f"{len(chunks)} chunks of {len(homes)} nodes, {size / 1e6:.1f} MB, the first of {chunks[0].id[:15]}, wait"
        )
        remedy = "none needed: `inquest watch`, `inquest compact` or, after half an hour, their nodes take them in"
        found.findings.append(Finding("waiting", False, str(incoming.folder(lake)), what, remedy))
    bad = incoming.laid_aside(lake)
    if bad:
        what = f"{len(bad)} files that a node wrote could not be read, such as {bad[0].name}"
        remedy = "they are in no answer: see what stands in them, then delete them"
        found.findings.append(Finding("laid aside", True, str(bad[0].parent), what, remedy))


def _partition(
    lake: Lake,
    con: duckdb.DuckDBPyConnection,
    partition: str,
    current: dict[str, str],
    expected: int,
    deep: bool,
    found: Examined,
) -> None:
    folder = lake.tables / partition
    try:
        have = manifest.load(folder) or Manifest()
    except StoreError as e:
        found.findings.append(Finding("broken manifest", True, partition, str(e), IMPORT_AGAIN))
        return
    found.partitions += 1
    counted = [s for s in have.segments if s.key is None or current.get(s.key) == s.pub]
    for s in counted:
        found.segments += 1
        found.rows += s.rows
        problem = _segment(con, folder / s.file, s, deep)
        if problem is not None:
            found.findings.append(problem)
    present = sum(s.rows for s in counted)
    aged = _aged(partition, gone_before(lake))
    if present != expected and not aged and _still(lake, partition, have):
        kind = "loss" if present < expected else "doubling"
        what = f"{expected} rows were published, {present} are there"
        found.findings.append(Finding(kind, True, partition, what, IMPORT_AGAIN))
    waiting = len(have.segments) - len(counted)
    left = len(strays(folder, have))
    if waiting or left:
        what = f"{waiting} segments of unfinished or replaced batches, {left} files that no manifest names"
        found.findings.append(
            Finding("leftovers", False, partition, what, "none needed: `inquest compact` removes them")
        )


def _listed(lake: Lake) -> dict[str, frozenset[Segment]]:
    """By partition what the index of past days has of it: nothing of an empty one, and no day that is not listed."""
    index = DayIndex(lake)
    found: dict[str, frozenset[Segment]] = {}
    for table in tables():
        for day in index.find(table, EVERYTHING)[1].values():
            for partition, s in day:
                found[partition] = found.get(partition, frozenset()) | {s}
    index.close()
    return found


def _index(lake: Lake, partition: str, listed: dict[str, frozenset[Segment]], found: Examined) -> None:
    place = partition_of(partition)
    with suppress(StoreError):  # told where the partition itself is looked at
        have = manifest.load(lake.tables / partition) or Manifest()
        other = partition in listed and frozenset(have.segments) != listed[partition]
        still = other and place.day in day_marks.valid(lake, place.table, day_marks.newest(lake))
        if still and _still(lake, partition, have):
            what = "the index of past days does not have what the manifest has"
            remedy = f"delete {day_marks.folder(lake)}: `inquest compact` makes it anew"
            found.findings.append(Finding("stale index", True, partition, what, remedy))


def _still(lake: Lake, partition: str, have: Manifest) -> bool:
    """Is the partition as it was when it was read? Else somebody published meanwhile, and it proves nothing."""
    return manifest.load(lake.tables / partition) == have


def _segment(con: duckdb.DuckDBPyConnection, path: Path, s: Segment, deep: bool) -> Finding | None:
    name = engine.literal(str(path))
    try:
        if deep:
            row = con.execute(f"SELECT count(*), bit_xor(hash(COLUMNS(*))) FROM read_parquet({name})").fetchone()
        else:
            row = con.execute(f"SELECT num_rows FROM parquet_file_metadata({name})").fetchone()
    except duckdb.Error as e:
        kind = "corrupt segment" if path.exists() else "missing segment"
        return Finding(kind, True, str(path), str(e).splitlines()[0], IMPORT_AGAIN)
    rows = row[0] if row else None
    if rows != s.rows or path.stat().st_size != s.bytes:
        return Finding("corrupt segment", True, str(path), f"{rows} rows, the manifest says {s.rows}", IMPORT_AGAIN)
    return None


def _aged(partition: str, first: dict[str, str]) -> bool:
    place = partition_of(partition)
    return place.day != NO_DAY and place.day < first.get(place.table, "")

"""Is everything there that was published, once, and readable? And what was handed over and waits?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
        look = _Look(lake, con, current, deep, found)
        places = [p for table in tables() for p in partitions(lake, table)]
        for begin in range(0, len(places), TOGETHER):
            held = look.manifests(places[begin : begin + TOGETHER])
            for number, (partition, have) in enumerate(held.items(), begin):
                if on_step is not None:
                    on_step(partition, number, len(places))
                seen.add(partition)
                if have is not None:
                    look.partition(partition, have, expected.get(partition, 0))
                    _index(lake, partition, have, listed, found)
    _handed_over(lake, found)
    first = gone_before(lake)
    for partition, rows in expected.items():
        place = partition_of(partition)
        if partition not in seen and rows and not _aged(partition, first):
            found.findings.append(
                Finding("loss", True, partition, f"{rows} published rows of {place.table}, no manifest", IMPORT_AGAIN)
            )
    return found


TOGETHER = 500
"""Partitions that are looked at in one go."""
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


class _Look:
    """Looks at partitions, at the footers of many files in one go: one by one they take eight times as long."""

    def __init__(
        self,
        lake: Lake,
        con: duckdb.DuckDBPyConnection,
        current: dict[str, str],
        deep: bool,
        found: Examined,
    ) -> None:
        self._lake, self._con, self._current, self._deep, self._found = lake, con, current, deep, found
        self._rows: dict[str, int] = {}

    def manifests(self, places: Sequence[str]) -> dict[str, Manifest | None]:
        """What each of these partitions has; None where that cannot be read, which is told."""
        held: dict[str, Manifest | None] = {}
        for partition in places:
            held[partition] = None
            try:
                held[partition] = manifest.load(self._lake.tables / partition) or Manifest()
            except StoreError as e:
                self._found.findings.append(Finding("broken manifest", True, partition, str(e), IMPORT_AGAIN))
        self._rows = {}
        if not self._deep:
            files = [
                str(self._lake.tables / partition / s.file)
                for partition, have in held.items()
                if have
                for s in self._counted(have)
            ]
            listed = ", ".join(engine.literal(file) for file in files)
            # Where one of them cannot be read nothing is told of any: then each is looked at by itself.
            with suppress(duckdb.Error):
                asked = f"SELECT file_name, num_rows FROM parquet_file_metadata([{listed}])"
                self._rows = dict(self._con.execute(asked).fetchall()) if files else {}
        return held

    def partition(self, partition: str, have: Manifest, expected: int) -> None:
        """Hold what is there against what was published."""
        folder, found = self._lake.tables / partition, self._found
        found.partitions += 1
        counted = self._counted(have)
        for s in counted:
            found.segments += 1
            found.rows += s.rows
            problem = self._segment(folder / s.file, s)
            if problem is not None:
                found.findings.append(problem)
        present = sum(s.rows for s in counted)
        if (
            present != expected
            and not _aged(partition, gone_before(self._lake))
            and _still(self._lake, partition, have)
        ):
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

    def _counted(self, have: Manifest) -> list[Segment]:
        return [s for s in have.segments if s.key is None or self._current.get(s.key) == s.pub]

    def _segment(self, path: Path, s: Segment) -> Finding | None:
        name = engine.literal(str(path))
        rows = self._rows.get(str(path))
        try:
            if self._deep:
                row = self._con.execute(
                    f"SELECT count(*), bit_xor(hash(COLUMNS(*))) FROM read_parquet({name})"
                ).fetchone()
                rows = row[0] if row else None
            elif rows is None:
                row = self._con.execute(f"SELECT num_rows FROM parquet_file_metadata({name})").fetchone()
                rows = row[0] if row else None
            size = path.stat().st_size
        except (duckdb.Error, FileNotFoundError) as e:
            kind = "corrupt segment" if path.exists() else "missing segment"
            return Finding(kind, True, str(path), str(e).splitlines()[0], IMPORT_AGAIN)
        if rows != s.rows or size != s.bytes:
            return Finding("corrupt segment", True, str(path), f"{rows} rows, the manifest says {s.rows}", IMPORT_AGAIN)
        return None


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


def _index(lake: Lake, partition: str, have: Manifest, listed: dict[str, frozenset[Segment]], found: Examined) -> None:
    place = partition_of(partition)
    other = partition in listed and frozenset(have.segments) != listed[partition]
    still = other and place.day in day_marks.valid(lake, place.table, day_marks.newest(lake))
    if still and _still(lake, partition, have):
        what = "the index of past days does not have what the manifest has"
        remedy = f"delete {day_marks.folder(lake)}: `inquest compact` makes it anew"
        found.findings.append(Finding("stale index", True, partition, what, remedy))


def _still(lake: Lake, partition: str, have: Manifest) -> bool:
    """Is the partition as it was when it was read? Else somebody published meanwhile, and it proves nothing."""
    return manifest.load(lake.tables / partition) == have


def _aged(partition: str, first: dict[str, str]) -> bool:
    place = partition_of(partition)
    return place.day != NO_DAY and place.day < first.get(place.table, "")

"""Commit records: one small file decides whether a publication, over any number of partitions, is there or not.

A batch is published under a key: the batch's own id, or what `replaces` names. Its segments enter the manifests of their
partitions first, marked with key and publication; nobody counts them yet. Then the key's record is replaced by
atomic rename, and at that moment all of them are there, and those of the publication that the record named before are
not. A writer that dies before the rename has published nothing, one that dies after it has published all.

A batch may be put together from parts that have keys of their own. Whoever publishes it holds them all, and before the batch's
record writes one for each that names the batch: a part is published when the batch that its record names is.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from store.lake import Lake, json_of, locked, read_raw, replace_json, short_hash
from store.result import StoreError

_IN = "in:"
"""How the record of a part begins where others have a publication: then comes the batch that it is in."""


@dataclass(frozen=True, slots=True)
class Commit:
    """What a key stands for now. `rows` is by table; `at` is when it was written, in seconds since 1970.

    `partitions` are the folders (below LAKE/tables) that hold its segments, with its rows there.
    """

    key: str
    batch: str
    pub: str
    rows: dict[str, int]
    segments: int
    at: float
    partitions: dict[str, int] = field(default_factory=dict[str, int])

    @property
    def replaceable(self) -> bool:
        """A later batch may take its place: its segments must stay apart from others'."""
        return self.key != self.batch

    @property
    def is_part(self) -> bool:
        """It has no rows of its own: it says which batch the key is a part of."""
        return self.pub.startswith(_IN)


def path_of(lake: Lake, key: str) -> Path:
    """Where a key's record lies."""
    name = short_hash(key)
    return lake.commits / name[:2] / f"{name}.json"


def read(lake: Lake, key: str) -> Commit | None:
    """The key's record, None when nothing was ever published under it."""
    return load(path_of(lake, key))


def paths(lake: Lake) -> Iterator[Path]:
    """The files of all records, in no particular order."""
    for folder in lake.commits.iterdir() if lake.commits.is_dir() else ():
        yield from folder.glob("[!.]*.json")


def every(lake: Lake) -> Iterator[Commit]:
    """All records, in no particular order."""
    yield from (c for p in paths(lake) if (c := load(p)) is not None)


def remove(lake: Lake, key: str) -> None:
    """Forget a key. The caller holds it."""
    path_of(lake, key).unlink(missing_ok=True)
    path_of(lake, key).with_suffix(".lock").unlink(missing_ok=True)


def write(lake: Lake, commit: Commit) -> None:
    """Publish: from here on readers count the publication. The caller holds `holding(lake, commit.key)`."""
    replace_json(path_of(lake, commit.key), asdict(commit), lake.durable)


def claim(lake: Lake, part: str, commit: Commit) -> None:
    """Say of a part, whose key the caller holds, that it is in a batch which is about to be published."""
    places = dict.fromkeys(commit.partitions, 0)
    write(lake, Commit(part, part, _IN + commit.key, {}, 0, commit.at, places))


def batch_of(lake: Lake, part: str) -> str | None:
    """The key under which a part is or was about to be published; None where nobody tried."""
    found = read(lake, part)
    return None if found is None else found.pub.removeprefix(_IN) if found.is_part else found.key


def published(lake: Lake, part: str) -> bool:
    """Has a part been published, in a batch or as one?"""
    found = batch_of(lake, part)
    return found is not None and (found == part or read(lake, found) is not None)


@contextmanager
def holding(lake: Lake, key: str) -> Generator[None]:
    """Only one process at a time publishes under a key."""
    with locked(path_of(lake, key).with_suffix(".lock")):
        yield


@contextmanager
def trying(lake: Lake, key: str) -> Generator[bool]:
    """As `holding`, without waiting: gives False when somebody is publishing under the key."""
    with locked(path_of(lake, key).with_suffix(".lock"), wait=False) as ours:
        yield ours


def age(commit: Commit) -> float:
    """Seconds since it was written."""
    return time.time() - commit.at


def load(path: Path) -> Commit | None:
    """A record from its file, None when there is none. Raises StoreError when it is broken."""
    raw = read_raw(path)
    return None if raw is None else of(raw, path)


def of(raw: bytes, path: Path) -> Commit:
    """The record that a file holds. Raises StoreError when it is broken."""
    try:
        return Commit(**json_of(raw, path))
    except TypeError as e:
        raise StoreError(f"{path} is broken ({e}): run `inquest doctor`") from e

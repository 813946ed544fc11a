"""Commit records: one small file decides whether a publication, over any number of partitions, is there or not.

A batch is published under a key: the batch's own id, or what `replaces` names. Its segments enter the manifests of their
partitions first, marked with key and publication; nobody counts them yet. Then the key's record is replaced by
atomic rename, and at that moment all of them are there, and those of the publication that the record named before are
not. A writer that dies before the rename has published nothing, one that dies after it has published all.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from store.lake import Lake, locked, read_json, replace_json, short_hash
from store.result import StoreError


@dataclass(frozen=True, slots=True)
class Commit:
    """What a key stands for now. `rows` is by table; `at` is when it was written, in seconds since 1970.

    `partitions` are the folders (below LAKE/tables) that hold its segments; `former` are those of earlier publications
    of the same key, for the clean-up.
    """

    key: str
    batch: str
    pub: str
    rows: dict[str, int]
    segments: int
    at: float
    partitions: list[str] = field(default_factory=list[str])
    former: list[str] = field(default_factory=list[str])


def path_of(lake: Lake, key: str) -> Path:
    """Where a key's record lies."""
    name = short_hash(key)
    return lake.commits / name[:2] / f"{name}.json"


def read(lake: Lake, key: str) -> Commit | None:
    """The key's record, None when nothing was ever published under it."""
    return _load(path_of(lake, key))


def every(lake: Lake) -> Iterator[Commit]:
    """All records, in no particular order."""
    for folder in lake.commits.iterdir() if lake.commits.is_dir() else ():
        for path in folder.glob("*.json"):
            commit = _load(path)
            if commit is not None:
                yield commit


def write(lake: Lake, commit: Commit) -> None:
    """Publish: from here on readers count the publication. The caller holds `holding(lake, commit.key)`."""
    replace_json(path_of(lake, commit.key), asdict(commit), lake.durable)


@contextmanager
def holding(lake: Lake, key: str) -> Generator[None]:
    """Only one process at a time publishes under a key."""
    with locked(path_of(lake, key).with_suffix(".lock")):
        yield


def age(commit: Commit) -> float:
    """Seconds since it was written."""
    return time.time() - commit.at


def _load(path: Path) -> Commit | None:
    raw = read_json(path)
    if raw is None:
        return None
    try:
        return Commit(**raw)
    except TypeError as e:
        raise StoreError(f"{path} is broken ({e}): run `inquest doctor`") from e

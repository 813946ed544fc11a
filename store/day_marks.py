"""Which past days are listed as they stand: a mark for each, which goes before a manifest of that day changes.

    LAKE/index/lock                   shared by whoever changes a manifest, exclusive for whoever lists a day
    LAKE/index/GENERATION.sqlite      the segments of the days that were listed (see store.day_index)
    LAKE/index/DAY.GENERATION         the day's manifests are what that file has of them

A mark is made while nobody changes a manifest, and removed by whoever is about to, before: where it stands, the list is true.
Nothing is lost without an index: the manifests are read then, one by one.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from store.lake import Lake, owned_like_folder, sync_folder

SUFFIX = ".sqlite"
_LOCK = "lock"


def folder(lake: Lake) -> Path:
    """Where the index lies."""
    return lake.root / "index"


@contextmanager
def changing(partition: Path, durable: bool) -> Generator[None]:
    """While a manifest is replaced in this folder (LAKE/tables/TABLE/DAY/NODE): nobody lists its day, and no mark of it is left."""
    home = partition.parents[3] / "index"
    with _held(home, fcntl.LOCK_SH):
        day = f"{partition.parent.name}."
        gone = [Path(e) for e in os.scandir(home) if e.name.startswith(day)]
        for path in gone:
            path.unlink(missing_ok=True)
        if gone and durable:
            sync_folder(home)
        yield


@contextmanager
def still(lake: Lake) -> Generator[None]:
    """While nobody replaces a manifest: for as short as can be, since every writer waits."""
    with _held(folder(lake), fcntl.LOCK_EX):
        yield


def valid(lake: Lake) -> tuple[str, frozenset[str]]:
    """The newest generation and the days of which it is true; "" and none where there is no index."""
    try:
        with os.scandir(folder(lake)) as entries:
            names = [e.name for e in entries]
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return "", frozenset()
    newest = max((n.removesuffix(SUFFIX) for n in names if n.endswith(SUFFIX)), default="")
    return newest, frozenset(n.partition(".")[0] for n in names if newest and n.endswith(f".{newest}"))


@contextmanager
def _held(home: Path, how: int) -> Generator[None]:
    path = home / _LOCK
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except FileNotFoundError:
        home.mkdir(parents=True, exist_ok=True)
        owned_like_folder(home)
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        owned_like_folder(path)
        fcntl.flock(fd, how)
        yield
    finally:
        os.close(fd)

"""Which past days of a table are listed as they stand: a mark for each, which goes before a manifest of that day changes.

    LAKE/index/lock                   shared by whoever changes a manifest, exclusive for whoever lists a day
    LAKE/index/GENERATION.sqlite      the segments of the days that were listed (see store.day_index)
    LAKE/index/TABLE/DAY.GENERATION   the manifests of that day of the table are what that file has of them

A mark is made while nobody changes a manifest, and removed by whoever is about to, before: where it stands, the list is true.
Nothing is lost without an index: the manifests are read then, one by one. A mark is of one table, since some are written for days long
past: a job that waits stands under the day of its submission.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from store.lake import Lake, entries, owned_like_folder, sync_folder

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
        marks = home / partition.parents[1].name
        gone = [n for n in entries(marks) if n.startswith(f"{partition.parent.name}.")]
        for name in gone:
            (marks / name).unlink(missing_ok=True)
        if gone and durable:
            sync_folder(marks)
        yield


@contextmanager
def still(lake: Lake) -> Generator[None]:
    """While nobody replaces a manifest: for as short as can be, since every writer waits."""
    with _held(folder(lake), fcntl.LOCK_EX):
        yield


def newest(lake: Lake) -> str:
    """The newest generation; "" where there is none, or it may not be read."""
    with suppress(PermissionError):
        return max((n.removesuffix(SUFFIX) for n in entries(folder(lake)) if n.endswith(SUFFIX)), default="")
    return ""


def valid(lake: Lake, table: str, generation: str) -> frozenset[str]:
    """The days of a table of which a generation is true."""
    with suppress(PermissionError):
        marks = entries(folder(lake) / table) if generation else []
        return frozenset(n.partition(".")[0] for n in marks if n.endswith(f".{generation}"))
    return frozenset()


def mark(lake: Lake, table: str, day: str, generation: str) -> None:
    """Vouch for a day of a table; for whoever holds `still`."""
    marks = folder(lake) / table
    if not marks.is_dir():
        marks.mkdir(exist_ok=True)
        owned_like_folder(marks)
    (marks / f"{day}.{generation}").touch()


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

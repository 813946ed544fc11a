"""Requests to a node's collector to keep its present minutes in full, because a watcher warns of the job that runs there.

    LAKE/triggers/NODE.json    {"id", "ts", "node", "job", "kinds"}; the last request to the node, replaced by a rename

A node looks at its own file and no other. Nothing is answered: a request that nobody sees in time is void, and the file stays
until the next one or until `retain` finds it a day old. Nothing here loads the engine.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from store.lake import Lake, node_folder, nonce

SIZE = 4096
"""No request is larger (bytes)."""
LONG = 256
"""No name in it is longer."""
OLD_S = 86_400.0


@dataclass(frozen=True, slots=True)
class Request:
    """A request as its writer made it. `ts` is by the writer's clock; `kinds` are those of the warnings."""

    id: str
    ts: datetime
    node: str
    job: str
    kinds: tuple[str, ...]


Mark = tuple[int, int, int]
"""By which a node knows that its file was replaced."""


def place(lake: Lake, node: str) -> Path:
    """A node's file, whether or not it is there."""
    return lake.root / "triggers" / f"{node_folder(node)}.json"


def put(lake: Lake, node: str, job: str, kinds: Sequence[str]) -> None:
    """Leave a request. Raises OSError, and StoreError where there is no lake."""
    lake.check()
    path = place(lake, node)
    if not path.parent.exists():
        path.parent.mkdir(exist_ok=True)
        path.parent.chmod(0o755)  # whatever the umask: collectors may be another user
    told = {"id": nonce(), "ts": datetime.now(UTC).isoformat(), "node": node, "job": job, "kinds": list(kinds)}
    new = path.with_name(f".{path.name}.{told['id']}")
    fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
    with os.fdopen(fd, "w", encoding="utf-8") as file:
        os.fchmod(fd, 0o644)
        json.dump(told, file)
    new.rename(path)  # not made to outlive a power cut: nobody needs it then


def mark(path: Path) -> Mark | None:
    """What tells this file from the one before it, by one `stat`; None where there is none. Raises OSError."""
    try:
        found = path.stat(follow_symlinks=False)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found.st_mtime_ns, found.st_ino, found.st_size


def read(path: Path) -> Request | None:
    """The request in a file; None where it is none: whoever can write the lake may have put anything there. Raises OSError."""
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        about = os.fstat(fd)
        if not stat.S_ISREG(about.st_mode) or about.st_size > SIZE:
            return None
        raw = os.read(fd, SIZE)
    finally:
        os.close(fd)
    try:
        return _request(json.loads(raw))
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return None


def _request(told: Any) -> Request:
    names: list[Any] = [told["id"], told["node"], told["job"], *cast("list[Any]", told["kinds"])]
    if not all(isinstance(n, str) and 0 < len(n) <= LONG for n in names):
        raise ValueError("names")
    ts = datetime.fromisoformat(told["ts"])
    if ts.tzinfo is None:
        raise ValueError("ts")
    ident, node, job, *kinds = names
    return Request(ident, ts, node, job, tuple(kinds))


def age_out(lake: Lake, now: float) -> int:
    """Delete what is a day old (seconds since 1970), and what a writer left half-written; gives how many files that were."""
    removed = 0
    try:
        found = list((lake.root / "triggers").iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return 0
    for path in found:
        with suppress(OSError):
            if now - path.stat(follow_symlinks=False).st_mtime > OLD_S:
                path.unlink()
                removed += 1
    return removed

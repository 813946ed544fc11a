"""Bearer tokens: who holds one, and how often it may ask. The file holds digests, never a token.

{"sha256": "9f86...", "user": "ada", "operator": false}
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from agent_tools.viewer import Viewer
from inquest.commands import USAGE, Failure

PREFIX = "inq_"


def digest(token: str) -> str:
    """What is kept of a token."""
    return hashlib.sha256(token.encode()).hexdigest()


def issue(path: Path, user: str, *, operator: bool) -> str:
    """Make a token for a user and add its digest to the file, which nobody else may read. Raises Failure."""
    token = PREFIX + secrets.token_urlsafe(32)
    line = json.dumps({"sha256": digest(token), "user": user, "operator": operator}) + "\n"
    try:
        fd = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY | os.O_NOFOLLOW, 0o600)
        with os.fdopen(fd, "a") as f:
            f.write(line)
    except OSError as error:
        raise Failure(f"cannot write {path}: {error.strerror}", USAGE) from error
    return token


def load(path: Path) -> dict[str, Viewer]:
    """The viewers by their tokens' digests. Raises Failure for a file that cannot be read or that others may read."""
    try:
        if path.stat().st_mode & 0o077:
            raise Failure(f"{path} can be read by others: chmod 600 {path}", USAGE)
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise Failure(
            f"cannot read {path}: {error.strerror}; `inquest serve --new-token USER` makes one", USAGE
        ) from error
    known: dict[str, Viewer] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
            known[str(entry["sha256"])] = Viewer(str(entry["user"]), entry.get("operator") is True)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise Failure(f"{path}, line {number}: no token's record ({error})", USAGE) from error
    return known


class Holders(Mapping[str, Viewer]):
    """The viewers by their tokens' digests, as the file has them at the moment: it is read again whenever it was changed.

    Raises Failure, also of a later look, for a file that cannot be read: then nobody is known, rather than those of yesterday.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: tuple[int, ...] = ()
        self._known: dict[str, Viewer] = {}
        self._now()

    def _now(self) -> dict[str, Viewer]:
        try:
            at = self._path.stat()
            seen = (at.st_mtime_ns, at.st_ctime_ns, at.st_size, at.st_ino)
        except OSError:
            seen = ()
        if not seen or seen != self._seen:
            self._known, self._seen = load(self._path), seen
        return self._known

    def __getitem__(self, key: str) -> Viewer:
        return self._now()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._now())

    def __len__(self) -> int:
        return len(self._now())


@dataclass(slots=True)
class Rate:
    """So many requests a minute for each holder, saved up to as many."""

    per_minute: int
    clock: Callable[[], float] = time.monotonic
    _left: dict[str, tuple[float, float]] = field(default_factory=dict[str, tuple[float, float]])

    def wait_s(self, holder: str) -> float:
        """0 where the request may go on, else in how many seconds the next may."""
        now = self.clock()
        left, at = self._left.get(holder, (float(self.per_minute), now))
        left = min(float(self.per_minute), left + (now - at) * self.per_minute / 60.0)
        if left < 1.0:
            self._left[holder] = (left, now)
            return (1.0 - left) * 60.0 / self.per_minute
        self._left[holder] = (left - 1.0, now)
        return 0.0

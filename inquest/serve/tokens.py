"""Bearer tokens: who holds one, until when, and how often it may ask. The file holds digests, never a token.

{"sha256": "9f86...", "user": "ada", "operator": false, "expires": "2026-05-30T10:00:00Z"}

`expires` is UTC; a line without it was written before tokens had an end, or by hand for one that has none.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from agent_tools.viewer import Viewer
from inquest.commands import USAGE, Failure

PREFIX = "inq_"
DAYS = 90.0
"""For so long a new token holds, unless its issuer says otherwise."""


@dataclass(frozen=True, slots=True)
class Held:
    """Who holds a token, and when it ends (UTC); None: never."""

    viewer: Viewer
    expires: datetime | None = None


def digest(token: str) -> str:
    """What is kept of a token."""
    return hashlib.sha256(token.encode()).hexdigest()


def _now() -> datetime:
    return datetime.now(UTC)


def issue(path: Path, user: str, *, operator: bool, days: float | None = DAYS) -> str:
    """Make a token for a user that holds for so many days (None: without end), and add its digest to the file, which nobody
    else may read. Raises Failure."""
    token = PREFIX + secrets.token_urlsafe(32)
    entry: dict[str, object] = {"sha256": digest(token), "user": user, "operator": operator}
    if days is not None:
        entry["expires"] = (_now() + timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%SZ")
    line = json.dumps(entry) + "\n"
    try:
        fd = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY | os.O_NOFOLLOW, 0o600)
        with os.fdopen(fd, "a") as f:
            f.write(line)
    except OSError as error:
        raise Failure(f"cannot write {path}: {error.strerror}", USAGE) from error
    return token


def load(path: Path) -> dict[str, Held]:
    """The holders by their tokens' digests, those whose token has ended too. Raises Failure for a file that cannot be read or that others may read."""
    try:
        if path.stat().st_mode & 0o077:
            raise Failure(f"{path} can be read by others: chmod 600 {path}", USAGE)
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise Failure(
            f"cannot read {path}: {error.strerror}; `inquest serve --new-token USER` makes one", USAGE
        ) from error
    known: dict[str, Held] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
            viewer = Viewer(str(entry["user"]), entry.get("operator") is True)
            known[str(entry["sha256"])] = Held(viewer, _moment(entry.get("expires")))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise Failure(f"{path}, line {number}: no token's record ({error})", USAGE) from error
    return known


def _moment(text: object) -> datetime | None:
    """A time of the file. Raises ValueError or TypeError: a line whose end cannot be read lets nobody in."""
    if text is None:
        return None
    at = datetime.fromisoformat(text)  # type: ignore[arg-type]  # what is no text raises TypeError
    return at if at.tzinfo is not None else at.replace(tzinfo=UTC)


class Holders(Mapping[str, Viewer]):
    """The viewers by their tokens' digests, as the file has them at the moment: it is read again whenever it was changed. Whose
    token has ended is none of them.

    Raises Failure, also of a later look, for a file that cannot be read: then nobody is known, rather than those of yesterday.
    """

    def __init__(self, path: Path, clock: Callable[[], datetime] = _now) -> None:
        self._path = path
        self._clock = clock
        self._seen: tuple[int, ...] = ()
        self._known: dict[str, Held] = {}
        self._read()

    def ended(self, key: str) -> datetime | None:
        """When a token ended that is known and holds no more; None for any other."""
        held = self._read().get(key)
        return held.expires if held is not None and not self._holds(held) else None

    def _holds(self, held: Held) -> bool:
        return held.expires is None or self._clock() < held.expires

    def _read(self) -> dict[str, Held]:
        try:
            at = self._path.stat()
            seen = (at.st_mtime_ns, at.st_ctime_ns, at.st_size, at.st_ino)
        except OSError:
            seen = ()
        if not seen or seen != self._seen:
            self._known, self._seen = load(self._path), seen
        return self._known

    def __getitem__(self, key: str) -> Viewer:
        held = self._read()[key]
        if not self._holds(held):
            raise KeyError(key)
        return held.viewer

    def __iter__(self) -> Iterator[str]:
        return iter([key for key, held in self._read().items() if self._holds(held)])

    def __len__(self) -> int:
        return sum(map(self._holds, self._read().values()))


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

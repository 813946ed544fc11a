"""slow.bpf.c's other half: which calls and requests took long, on which file system."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from collector.ebpf.kernel import Map
from collector.ebpf.process import text
from collector.framing.clean import clean_text
from store.redact import redact
from store.rows import IoWait

CALL_S, REQUEST_S = 0.1, 0.1
"""What takes longer is told."""
KEY, VALUE = "=IIiI", "=3Q104s"
CALLS = {1: "read", 2: "write", 3: "sync", 4: "open", 5: "stat", 6: "block"}
_PATHS = frozenset({"open", "stat"})


@dataclass(frozen=True, slots=True)
class Slow:
    """Slow calls of one process on one file, or slow requests of one device; `pid` is 0 where no process of a job asked."""

    pid: int
    call: str
    count: int
    total_s: float
    max_s: float
    file: str | None
    mount: str | None
    kind: str | None
    """The file system's type; None of a device."""

    def row(self, about: dict[str, Any]) -> IoWait:
        """As a row; `about` is what all rows of its process have in common."""
        return IoWait(
            **about,
            pid=self.pid or None,
            call=self.call,
            file=None if self.file is None else redact(self.file),
            mount=self.mount,
            fs_type=self.kind,
            count=self.count,
            total_s=self.total_s,
            max_s=self.max_s,
        )


@dataclass(slots=True)
class Waits:
    """Takes what was counted since the last call: soon after it happened, while the descriptors still stand for their files."""

    slow: Map
    bounds: Map

    def begin(self, call_s: float = CALL_S, request_s: float = REQUEST_S) -> None:
        """From now on tell of what takes longer."""
        self.bounds.put((0,), (int(call_s * 1e9),))
        self.bounds.put((1,), (int(request_s * 1e9),))

    def take(self, proc: Path) -> Iterator[Slow]:
        """What took long on files and devices; waiting for a pipe or a peer is no slow file system."""
        for (pid, number, fd, _), (count, total, most, raw) in list(self.slow.items()):
            self.slow.delete(pid, number, fd, 0)
            call = CALLS.get(number, "other")
            if call == "block":
                file, mount, kind = f"{fd >> 20}:{fd & 0xFFFFF}", None, None
            else:
                file = _absolute(proc, pid, text(raw)) if call in _PATHS else _opened(proc, pid, fd)  # type: ignore[arg-type]
                if file is None:
                    continue
                mount, kind = mounted(proc, pid, file)
            yield Slow(pid, call, count, total / 1e9, most / 1e9, file, mount, kind)


@dataclass(slots=True)
class CpuWaits:
    """How long a process's main thread was ready to run and had no CPU: the scheduler keeps that account by itself."""

    _before: dict[int, int] = field(default_factory=dict[int, int])

    def since(self, proc: Path, pid: int) -> float | None:
        """Seconds since the last call; None at the first one, and where this kernel keeps no such account."""
        try:
            fd = os.open(f"{proc}/{pid}/schedstat", os.O_RDONLY | os.O_CLOEXEC)  # without a file object: there are many
        except OSError:
            return None
        try:
            waited = int(os.read(fd, 100).split()[1])
        except (OSError, ValueError, IndexError):
            return None
        finally:
            os.close(fd)
        before, self._before[pid] = self._before.get(pid), waited
        return None if before is None else (waited - before) / 1e9

    def forget(self, pid: int) -> None:
        """It ended."""
        self._before.pop(pid, None)


def _opened(proc: Path, pid: int, fd: int) -> str | None:
    try:
        path = os.readlink(f"{proc}/{pid}/fd/{fd}")  # noqa: PTH115
    except OSError:
        return None
    return clean_text(os.fsencode(path)) if path.startswith("/") and not path.startswith("/dev/") else None


def _absolute(proc: Path, pid: int, path: str) -> str | None:
    if path.startswith("/"):
        return path
    try:
        return clean_text(os.fsencode(os.path.join(os.readlink(f"{proc}/{pid}/cwd"), path)))  # noqa: PTH115, PTH118
    except OSError:
        return None


def mounted(proc: Path, pid: int, file: str) -> tuple[str | None, str | None]:
    """Mount point and type of the file system that a process finds a file on."""
    best: tuple[str | None, str | None] = (None, None)
    try:
        lines = Path(f"{proc}/{pid}/mountinfo").read_text(errors="replace").splitlines()
    except OSError:
        return best
    for line in lines:
        fields, _, rest = line.partition(" - ")
        mount = fields.split()[4].replace("\\040", " ")
        if (file + "/").startswith(mount.rstrip("/") + "/") and len(mount) >= len(best[0] or ""):
            best = (mount, rest.split()[0])
    return best

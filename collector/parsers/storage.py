"""The file system refuses: full, over quota, read-only, stale, broken, or gone.

SOURCE  errno texts of the C library, CPython's OSError, PyTorch's writer, HDF5, Lustre and GPFS.
ROWS    `storage`; the file in `peer` where it is named.
CAVEAT  /dev/shm is memory: detail.shared_memory. A warning about a cache may be survived.
EXAMPLE OSError: [Errno 28] No space left on device: '/scratch/u/ckpt/step-500'
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import ClassVar

from collector.parsers.base import Line, LineParser, ParsedRow
from collector.parsers.shapes import detail
from store import lazy

NAMES: dict[str, str] = {
    "no_space": "No space left on device (ENOSPC)",
    "quota": "Disk quota exceeded (EDQUOT)",
    "read_only": "Read-only file system (EROFS)",
    "stale": "Stale file handle (ESTALE)",
    "io_error": "Input/output error (EIO)",
    "disconnected": "Transport endpoint is not connected or shut down",
    "write_failed": "a writer wrote less than it should (a full or failing disk, usually)",
    "open_files": "Too many open files (EMFILE)",
    "file_lock": "a file could not be locked (HDF5, SQLite, NFS)",
    "timed_out": "a file system operation timed out",
}

_RULES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("no_space", lazy.compile(r"No space left on device|\[Errno 28\]|ENOSPC|not enough disk space|Not enough free disk space|[Dd]isk (?:is )?full")),
    ("quota", lazy.compile(r"[Dd]isk quota exceeded|\[Errno 122\]|EDQUOT|[Qq]uota exceeded (?:on|for) ")),
    ("read_only", lazy.compile(r"Read-only file system|\[Errno 30\]")),
    ("stale", lazy.compile(r"Stale (?:NFS )?file handle|\[Errno 116\]")),
    ("disconnected", lazy.compile(r"[Tt]ransport endpoint (?:is not connected|shutdown)|\[Errno 10[78]\]|Cannot send after transport endpoint shutdown")),
    ("io_error", lazy.compile(r"Input/output error|\[Errno 5\]|Remote I/O error|\[Errno 121\]")),
    ("write_failed", lazy.compile(r"PytorchStreamWriter failed writing|unexpected pos \d+ vs \d+|I/O error: (?:write|Write)|failed to write .{0,80}(?:disk|file system)|requested bytes were written|\bwrote \d+ (?:blocks|bytes|items) instead of \d+|\b(?:only )?\d+ of \d+ bytes (?:were )?written")),
    ("open_files", lazy.compile(r"Too many open files|\[Errno 24\]")),
    ("file_lock", lazy.compile(r"unable to lock file|[Uu]nable to create file lock|No locks available|\[Errno 37\]|database is locked")),
    ("timed_out", lazy.compile(r"\[Errno 110\].{0,120}'/")),
)  # fmt: skip
_PATH = lazy.compile(r"'(?P<a>/[^']{1,300})'|\"(?P<b>/[^\"]{1,300})\"|(?:[\w)]: |file |to )(?P<c>/[^\s:'\",]{1,300})")


class Storage(LineParser):
    """One line, one refusal."""

    name: ClassVar[str] = "storage"
    anchors: ClassVar[tuple[str, ...]] = (
        "No space left",
        "[Errno ",
        "ENOSPC",
        "disk space",
        "isk full",
        "isk is full",
        "uota exceeded",
        "EDQUOT",
        "Read-only file system",
        "Stale ",
        "ransport endpoint",
        "I/O error",
        "Input/output error",
        "PytorchStreamWriter",
        "unexpected pos ",
        "failed to write",
        "bytes were written",
        "bytes written",
        " instead of ",
        "Too many open files",
        "unable to lock file",
        "file lock",
        "No locks available",
        "database is locked",
    )

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        text = line.text if len(line.text) < 8000 else line.text[-8000:]
        for name, pattern in _RULES:
            if (found := pattern.search(text)) is None:
                continue
            place = _PATH.search(text)
            path = (place["a"] or place["b"] or place["c"]) if place else None
            shared = "/dev/shm" in text or "shared memory" in text or re.search(r"<?/?torch_\d+_\d+", text) is not None
            return [
                line.event(
                    "storage",
                    name,
                    line.text if len(line.text) <= 2000 else text[max(0, found.start() - 500) :],
                    severity="warning" if re.match(r"\W*(?:wandb|WARNING|.{0,60}[Ww]arning:)", text) else "error",
                    parser=self.name,
                    peer=path,
                    detail=detail(shared_memory=True if shared else None),
                )
            ]
        return []

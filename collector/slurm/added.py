"""A log that a daemon writes, followed: the lines that were added since the last look, across its rotation."""

from __future__ import annotations

import os
from pathlib import Path

MOST = 16 << 20
"""Bytes read in one look; the rest is for the next one."""


class LogFile:
    """Follows the file `path`, from its end at first: the past is for others. `file` (device, inode) and `offset` say how far it was read."""

    def __init__(self, path: Path, most: int = MOST) -> None:
        self.path = path
        self.file: tuple[int, int] | None = None
        self.offset = 0
        self._most = most

    def added(self) -> bytes:
        """Whole lines. Raises OSError where the file cannot be read; nothing is lost by that."""
        rest = b""
        with self.path.open("rb") as log:
            status = os.fstat(log.fileno())
            file = (status.st_dev, status.st_ino)
            if self.file is None:
                self.offset = status.st_size
            elif file != self.file:
                rest = self._rest_of_rotated(self.file)
                self.offset = 0
            elif status.st_size < self.offset:
                self.offset = 0  # truncated in place
            self.file = file
            log.seek(self.offset)
            added = log.read(self._most)
        end = added.rfind(b"\n") + 1
        if not end and len(added) == self._most:
            end = self._most  # a line as long as that is none
        self.offset += end
        return rest + (b"\n" if rest and not rest.endswith(b"\n") else b"") + added[:end]

    def _rest_of_rotated(self, file: tuple[int, int]) -> bytes:
        """What was written to the old file after the last look, if it lies beside the new one."""
        for path in sorted(self.path.parent.glob(f"{self.path.name}?*")):
            try:
                status = path.stat()
                if (status.st_dev, status.st_ino) == file:
                    with path.open("rb") as old:
                        old.seek(self.offset)
                        return old.read(self._most)
            except OSError:
                continue
        return b""

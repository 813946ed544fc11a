"""The epilog's spool: an empty file for each job that ended, its name the whole message.

    4812.0.ended        SLURM_JOB_ID, then how often the job had been requeued

The epilog makes the file in one system call, so it is there or not. The watcher looks the job up at once, and removes the
file when the job's attempts are noted. A file that says nothing useful is removed, too: the poll finds what it meant.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Mapping
from pathlib import Path

from store import lazy

NAME = lazy.compile(r"(\d{1,18})\.(\d{1,6})\.ended\Z", re.ASCII)
MOST = 2000
STALE_S = 600.0


class Spool:
    """The folder; it may be absent, or appear later."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    def look(self) -> dict[str, list[Path]]:
        """Raw job ids with their files, at most `MOST` of them."""
        found: dict[str, list[Path]] = {}
        if self._folder is None:
            return found
        try:
            with os.scandir(self._folder) as entries:
                for entry in entries:
                    named = NAME.match(entry.name)
                    if named is not None:
                        found.setdefault(named.group(1), []).append(Path(entry.path))
                    if len(found) >= MOST:
                        break
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            return {}
        return found

    def done(self, files: list[Path]) -> None:
        """Remove files whose job is noted."""
        for path in files:
            with contextlib.suppress(OSError):
                path.unlink()

    def young(self, told: Mapping[str, list[Path]], seconds: float) -> bool:
        """Whether one of the files was made a moment ago."""
        now = time.time()
        for path in (p for files in told.values() for p in files):
            with contextlib.suppress(OSError):
                if abs(now - path.stat().st_mtime) < seconds:
                    return True
        return False

    def stale(self, files: list[Path]) -> bool:
        """Whether the files are so old that the poll must have found what they meant."""
        try:
            return all(abs(time.time() - path.stat().st_mtime) > STALE_S for path in files)
        except OSError:
            return False

"""Which of enroot's containers a process stands in: its root directory tells, where neither its cgroup nor its environment does.

enroot keeps each container as a folder, makes that its processes' root and locks it by a file there, `/.lock`; pyxis has a task
join such a container. Both leave it the environment of the image, in which nothing names the container.

612 588 254:0 /home/mira/.local/share/enroot/pyxis_4812.0 / ro,nosuid,nodev - ext4 /dev/vda rw      in /proc/PID/mountinfo
"""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

from store import lazy

_ESCAPED = lazy.compile(r"\\([0-7]{3})")


class Roots:
    """The containers of the processes that were asked about; a child in its parent's costs one look at its root."""

    def __init__(self, proc: Path) -> None:
        self._proc = proc
        self._outside = {root for root in (self._root(1), self._root("self")) if root is not None}
        self._inside: dict[int, tuple[tuple[int, int], str]] = {}

    def container(self, pid: int, parent: int) -> str | None:
        """The folder of the container; None for a process outside, or that may not be looked at."""
        root = self._root(pid)
        if root is None or root in self._outside:
            return None
        above = self._inside.get(parent)
        name = above[1] if above is not None and above[0] == root else self._folder(pid)
        if name is not None:
            self._inside[pid] = root, name
        return name

    def keep(self, pids: Collection[int]) -> None:
        """Forget the processes that are none of these."""
        self._inside = {pid: found for pid, found in self._inside.items() if pid in pids}

    def _root(self, pid: int | str) -> tuple[int, int] | None:
        try:
            found = os.stat(f"{self._proc}/{pid}/root")  # noqa: PTH116
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def _folder(self, pid: int) -> str | None:
        try:
            os.stat(f"{self._proc}/{pid}/root/.lock")  # noqa: PTH116
            with open(f"{self._proc}/{pid}/mountinfo", encoding="utf-8", errors="replace") as file:  # noqa: PTH123
                mounts = [line.split(" ", 5) for line in file]
        except OSError:
            return None
        # What is mounted over it last is what the process has as its root.
        folder = next((m[3] for m in reversed(mounts) if len(m) == 6 and m[4] == "/"), "/")
        return _ESCAPED.sub(lambda m: chr(int(m[1], 8)), folder) if folder != "/" else None

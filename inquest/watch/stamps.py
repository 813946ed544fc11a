"""Whether files still grow, asked in a thread of its own: a file server that hangs must not hold the watcher's loop."""

from __future__ import annotations

import queue
import threading
from collections.abc import Sequence
from pathlib import Path

Stamp = tuple[tuple[int, int] | None, ...]


class Stamps:
    """Sizes and times of files, as of the last look."""

    def __init__(self) -> None:
        self._asked: queue.Queue[tuple[str, Sequence[str]]] = queue.Queue()
        self._waiting: set[str] = set()
        self._known: dict[str, Stamp] = {}
        self._thread: threading.Thread | None = None

    def look(self, key: str, paths: Sequence[str]) -> Stamp | None:
        """What was seen of the paths last, None before the first look; a new look is begun."""
        if not paths:
            return ()
        if self._thread is None:
            self._thread = threading.Thread(target=self._serve, name="stamps", daemon=True)
            self._thread.start()
        if key not in self._waiting:
            self._waiting.add(key)
            self._asked.put((key, paths))
        return self._known.get(key)

    def forget(self, key: str) -> None:
        """The attempt is done with."""
        self._known.pop(key, None)

    def _serve(self) -> None:
        while True:
            key, paths = self._asked.get()
            self._known[key] = tuple(_stamp(p) for p in paths)
            self._waiting.discard(key)


def _stamp(path: str) -> tuple[int, int] | None:
    try:
        found = Path(path).stat()
    except (OSError, ValueError):
        return None
    return found.st_size, found.st_mtime_ns

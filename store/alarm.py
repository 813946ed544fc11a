"""A limit in time for what runs in DuckDB: one watching thread for a whole reader, not one for every question."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager


class Alarm:
    """Calls `ring` once when what runs inside `armed` takes longer than `seconds`."""

    def __init__(self, seconds: float, ring: Callable[[], object]) -> None:
        self._seconds = seconds
        self._ring = ring
        self._lock = threading.Lock()
        self._until: float | None = None
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self.rang = False
        """Whether it rang in the last `armed`."""

    @contextmanager
    def armed(self) -> Generator[None]:
        """Watch what runs inside; one at a time."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._watch, name="alarm", daemon=True)
            self._thread.start()
        with self._lock:
            self.rang, self._until = False, time.monotonic() + self._seconds
        try:
            yield
        finally:
            with self._lock:
                self._until = None

    def stop(self) -> None:
        """Let the watching thread end."""
        self._stopped.set()

    def _watch(self) -> None:
        # Whatever is armed while this sleeps has the whole time before it, so that waking in time needs no signal.
        pause = self._seconds
        while not self._stopped.wait(pause):
            with self._lock:
                now = time.monotonic()
                pause = self._seconds
                if self._until is not None and self._until <= now:
                    self.rang, self._until = True, None
                    self._ring()
                elif self._until is not None:
                    pause = self._until - now

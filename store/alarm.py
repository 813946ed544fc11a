"""A limit in time for what runs in DuckDB, and a way out of it: one watching thread for a whole reader, not one for every question.

Python's handlers of signals run in the main thread, and only between its own instructions: while the engine runs there, Ctrl-C
would be heard when the answer is there. What the C library tells at once, by a byte, is heard by the watching thread.
"""

from __future__ import annotations

import math
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress

STOPS = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
"""Signals at which nobody waits for an answer. Others have handlers too (a child that ended, a window that changed)."""


class Alarm:
    """Calls `ring` once when what runs inside `armed` takes longer than `seconds`, or when a signal comes to stop it."""

    def __init__(self, seconds: float, ring: Callable[[], object]) -> None:
        self._seconds = seconds
        self._ring = ring
        self._lock = threading.Lock()
        self._until: float | None = None
        self._thread: threading.Thread | None = None
        self._pipe: tuple[int, int] | None = None
        self._heard = b""
        self.rang = False
        """Whether the time was over in the last `armed`."""
        self.signalled = False
        """Whether it was stopped for a signal."""

    @contextmanager
    def armed(self) -> Generator[None]:
        """Watch what runs inside; one at a time."""
        if self._thread is None:
            self._pipe = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
            self._thread = threading.Thread(target=self._watch, args=(self._pipe[0],), name="alarm", daemon=True)
            self._thread.start()
        with self._lock:
            self.rang, self.signalled, self._until = False, False, time.monotonic() + self._seconds
        main = threading.current_thread() is threading.main_thread()
        others = signal.set_wakeup_fd(self._pipe[1], warn_on_full_buffer=False) if main and self._pipe else -1
        try:
            yield
        finally:
            if main:
                signal.set_wakeup_fd(others, warn_on_full_buffer=False)
            with self._lock:
                self._until = None
                heard, self._heard = self._heard, b""
            if heard and others != -1:  # an event loop's, which has handlers of its own
                with suppress(OSError):
                    os.write(others, heard)

    def stop(self) -> None:
        """Let the watching thread end."""
        pipe, self._pipe = self._pipe, None
        if pipe is None:
            return
        if threading.current_thread() is threading.main_thread():  # one armed inside this puts it back later
            told = signal.set_wakeup_fd(-1)
            if told not in (-1, pipe[1]):
                signal.set_wakeup_fd(told, warn_on_full_buffer=False)
        os.close(pipe[1])

    def _watch(self, woken: int) -> None:
        # Whatever is armed while this sleeps has the whole time before it, so that waking in time needs no signal.
        pause = self._seconds
        bytes_of = select.poll()  # a number above a thousand, as a busy server may have, is too high for select
        bytes_of.register(woken, select.POLLIN)
        while True:
            ready = bytes_of.poll(math.ceil(min(pause, 1e6) * 1000))
            with self._lock:
                if ready:
                    told = os.read(woken, 64)
                    if not told:
                        break
                    self._heard += told
                    if self._until is not None and STOPS.intersection(told):
                        self.signalled, self._until = True, None
                        self._ring()
                now = time.monotonic()
                pause = self._seconds
                if self._until is not None and self._until <= now:
                    self.rang, self._until = True, None
                    self._ring()
                elif self._until is not None:
                    pause = self._until - now
        os.close(woken)


def raise_if_called_off() -> None:
    """Raises CancelledError where the event loop that runs this is being stopped: at Ctrl-C its handler calls a task off, and returns."""
    if "asyncio" not in sys.modules:  # which few commands need, and which takes its time to load
        return
    import asyncio

    try:
        tasks = asyncio.all_tasks()
    except RuntimeError:  # no loop runs here
        return
    if any(task.cancelling() for task in tasks):
        raise asyncio.CancelledError

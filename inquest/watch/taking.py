"""Takes in what nodes hand over to the lake, while the watcher runs: it has the engine open anyway.

Any number of watchers may do so at once (`store.take_in`); a chunk is published once, and a kill loses none.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

from store import Writer
from store.take_in import Taken, take_in

EVERY_S = 5.0
COMPLAIN_S = 60.0
"""The same trouble is said again after so long."""


class Taking:
    """A thread that takes in what waits. `say` hears what is in the way."""

    def __init__(self, lake: Path, say: Callable[[str], None], *, every_s: float = EVERY_S) -> None:
        self._lake, self._say, self._every = lake, say, every_s
        self._writer = Writer(lake)
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._said: tuple[str, float] = ("", 0.0)

    def start(self) -> None:
        """Begin."""
        self._thread = threading.Thread(target=self._serve, name="taking", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop after the batch at hand."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout=5.0)

    def turn(self) -> Taken:
        """Take in what waits now."""
        done = take_in(self._lake, limit_s=self._every, writer=self._writer)
        for path in done.laid_aside:
            self._say(f"{path} could not be read and lies in {self._lake}/incoming/bad")
        if done.error and (done.error != self._said[0] or time.monotonic() - self._said[1] > COMPLAIN_S):
            self._said = done.error, time.monotonic()
            self._say(f"what nodes handed over stays where it is: {done.error}")
        return done

    def _serve(self) -> None:
        while not self._stop.is_set():
            try:
                done = self.turn()
            except Exception as error:  # a thread that ended would be missed by nobody
                self._say(f"taking in: {type(error).__name__}: {error}")
                done = Taken()
            self._stop.wait(0.0 if done.left else self._every)

"""Finished chunks from the node's spool into the lake, where whoever has the engine open takes them in.

Now and then, soon after something happened, and never waited for: a thread of its own copies (`store.incoming.put`), so that a
lake that hangs stops nothing else. Between the rounds that thread looks for what the node is asked for there (`collector.node.asked`). Where nobody takes chunks in, a child that loads the engine does (`collector.node.seal`).
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

from collector.node.asked import LOOK_S, Asked
from collector.node.clock import Clock
from collector.node.spool_out import SpoolOut
from collector.node.unmounted import unmounted
from store import incoming
from store.incoming import Chunk
from store.lake import Lake, locked
from store.result import StoreError

EVERY_S = 300.0
SETTLE_S = 2.0
"""After an alarm, so that what follows at once is in the same chunk."""
GAP_S = 5.0
"""At least so long between two rounds: a verdict waits some ten seconds for us."""
BURST, REFILL_S = 15, 60.0
"""So many chunks may alarms ask for at once, and one more a minute: each costs whoever takes it in a tenth of a second."""
OWN_S = 1800.0
"""What nobody has taken in after so long, or more than OWN_BYTES, a child of ours takes in."""
OWN_BYTES = 64 << 20
HELD_BYTES = 256 << 20
"""No more than that of one node waits in the lake; the rest waits in the node's spool, within its budget."""
LAKE = "lake"
"""In the spool: which lake got something of it."""
LIMIT_S = 300.0
"""A child that takes longer is killed; what it published stays, the rest is tried again."""

_ROOT = Path(__file__).resolve().parents[2]


class HandOver:
    """Hands over what waits in a spool. All methods belong to one thread, save `hurry`."""

    def __init__(
        self,
        spool: SpoolOut,
        lake: Path,
        node: str,
        clock: Clock,
        *,
        every_s: float = EVERY_S,
        settle_s: float = SETTLE_S,
        own_s: float = OWN_S,
        asked: Asked | None = None,
    ) -> None:
        self._asked = asked
        self._spool, self._lake, self._node, self._clock = spool, Lake(lake), node, clock
        self._every, self._settle, self._own = every_s, settle_s, own_s
        self._due = clock.steady() + every_s
        self._last = float("-inf")
        self._credit, self._credit_at = float(BURST), clock.steady()
        self._handed: dict[Chunk, float] | None = None
        """What waits in the lake, and since when; None until the first round has looked."""
        self._wanted, self._done = threading.Event(), threading.Event()
        self._begun: float | None = None
        self._thread: threading.Thread | None = None
        self.problem: str | None = None
        """Why the last round did not get everything into the lake; None when it did."""

    def begin(self) -> None:
        """Begin to look for requests; a round needs no beginning."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._serve, name="lake", daemon=True)
            self._thread.start()

    def hurry(self, _reason: str) -> None:
        """Hand over soon; in a storm of alarms now and then, and at the latest as usual."""
        now = self._clock.steady()
        earned = now + max(0.0, 1.0 - self._saved(now)) * REFILL_S
        self._due = min(self._due, max(now + self._settle, self._last + GAP_S, earned))

    def _saved(self, now: float) -> float:
        return min(float(BURST), self._credit + (now - self._credit_at) / REFILL_S)

    @property
    def due(self) -> bool:
        """Is it time, and no round at work?"""
        return self._begun is None and self._clock.steady() >= self._due

    @property
    def due_in(self) -> float:
        """Seconds until it is time."""
        return max(0.0, self._due - self._clock.steady())

    def start(self) -> None:
        """Begin a round for the chunks that wait."""
        now = self._clock.steady()
        if now - self._last < self._every:  # an alarm asked for it
            self._credit, self._credit_at = max(0.0, self._saved(now) - 1.0), now
        self._last, self._due = now, now + self._every
        if self._begun is not None:
            return
        self._begun = now
        self._done.clear()
        self._wanted.set()
        self.begin()

    def poll(self) -> bool:
        """Look after the round; True when one has just ended."""
        if self._begun is None:
            return False
        if self._done.is_set():
            self._begun = None
            return True
        if self._clock.steady() - self._begun > LIMIT_S:
            self.problem = f"no answer within {LIMIT_S:g} s: is {self._lake.root} there?"
        return False

    def wait(self, limit_s: float) -> bool:
        """Wait for the round at the end of the collector; True when it ended by itself."""
        if self._begun is not None:
            self._done.wait(limit_s)
            self.poll()
        return self._begun is None

    def _serve(self) -> None:
        while True:
            if self._asked is not None:
                self._asked.look()
            if not self._wanted.wait(None if self._asked is None else LOOK_S):
                continue
            self._wanted.clear()
            try:
                self.problem = self._round()
            except (StoreError, OSError) as error:
                self.problem = why_not(error, self._lake)
            self._done.set()

    def _round(self) -> str | None:
        """Hand over what waits; gives what came in the way of it. Raises StoreError, OSError."""
        if self._handed is None:
            self._handed = dict.fromkeys(incoming.waiting(self._lake, self._node), self._clock.steady())
        with locked(self._spool.folder / "seal.lock", wait=False) as ours:
            if not ours:
                return "another seal is at work"
            self._handed = {chunk: since for chunk, since in self._handed.items() if chunk.path.exists()}
            size = sum(chunk.bytes() for chunk in self._handed)
            problem = None
            for source in self._spool.waiting:
                if size > HELD_BYTES:
                    problem = f"{size >> 20} MB wait in {self._lake.root}/incoming: nobody takes them in"
                    break
                chunk = handed_over(source, self._lake, self._node)
                self._handed[chunk] = self._clock.steady()
                size += chunk.bytes()
        since = min(self._handed.values(), default=self._clock.steady())
        if size > OWN_BYTES or (self._handed and self._clock.steady() - since >= self._own):
            problem = self._take_in() or problem
        if problem is None and (bad := incoming.laid_aside(self._lake, self._node)):
            problem = f"{len(bad)} files could not be read and lie in {bad[0].parent}: {bad[0].name}"
        return problem

    def _take_in(self) -> str | None:
        """Take in what waits of this node, by a child; gives why not all of it is in the lake."""
        words = [
            sys.executable,
            "-P",
            "-m",
            "collector.node.seal",
            str(self._spool.folder),
            str(self._lake.root),
            self._node,
        ]
        env = {**os.environ, "PYTHONPATH": str(_ROOT)}
        quiet = [(os.POSIX_SPAWN_OPEN, n, os.devnull, os.O_RDWR, 0) for n in (0, 1)]
        # posix_spawn costs no copy of our memory.
        child = os.posix_spawn(words[0], words, env, file_actions=quiet, setsigmask=[])
        deadline = time.monotonic() + LIMIT_S
        try:
            while not (ended := os.waitpid(child, os.WNOHANG))[0]:
                if time.monotonic() > deadline:
                    os.kill(child, signal.SIGKILL)
                    os.waitpid(child, 0)
                    return f"a seal took longer than {LIMIT_S:g} s and was ended: is {self._lake.root} there?"
                time.sleep(0.1)
        except ChildProcessError:  # somebody else reaped it
            return None
        status = os.waitstatus_to_exitcode(ended[1])
        try:
            told: dict[str, Any] = json.loads((self._spool.folder / "seal.json").read_text())
        except (OSError, ValueError):
            told = {}
        return told.get("error") or f"seal ended with status {status}" if status else None


def why_not(error: StoreError | OSError, lake: Lake) -> str:
    """Why nothing got into the lake, in words for whoever looks after the node."""
    if isinstance(error, OSError) and error.strerror and str(error.filename or "").startswith(str(lake.root)):
        return f"cannot write to the lake {lake.root}: {error.strerror}"
    return str(error)[:500]


def handed_over(source: Path, lake: Lake, node: str) -> Chunk:
    """Move a spool's chunk into the lake. The caller holds the spool's `seal.lock`. Raises StoreError, OSError.

    A death between copy and removal repeats the copy, which is then known by its id.
    """
    mark = source.parent / LAKE
    known = mark.read_text() if mark.exists() else ""
    if known == str(lake.root) and not lake.marker.exists():
        # A file server that is not mounted leaves an empty folder: a new lake there would be hidden when it is back.
        raise StoreError(f"the lake at {lake.root} is gone: bring it back, or delete {mark} to begin a new one there")
    if not lake.marker.exists() and (missing := unmounted(lake.root)) is not None:
        raise StoreError(f"{missing}: no lake is made in the folder below it")
    chunk = incoming.put(lake, node, source.name.removeprefix("ready-"), source)
    if known != str(lake.root):
        mark.write_text(str(lake.root))
    shutil.rmtree(source)
    return chunk

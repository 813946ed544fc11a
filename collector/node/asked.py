"""Requests of a watcher to this node's collector: one look at one small file in the lake every few seconds.

How old a request is nobody's clock has to say: one that was not there at the look before was made since then. So what is there
at the first look, and what came while the lake could not be looked at for longer than the ring holds, is let be. The writer's
clock only has to be within ten minutes of ours, as Slurm's own credentials ask for: that keeps out what was copied into the lake.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import suppress

from collector.node.clock import Clock
from collector.node.tiers import AFTER_S, BEFORE_S
from store import triggers
from store.lake import Lake
from store.triggers import Mark, Request

LOOK_S = 5.0
APART_S = 600.0
NODES = 64
"""A host looks for no more names of nodes: the pods on it that run slurmd."""


class Asked:
    """Finds the requests. `nodes` gives the names under which Slurm knows this host, `ask` is called for each new request."""

    def __init__(
        self, lake: Lake, nodes: Callable[[], Collection[str]], clock: Clock, ask: Callable[[Request], None]
    ) -> None:
        self._lake, self._nodes, self._clock, self._ask = lake, nodes, clock, ask
        self._seen: dict[str, tuple[float, Mark | None]] = {}
        self._known: dict[str, str] = {}
        self._taken = float("-inf")

    def look(self) -> None:
        """Ask for what is new. What cannot be read is no request; a lake that is away is looked for again."""
        names = sorted(self._nodes())[:NODES]
        self._seen = {name: seen for name, seen in self._seen.items() if name in names}
        for name in names:
            with suppress(OSError):
                self._look(name)

    def _look(self, node: str) -> None:
        path = triggers.place(self._lake, node)
        mark = triggers.mark(path)
        at, before = self._seen.get(node, (float("-inf"), None))
        self._seen[node] = (self._clock.steady(), mark)
        if mark is None or mark == before or mark[2] > triggers.SIZE:
            return
        request = triggers.read(path)
        steady = self._clock.steady()  # after whatever the lake took
        if request is None or request.node != node or request.id == self._known.get(node):
            return
        self._known[node] = request.id
        apart = abs((self._clock.now() - request.ts).total_seconds())
        if steady - at > BEFORE_S or apart > APART_S or steady - self._taken < AFTER_S:
            return
        self._taken = steady
        self._ask(request)

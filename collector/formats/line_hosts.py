"""Whose line of a kernel's log it is: the node that the file is known to be of, or the host that the line names."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from collector.formats.kernel_times import Clock
from collector.formats.node_names import NodeNames, other_of_its_kind
from collector.formats.text import decode, head
from collector.importers.base import ImportContext

_WINDOW = 1 << 16
_UNSET = frozenset({"localhost", "(none)"})
"""What a kernel is called before the machine has its name."""


def hosts_of(path: Path, clock: Clock) -> set[str]:
    """The hosts that lines at the file's beginning and end name: a merged journal names many, one that was joined ends with another."""
    parts = [head(path, _WINDOW)]
    if path.stat().st_size > _WINDOW:
        with path.open("rb") as stream:  # of a packed file this is no text, and no line of it names anybody
            stream.seek(-_WINDOW, 2)
            parts.append(stream.read())
    texts = [line for part in parts for line in decode(part).splitlines()]
    spoken = (clock.split(line) for line in texts)
    return {s.host for s in spoken if s is not None and s.host} - _UNSET


class LineHosts:
    """Decides between a file's node and a line's host."""

    def __init__(self, ctx: ImportContext, hosts: Collection[str]) -> None:
        self._node = ctx.node
        self._names = NodeNames(ctx.nodes, ctx.aliases)
        # A file that no name ties to a node was taken to be of the only node that the jobs have.
        self._named = ctx.node is not None and ctx.node.partition(".")[0].lower() in ctx.name.lower()
        self._several = len({self._names.spelt(h) for h in hosts}) > 1

    def node(self, host: str | None) -> str | None:
        """The node that a line of this host is of."""
        if host is None or host in _UNSET or self._node is None:
            return self._node or host
        own = self._names.spelt(host)
        if self._named and self._node in self._names:
            return self._node
        if self._several or own in self._names or other_of_its_kind(host, self._node):
            return own
        return self._node  # one host of a name like no node's: the same machine may have two

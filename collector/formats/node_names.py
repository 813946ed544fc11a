"""How Slurm spells a node that other tools name in full, in short, or with their own domain behind it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping

from store import lazy

_NODE_LABELS = ("Hostname", "node", "hostname", "nodename", "kubernetes_node", "host", "exported_instance", "instance")
_HOST_LABEL = lazy.compile(r"(?i)^(?!.*(?:peer|remote|target|dest|source)).*(?:host|node|server|machine)")
_ADDRESS = lazy.compile(r"[\d.]+\Z|\[")
_NUMBER = lazy.compile(r"\d+")


class NodeNames:
    """The names that the jobs of an import have for their nodes: `gpu01`, `gpu01.cluster`, `rack4.gpu01`.

    `aliases` are addresses and host names that Slurm knows them by. Hosts, unlike Slurm, mind no capitals.
    """

    def __init__(self, known: Collection[str] = (), aliases: Mapping[str, str] | None = None) -> None:
        self._known = frozenset(known)
        self._by_first: dict[str, set[str]] = defaultdict(set)
        self._by_lower: dict[str, set[str]] = defaultdict(set)
        self._aliases = {a: node for a, node in (aliases or {}).items() if node in self._known and a not in self._known}
        self._spelt: dict[str, str] = {}
        for node in known:
            self._by_first[node.partition(".")[0]].add(node)
            self._by_lower[node.lower()].add(node)

    def __contains__(self, name: str) -> bool:
        """Whether a job has a node of that very name."""
        return name in self._known

    def spelt(self, name: str) -> str:
        """The node that is meant, as Slurm spells it; the name itself where no node of the jobs is."""
        own = self._spelt.get(name)
        if own is None:
            own = self._spelt[name] = self._find(name)
        return own

    def _find(self, name: str) -> str:
        if _ADDRESS.match(name):
            return self._aliases.get(name, name)
        part = name
        while part:
            if part in self._known:
                return part
            alike = self._by_lower.get(part.lower(), set[str]())
            if len(alike) == 1:
                return next(iter(alike))
            if part in self._aliases:
                return self._aliases[part]
            part = part.rpartition(".")[0]
        alike = self._by_first.get(name, set[str]())
        return next(iter(alike)) if len(alike) == 1 else name  # of two that begin alike the short name means either

    def host(self, name: str) -> str:
        """As `spelt`, for a name that a domain may stand behind: a node that the jobs do not have loses it.

        Not where a node of theirs begins alike: `rack4.gpu01` is no domain's `rack4` beside `rack4.gpu02`.
        """
        own = self.spelt(name)
        first = name.partition(".")[0]
        return own if own in self._known or first in self._by_first or _ADDRESS.match(name) else first


def other_of_its_kind(name: str, node: str) -> bool:
    """Whether a name is that of another node of the same kind: `gpu09` beside `gpu01`, but neither `gpu1` nor `ip-10-0-0-7`."""
    told, own = (n.partition(".")[0].lower() for n in (name, node))
    numbers = [[int(n) for n in _NUMBER.findall(part)] for part in (told, own)]
    return _NUMBER.sub("0", told) == _NUMBER.sub("0", own) and numbers[0] != numbers[1]


def node_of(labels: Mapping[str, str], names: NodeNames) -> str | None:
    """The node as Slurm would spell it: no port, no domain; an address stays.

    An exporter that runs in a pod has the pod's name as its host's: then a label that names a node of the jobs is the node, also one
    that only its own name shows to be about a host.
    """
    told = [names.host(_portless(value)) for label in _NODE_LABELS if (value := labels.get(label))]
    own = next((name for name in told if name in names), None)
    others = (names.host(_portless(v)) for k, v in labels.items() if own is None and _HOST_LABEL.search(k))
    return own or next((name for name in others if name in names), told[0] if told else None)


def _portless(address: str) -> str:
    return address.rpartition(":")[0] if address.count(":") == 1 or "]:" in address else address

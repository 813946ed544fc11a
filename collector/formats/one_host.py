"""Whether GPUs that no label ties to a host can all be of one: of two that have the same number at the same time one is elsewhere.

A query that sums over everything but the GPU leaves no host in its answer. To take the only node of the jobs for theirs would lay each
fault in the cluster at that node.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from itertools import combinations

Span = tuple[int, int]
"""First and last time of its samples, in milliseconds since 1970."""
REMEDY = "GPUs of several hosts and no label that tells which: they are laid at no node (keep Hostname or instance in the query)"


def several(gpus: Iterable[tuple[int, str, Span | None]]) -> bool:
    """Whether GPUs, each with its number, its UUID and when it was sampled (None: at one unknown time), are of more than one host.

    One that was replaced has its number after the other, and instances of a MIG all have that of their GPU.
    """
    by_number: dict[int, dict[str, Span | None]] = defaultdict(dict)
    for number, uuid, span in gpus:
        if not uuid.startswith("MIG-"):
            by_number[number][uuid] = _joined(by_number[number].get(uuid, span), span)
    return any(_meet(a, b) for spans in by_number.values() for a, b in combinations(spans.values(), 2))


def _joined(a: Span | None, b: Span | None) -> Span | None:
    return (min(a[0], b[0]), max(a[1], b[1])) if a and b else None


def _meet(a: Span | None, b: Span | None) -> bool:
    return a is None or b is None or (a[0] <= b[1] and b[0] <= a[1])

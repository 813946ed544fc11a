"""What the lines of one wording mean: which figure of the line fills which column of its row."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress, count
from typing import Any

from collector.parsers.values import json_column
from collector.parsers.wording import Steps, Wording

Texts = Sequence[str | bytes]


def _plain(text: str | bytes) -> float:
    return float(text.replace(",", "") if isinstance(text, str) else text.replace(b",", b""))


# How a figure becomes a value, and how many do.
CONVERSIONS: dict[str, Callable[[Texts], list[Any]]] = {
    "int": lambda texts: list(map(int, texts)),
    "float": lambda texts: list(map(float, texts)),
    "thousandth": lambda texts: [float(t) / 1000 for t in texts],
    "inverse": lambda texts: [1 / float(t) for t in texts],
    "thousandfold": lambda texts: [float(t) * 1e3 for t in texts],
    "commas": lambda texts: list(map(_plain, texts)),
}


@dataclass(frozen=True, slots=True)
class Source:
    """A value of the row: what is made of the text in the slot `key`."""

    key: str
    how: str

    def values(self, found: Mapping[str, Texts]) -> list[Any]:
        """Of many lines."""
        return CONVERSIONS[self.how](found[self.key])


@dataclass(frozen=True, slots=True)
class Learned:
    """A wording and the rows of its lines. `metrics` are those of the row's JSON, in its order.

    `nonzero` are slots that must not hold nought, `ordered` are pairs of slots of which the first is no more than the second.
    """

    wording: Wording
    framework: str
    constants: dict[str, Any]
    columns: dict[str, Source]
    metrics: dict[str, Source | float]
    nonzero: tuple[str, ...]
    ordered: tuple[tuple[str, str], ...]
    tried: tuple[str, ...]
    fixed: frozenset[int]

    def stays(self, place: int) -> bool:
        """Whether all lines have the same there."""
        return place in self.fixed

    def odd(self, found: Mapping[str, Texts]) -> list[int]:
        """The lines that are to be read by themselves, by number."""
        bad: set[int] = set()
        for key in self.nonzero:
            zero = [not n for n in map(float, found[key])]
            if any(zero):
                bad.update(compress(count(), zero))
        for low, high in self.ordered:
            over = list(map(operator.gt, map(int, found[low]), map(int, found[high])))
            if any(over):
                bad.update(compress(count(), over))
        return sorted(bad)

    def steps(self, found: Mapping[str, Texts]) -> Steps:
        """The rows of lines of which none is odd."""
        columns: dict[str, Sequence[Any]] = {name: source.values(found) for name, source in self.columns.items()}
        constants = dict(self.constants)
        if self.metrics:
            lines = len(next(iter(found.values()))) if found else 1
            figures = {k: s.values(found) if isinstance(s, Source) else [s] * lines for k, s in self.metrics.items()}
            columns["metrics"] = json_column(figures) or ()
        return Steps(self.framework, constants, columns)

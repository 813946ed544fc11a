"""nanogpt_plan: how many iterations nanoGPT was to make, by the settings that it prints before it begins.

SOURCE    nanoGPT and its forks: `configurator.py` prints the settings files and the overrides, `train.py` what follows from them
ROWS      train_plan (total_steps)
CAVEAT    a setting that is left at its default is printed nowhere; the last word counts, and only where nanoGPT goes on
EXAMPLES
    Overriding: max_iters = 2000
    tokens per iteration will be: 491,520
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from collector.parsers.base import Line, LineParser, ParsedRow
from collector.parsers.shapes import strip_label
from store import lazy

_SETTING = lazy.compile(r"(?:Overriding: )?max_iters = (\d{1,12})\s*(?:#|$)")
_BEGINS = lazy.compile(r"tokens per iteration will be: \d")


class NanoGptPlan(LineParser):
    """Holds the last number of iterations until nanoGPT speaks of its work."""

    name: ClassVar[str] = "nanogpt_plan"
    anchors: ClassVar[tuple[str, ...]] = ("max_iters = ", "tokens per iteration will be: ")

    def __init__(self) -> None:
        self._iterations: int | None = None

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        text = strip_label(line.text[:300]).strip()
        if found := _SETTING.match(text):
            self._iterations = int(found[1])
        elif self._iterations is not None and _BEGINS.match(text):
            total, self._iterations = self._iterations, None
            return [line.event("train_plan", "max_iters", severity="info", framework="nanogpt", total_steps=total)]
        return ()

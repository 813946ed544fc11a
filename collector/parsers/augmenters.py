"""batchgenerators' workers (nnU-Net, MONAI's and DKFZ's loaders): what one of them failed of, told before its trainer gives up.

SOURCE  batchgenerators/dataloading: multi_threaded_augmenter, nondet_multi_threaded_augmenter, 0.19 to 0.25
ROWS    one `exception` for each kind of failure that is told under the heading, named OSError where it has the system's number
CAVEAT  the trainer raises another one after it, which only says that workers are gone. A traceback below the heading has a parser.
EXAMPLE
    Exception in background worker 6:
     [Errno 5] Input/output error: '/data/pre/case_0550.npz'
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from collector.parsers.base import Line, ParsedRow
from collector.parsers.shapes import strip_label
from store import lazy

NAMES: dict[str, str] = {
    "OSError": "the operating system refused a file (its number and path in the message)",
    "Exception": "another failure; its kind is not printed",
}

_HEAD = lazy.compile(r"Exception in background worker \d{1,6}:\s*(?P<rest>.*)$")
_SYSTEM = lazy.compile(r"\[Errno \d+\] ")
_NONE = lazy.compile(r"Traceback \(most recent call last\)|File \"|\S+\.py[: ]")


class Augmenters:
    """State: a heading whose message has not come yet, and what was told already."""

    name: ClassVar[str] = "augmenters"
    anchors: ClassVar[tuple[str, ...]] = ("Exception in background worker ",)

    def __init__(self) -> None:
        self._heads = 0
        self._told: set[str] = set()

    @property
    def wants_more(self) -> bool:
        """True while messages may follow: several workers write at once."""
        return self._heads > 0

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        text = strip_label(line.text).strip()
        if head := _HEAD.match(text):
            self._heads += 1
            text = head["rest"].strip()
        if not text or not self._heads:
            return ()
        self._heads -= 1
        if _NONE.match(text):
            self._heads = 0
            return ()
        name = "OSError" if _SYSTEM.match(text) else "Exception"
        kind = text.split("'")[0][:80]
        if kind in self._told or len(self._told) > 20:
            return ()
        self._told.add(kind)
        return [line.event("exception", name, text[:2000], severity="fatal", parser=self.name)]

    def close(self) -> Iterable[ParsedRow]:
        """Nothing is told of a heading that nothing follows."""
        self._heads = 0
        return ()

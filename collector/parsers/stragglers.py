"""A trainer's own watch over slow ranks: the straggler reports of NVIDIA's resiliency extension and of NeMo's callback.

SOURCE  nvidia_resiliency_ext: ptl_resiliency/straggler_det_callback, attribution/straggler, releases 0.1 to 0.5
ROWS    `warning` named `straggler` (slower than the other ranks) or `slowed` (slower than it was itself); the first rank in rank
CAVEAT  the scores are printed with every report, of healthy runs too: only the warning says that a rank is below the limit.
EXAMPLE STRAGGLER DETECTION WARNING: Some GPUs have worse relative performance. Affected ranks: [76, 13]
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import ClassVar

from collector.parsers.base import Line, LineParser, ParsedRow

NAMES: dict[str, str] = {
    "straggler": "ranks are slower than the others, by more than the limit that was set",
    "slowed": "ranks are slower than they were themselves",
}

_LINE = re.compile(
    r"STRAGGLER DETECTION WARNING: Some GPUs (?:(?P<rel>have worse relative performance)|performance dropped)\. Affected ranks:"
    r"\D{0,40}(?P<rank>\d{1,7})"
)


class Stragglers(LineParser):
    """One line, one report."""

    name: ClassVar[str] = "stragglers"
    anchors: ClassVar[tuple[str, ...]] = ("STRAGGLER DETECTION WARNING",)

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        found = _LINE.search(line.text[:8000])
        if found is None:
            return []
        name = "straggler" if found["rel"] else "slowed"
        told = line.event(
            "warning", name, line.text.strip(), severity="warning", parser=self.name, rank=int(found["rank"])
        )
        return [told]

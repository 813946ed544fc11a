"""A trainer's own watch over slow ranks: the straggler reports of NVIDIA's resiliency extension, of NeMo's callback and of Megatron.

SOURCE  nvidia_resiliency_ext: ptl_resiliency/straggler_det_callback, attribution/straggler, releases 0.1 to 0.5;
        Megatron-LM's StragglerDetector (--log-straggler), megatron/core/utils.py
ROWS    `warning` named `straggler` (slower than the other ranks) or `slowed` (slower than it was itself); the first rank in rank
CAVEAT  the scores are printed with every report, of healthy runs too: only the warning says that a rank is below the limit.
        Megatron prints the slowest and the fastest rank of each interval and has no limit: what counts is one and the same rank
        in three reports on end, at less than two thirds of the fastest one's throughput. Stages of a pipeline differ by less.
EXAMPLE STRAGGLER DETECTION WARNING: Some GPUs have worse relative performance. Affected ranks: [76, 13]
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import ClassVar

from collector.parsers.base import Line, LineParser, ParsedRow
from store import lazy

NAMES: dict[str, str] = {
    "straggler": "ranks are slower than the others, by more than the limit that was set",
    "slowed": "ranks are slower than they were themselves",
}

_LINE = lazy.compile(
    r"STRAGGLER DETECTION WARNING: Some GPUs (?:(?P<rel>have worse relative performance)|performance dropped)\. Affected ranks:"
    r"\D{0,40}(?P<rank>\d{1,7})"
)
_MEGATRON = lazy.compile(
    r"\| MnEtpt/Rnk: (?P<least>\d{1,6}\.\d{1,4})TF/(?P<rank>\d{1,7}) \| MxEtpt/Rnk: (?P<most>\d{1,6}\.\d{1,4})TF/\d{1,7}"
)
_BEHIND, _ON_END = 2 / 3, 3


class Stragglers(LineParser):
    """State: the rank that Megatron's last reports found far behind, and how many of them on end."""

    name: ClassVar[str] = "stragglers"
    anchors: ClassVar[tuple[str, ...]] = ("STRAGGLER DETECTION WARNING", "| MnEtpt/Rnk: ")

    def __init__(self) -> None:
        self._behind, self._times = "", 0

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        if (report := _MEGATRON.search(line.text[:2000])) is not None:
            return self._report(line, report)
        found = _LINE.search(line.text[:8000])
        if found is None:
            return []
        name = "straggler" if found["rel"] else "slowed"
        told = line.event(
            "warning", name, line.text.strip(), severity="warning", parser=self.name, rank=int(found["rank"])
        )
        return [told]

    def _report(self, line: Line, report: re.Match[str]) -> list[ParsedRow]:
        far = float(report["least"]) < _BEHIND * float(report["most"])
        self._times = self._times + 1 if far and report["rank"] == self._behind else int(far)
        self._behind = report["rank"]
        if self._times < _ON_END:
            return []
        return [
            line.event(
                "warning",
                "straggler",
                line.text.strip(),
                severity="warning",
                parser=self.name,
                framework="megatron",
                rank=int(report["rank"]),
            )
        ]

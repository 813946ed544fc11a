"""A trainer's own watch over slow ranks: straggler reports of NVIDIA's resiliency extension, NeMo's callback, Megatron, FlagScale, others.

SOURCE  nvidia_resiliency_ext: ptl_resiliency/straggler_det_callback, attribution/straggler, releases 0.1 to 0.5;
        Megatron-LM's StragglerDetector (--log-straggler), megatron/core/utils.py; FlagScale's runner/straggler
ROWS    `warning` named `straggler` (slower than the other ranks) or `slowed` (slower than it was itself); the first rank in rank
CAVEAT  the scores are printed with every report, of healthy runs too: a rank is slow where the warning says so, or where its
        score is below the extension's own default limit.
        Megatron prints the slowest and the fastest rank of each interval and has no limit: what counts is one and the same rank
        in three reports on end, at less than two thirds of the fastest one's throughput. Stages of a pipeline differ by less.
        Where its clock is the lowest, and as far behind, one report will do: work that is shared out unevenly lowers no clock.
        FlagScale gives the times of each rank by section: what counts is the one whose time is half as long again.
        So it does in a sentence of any other program that calls one rank a straggler and gives its time beside the usual one.
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
_CLOCKS = lazy.compile(
    r"\| MnClk/Rnk: (?P<least>\d{1,5})(?:\.\d{1,4})?MHz/(?P<rank>\d{1,7}) \| MxClk/Rnk: (?P<most>\d{1,5})(?:\.\d{1,4})?MHz/\d{1,7}"
)
_SCORES = lazy.compile(r"^\W{0,12}GPU (?P<kind>relative|individual) performance:")
_SCORE = lazy.compile(r"^\W{0,12}Rank=(?P<rank>\d{1,7}) Node=\S{1,120} Score=(?P<score>0\.\d{1,6})\s{0,4}$")
_SECTION = lazy.compile(
    r"^\W{0,12}Min: \d{1,9}\.\d{1,4}ms, Max: (?P<most>\d{1,9}\.\d{1,4})ms, Avg: \d{1,9}\.\d{1,4}ms, Slowdown: (?P<times>\d{1,6}\.\d{1,4})x"
)
_OF_RANK = lazy.compile(r"^\W{0,12}Rank (?P<rank>\d{1,7}): (?P<took>\d{1,9}\.\d{1,4})ms\s{0,4}$")
_TIME = r"(?P<{}>\d{{1,9}}(?:\.\d{{1,6}})?) ?(?P<{}>ms|s|sec|seconds?)\b"
_WORDED = lazy.compile(
    r"(?i:straggler)\b.{0,60}?\b(?i:rank)[ =:#]{0,2}r?(?P<rank>\d{1,7})\b.{0,60}?\b"
    + _TIME.format("took", "unit")
    + r".{0,20}?\b(?:vs\.?|versus|against|(?:compared|relative) to)\s.{0,40}?\b"
    + _TIME.format("usual", "units")
)
_BEHIND, _ON_END = 2 / 3, 3
_LIMIT = 0.7
"""The extension's own limit of a score where the program sets none."""
_LONGER = 1.5
_WORST, _LINES = 8, 4096
"""Within how many lines the worst score stands, and how many lines of ranks a report may have."""


class Stragglers(LineParser):
    """State: the rank that Megatron's last reports found far behind, and how many of them on end; the report that is open."""

    name: ClassVar[str] = "stragglers"
    anchors: ClassVar[tuple[str, ...]] = (
        "STRAGGLER DETECTION WARNING",
        "| MnEtpt/Rnk: ",
        " relative performance:",
        " individual performance:",
        "== Straggler Report at Step ",
        "No stragglers detected",
        ", Slowdown: ",
        "traggler",
        "STRAGGLER",
    )

    def __init__(self) -> None:
        self._behind, self._times = "", 0
        self._scores = False  # within the scores of one rank against the others
        self._by_score, self._by_word = "", ""  # the rank that this report's scores, or its warning, has named already
        self._flagscale, self._most = False, ""  # within FlagScale's report; the time to find the rank of
        self._left = 0

    @property
    def wants_more(self) -> bool:
        """True while the lines of a report's ranks are to come."""
        return self._left > 0

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        self._left = max(0, self._left - 1)
        if (report := _MEGATRON.search(line.text[:2000])) is not None:
            return self._report(line, report)
        if (found := _LINE.search(line.text[:8000])) is not None:
            name = "straggler" if found["rel"] else "slowed"
            scored, self._by_score = self._by_score, ""
            if name == "straggler" and found["rank"] == scored:
                return []
            self._by_word = found["rank"] if name == "straggler" else ""
            return [self._told(line, name, found["rank"])]
        if (worded := _WORDED.search(line.text[:400])) is not None:
            took, usual = (
                float(worded[n]) / (1000 if worded[u] == "ms" else 1) for n, u in (("took", "unit"), ("usual", "units"))
            )
            return [self._told(line, "straggler", worded["rank"])] if took >= _LONGER * usual else []
        return self._of_ranks(line)

    def _of_ranks(self, line: Line) -> list[ParsedRow]:
        text = line.text[:200]
        if (begun := _SCORES.match(text)) is not None:
            self._scores = begun["kind"] == "relative"
            self._left = _WORST if self._scores else 0
        elif "== Straggler Report at Step " in text:
            self._flagscale, self._left = True, 0
        elif "No stragglers detected" in text:
            self._flagscale, self._left = False, 0
        elif self._flagscale and (section := _SECTION.match(text)) is not None:
            slow = float(section["times"]) >= _LONGER
            self._most, self._left = (section["most"], _LINES) if slow else ("", 0)
        elif self._most and (one := _OF_RANK.match(text)) is not None:
            if one["took"] == self._most:
                self._flagscale, self._most, self._left = False, "", 0  # one word of a report is enough
                return [self._told(line, "straggler", one["rank"])]
        elif self._scores and (one := _SCORE.match(text)) is not None:
            self._scores, self._left = False, 0  # the worst one stands first
            warned, self._by_word = self._by_word, ""
            if float(one["score"]) < _LIMIT and one["rank"] != warned:
                self._by_score = one["rank"]
                return [self._told(line, "straggler", one["rank"])]
        return []

    def _told(self, line: Line, name: str, rank: str) -> ParsedRow:
        return line.event("warning", name, line.text.strip(), severity="warning", parser=self.name, rank=int(rank))

    def _report(self, line: Line, report: re.Match[str]) -> list[ParsedRow]:
        far = float(report["least"]) < _BEHIND * float(report["most"])
        self._times = self._times + 1 if far and report["rank"] == self._behind else int(far)
        self._behind = report["rank"]
        if self._times < _ON_END and not (far and _slowed(line.text, report["rank"])):
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


def _slowed(text: str, rank: str) -> bool:
    """Whether the slowest rank's clock is the lowest one, and far below the highest."""
    clocks = _CLOCKS.search(text[:2000])
    return clocks is not None and clocks["rank"] == rank and float(clocks["least"]) < _BEHIND * float(clocks["most"])

"""What py-spy saw of a process, printed into the log by whatever watches a job that stands still.

SOURCE  `py-spy dump --pid PID`, 0.3 and 0.4
ROWS    `warning` named `host_stack`: the main thread's frames, innermost first, with the process and the rank of which it is told
CAVEAT  py-spy knows no ranks: a rank is that of the line's label, of the dump's first line, or of the last line before it that
        names one. Other threads than the main one are left out.
EXAMPLE Process 23107: /opt/venv/bin/python train.py
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import ClassVar

from collector.parsers.base import Line, ParsedRow
from store import lazy

NAMES: dict[str, str] = {"host_stack": "where the main thread of a process stood when it was looked at"}

_PROCESS = lazy.compile(r"(?P<before>.{0,200}?)\bProcess (?P<pid>\d{1,10}): \S")
_THREAD = lazy.compile(
    r'\s*Thread (?:0x[0-9A-Fa-f]+|\d+) \((?:idle|active)[^)]{0,40}\)(?:: "(?P<name>[^"]{0,200})")?\s*$'
)
_FRAME = lazy.compile(r"\s+(?P<frame>[^\s(][^()]{0,200} \([^()\s][^()]{0,300}:\d+\))\s*$")
_RANK = lazy.compile(r"\brank[ _:=#]{0,3}(?P<rank>\d{1,6})\b", re.IGNORECASE)
_FRAMES, _MORE = 8, 60
"""Frames that are told, and lines that are looked at behind a dump's first one, and behind each of its parts."""


class PySpy:
    """State: the process whose dump is read, the rank that was named last, and the main thread's frames so far."""

    name: ClassVar[str] = "py_spy"
    anchors: ClassVar[tuple[str, ...]] = ("Process ", "py-spy")

    def __init__(self) -> None:
        self._begun: Line | None = None
        self._pid: int | None = None
        self._rank: int | None = None
        self._of: int | None = None
        self._frames: list[str] | None = None
        self._left = 0

    @property
    def wants_more(self) -> bool:
        """True in a dump, and for some lines behind it: the next one may follow with its rank above it."""
        return self._left > 0

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        text = line.text[:600]
        self._left = max(0, self._left - 1)
        if begun := _PROCESS.match(text):
            done = self._told()
            rank = _RANK.search(begun["before"])
            self._begun, self._pid, self._left = line, int(begun["pid"]), _MORE
            self._of, self._rank = int(rank["rank"]) if rank else self._rank, None
            return done
        if thread := _THREAD.match(text):
            done = self._told()
            self._frames, self._left = ([] if thread["name"] == "MainThread" else None), _MORE
            return done
        if self._frames is not None and (frame := _FRAME.match(text)):
            self._frames.append(frame["frame"].strip())
            self._left = _MORE
            return []
        done = self._told()
        if rank := _RANK.search(text):
            self._rank = int(rank["rank"])
            self._left = max(self._left, 5)
        return done

    def close(self) -> Iterable[ParsedRow]:
        """Give the dump that is open."""
        return self._told()

    def _told(self) -> list[ParsedRow]:
        frames, self._frames = self._frames, None
        if not frames or self._begun is None:
            return []
        rank = self._of if self._begun.rank is None else self._begun.rank
        way = " < ".join(frames[:_FRAMES])
        about = {"rank": rank, "pid": self._pid, "severity": "info", "framework": "py-spy", "parser": self.name}
        return [self._begun.event("warning", "host_stack", way, **about)]

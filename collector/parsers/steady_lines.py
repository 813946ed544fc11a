"""steady_lines: a loop of its own making, known by repetition: the same words again and again, a count that grows, a loss.

ROWS      train_step (split train or eval)
CAVEAT    One such line merely resembles progress, so nothing is given before the third of one wording; then all three are.
          A wording that another parser reads is left to it. The loss of a part (a discriminator's, a box's) is none.
EXAMPLES
    [2020-07-29T14:08:51] Step 14200 stats, train: loss = 0.9168887138366699
    [1,  2000] loss: 2.195
    iteration 400: loss 0.9357
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from collector.parsers.base import Line, LineParser, ParsedRow, Parser
from collector.parsers.shapes import fielded
from collector.parsers.values import NUMBER, number
from collector.parsers.wording import Steps
from store.rows import TrainStep

_COUNT = re.compile(
    r"(?i:(?<![\w/.-])(?P<word>global[ _]step|step|iter(?:ation)?|update|epoch|batch|round)s?)[\s:=#]{0,3}[\[(]?\s{0,6}(?P<n>\d{1,12})"
    r"(?: ?/ ?(?P<total>\d{1,12}))?(?![\w.]\d)"
)
_PAIR = re.compile(r"^\[ {0,6}(?P<epoch>\d{1,9})(?:, {0,8}(?P<n>\d{1,12}))?\]")
_LOSS = re.compile(
    rf"(?P<before>(?<![\d.])[A-Za-z_]*)[\s_/:,-]{{0,2}}(?<![A-Za-z])(?i:loss)(?i: is)? ?[:=]? ?(?P<value>{NUMBER})(?![\w%])"
)
_WHOLE = frozenset(
    ("", "train", "training", "avg", "average", "mean", "total", "running", "current", "batch", "step", "epoch", "val", "valid", "validation", "eval", "test", "dev")
)  # fmt: skip
_RATE = re.compile(rf"(?i:(?<![\w/-])(?:lr|learning[_ ]rate)) ?[:= ] ?({NUMBER})")
_NORM = re.compile(rf"(?i:(?<![\w/-])(?:grad(?:ient)?[_ ]?norm|gnorm)) ?[:= ] ?({NUMBER})")
_HELD_OUT = re.compile(r"(?i)\b(?:val|valid|validation|eval|evaluation|test|dev)\b")
_OTHERS = re.compile(r"}|it/s|s/it|/step\b|[=━]{4}|(?i:\beta\b)|consumed|\bmfu\b|File \"|\bnot\b")
_DIGITS = re.compile(rf"{NUMBER}|\d+")
ENOUGH = 3
LONGEST, MOST_WORDINGS = 400, 50
GIVE_UP = 200
"""Lines without a steady wording after which a stream is no longer looked at."""


@dataclass(slots=True)
class _Wording:
    """Lines of one wording: `known` where another parser reads them, `open` ones are given as they come."""

    known: bool = False
    open: bool = False
    held: list[TrainStep] = field(default_factory=list[TrainStep])
    last: tuple[float, float] = (-1.0, -1.0)


class _OneLine(LineParser):
    """What a line says, as if its wording were known to be steady."""

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        row = None if _left_out(line.text) else _read(line)
        return () if row is None else (row,)


class SteadyLines(LineParser):
    """State: the wordings seen so far in one stream."""

    name: ClassVar[str] = "steady_lines"
    anchors: ClassVar[tuple[str, ...]] = ("loss", "Loss")

    reader: ClassVar[type[Parser]] = _OneLine

    def __init__(self) -> None:
        self._wordings: dict[str, _Wording] = {}
        self._idle = 0

    @staticmethod
    def alike(lines: Sequence[str]) -> bool:
        """Whether these lines have one wording."""
        return len(set(map(_key, lines))) == 1

    def opens(self, text: str, longest: int) -> bool:
        """Whether lines of this wording, of which one has so many bytes, are given as they come."""
        wording = self._wordings.get(_key(text))
        return self._idle <= GIVE_UP and longest <= LONGEST and wording is not None and wording.open

    def took(self, _steps: Steps) -> None:
        """Lines of a wording that is open were given."""
        self._idle = 0

    @staticmethod
    def ignores(text: str) -> bool:
        """Lines of frameworks, nanoGPT's, and those that other parsers read; of these `lets_pass` has the last word."""
        return fielded(text) or " mfu " in text or _read_elsewhere(Line(text, 0, ""))

    def lets_pass(self, text: str, longest: int) -> bool:
        """Whether lines of this wording, of which one has so many bytes, are nothing to this stream."""
        if self._idle > GIVE_UP or fielded(text):
            return True
        if longest > LONGEST or len(self._wordings) >= MOST_WORDINGS - 5:
            return False
        words = _letters(text)
        return all(w.known for key, w in self._wordings.items() if _letters(key) == words)

    def passed(self, text: str, count: int) -> None:
        """So many lines of one wording, which is none of this parser's, went by."""
        if not fielded(text):
            list(self.feed(Line(text, 0, "")))
            self._idle += count - 1

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        if self._idle > GIVE_UP or len(line.text) > LONGEST or fielded(line.text):
            return ()
        self._idle += 1
        if _left_out(line.text):
            return ()
        row = _read(line)
        if row is None:
            return ()
        key = _key(line.text)
        wording = self._wordings.get(key)
        if wording is None:
            if len(self._wordings) >= MOST_WORDINGS:
                return ()
            wording = self._wordings[key] = _Wording(known=_read_elsewhere(line))
        at = (row.epoch or 0.0, float(row.step or 0))
        if wording.known:
            return ()
        grows, wording.last = at > wording.last, at
        if wording.open:
            self._idle = 0
            return [row]
        wording.held = [*wording.held, row] if grows else [row]
        if len(wording.held) < ENOUGH:
            return ()
        given, wording.held, wording.open, self._idle = wording.held, [], True, 0
        return given


def _left_out(text: str) -> bool:
    return len(text) > LONGEST or fielded(text) or _OTHERS.search(text) is not None


def _key(text: str) -> str:
    """A line without its figures."""
    return _DIGITS.sub("#", " ".join(text.split()))


def _letters(text: str) -> list[str]:
    """Its words, without those that belong to figures."""
    return re.findall("[A-Za-z]+", _DIGITS.sub("#", text))


def _read(line: Line) -> TrainStep | None:
    text = line.text
    pair = _PAIR.match(text)
    count = None if pair else _COUNT.search(text)
    if pair is None and count is None:
        return None
    start = pair.end() if pair is not None else count.end() if count is not None else 0
    loss = _LOSS.search(text, start)
    if loss is None or loss["before"].lower().strip("_") not in _WHOLE:
        return None
    held_out = _HELD_OUT.search(text[start : loss.end()]) is not None
    step, epoch, total, epochs = None, None, None, None
    if pair is not None:
        step = int(pair["n"]) if pair["n"] else int(pair["epoch"])
        epoch = float(pair["epoch"]) if pair["n"] else None
    elif count is not None and count["word"].lower() == "epoch":
        inner = _COUNT.search(text, count.end(), loss.start())
        epoch, epochs = float(count["n"]), float(count["total"]) if count["total"] else None
        step = int(inner["n"]) if inner is not None else None
    elif count is not None:
        step, total = int(count["n"]), int(count["total"]) if count["total"] else None
    rate, norm = _RATE.search(text), _NORM.search(text)
    return line.step(
        "loop",
        split="eval" if held_out else "train",
        step=step,
        total_steps=total,
        epoch=epoch,
        total_epochs=epochs,
        loss=number(loss["value"]),
        learning_rate=number(rate[1]) if rate else None,
        grad_norm=number(norm[1]) if norm else None,
        loss_name="eval loss" if held_out else "loss",
    )


def _read_elsewhere(line: Line) -> bool:
    """Whether any other parser takes this line for progress; asked once for each wording."""
    from collector.parsers.registry import parser_types

    for kind in parser_types():
        if kind is SteadyLines or not any(a in line.text for a in kind.anchors):
            continue
        parser = kind()
        if any(isinstance(r, TrainStep) for r in (*parser.feed(line), *parser.close())):
            return True
    return False

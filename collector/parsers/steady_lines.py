"""steady_lines: a loop of its own making, known by repetition: the same words again and again, a count that grows, a loss.

ROWS      train_step (split train or eval)
CAVEAT    One such line merely resembles progress, so nothing is given before the third of one wording; then all three are.
          Where only epochs are counted, a line may tell the same epoch again: nothing is given before the next epoch.
          A wording that another parser reads is left to it. The loss of a part (a discriminator's, a box's) is none: a line
          with such losses only is a step without a loss.
EXAMPLES
    [2020-07-29T14:08:51] Step 14200 stats, train: loss = 0.9168887138366699
    [1,  2000] loss: 2.195
    iteration 400: loss 0.9357
    epoch:  2 loss:  0.0503
    Train: [3/300][100/448]  eta 0:12:31 lr 0.001  loss 2.3113 (2.3012)
    (epoch: 3, iters: 100, time: 0.412, data: 0.003) G_GAN: 1.037 G_L1: 0.449 D_real: 0.061
    Sample 10240, reward -112.40, pi loss 0.0412
    Step 12 | Time: 41.2s | Reward: 0.4125 | Throughput: 8121 tokens/s
    Episode 12/500, reward: 31.5, epsilon: 0.91
    tflops=181.2 step=12 loss=2.31 lr=4e-07 grad_norm={'0_default': 1.2}
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from collector.parsers.base import Line, LineParser, ParsedRow, Parser
from collector.parsers.loop_words import (
    NETS,
    NORM,
    POLICY,
    RATE,
    counts,
    episode,
    losses,
    rewarded,
    seen,
    step_and_wait,
    whole,
)
from collector.parsers.values import NUMBER, as_json, number
from collector.parsers.wording import Steps
from store import lazy
from store.rows import TrainStep

_HELD_OUT = lazy.compile(
    r"(?i)(?<![\w./-])(?:val|valid|validation|validating|eval|evaluation|evaluating|test|testing|dev|inference)(?![\w./-])"
)
# A bar or a dict, which have parsers of their own; a checkpoint that is told of with the loss it was saved at; a stack's frame.
_OTHERS = lazy.compile(
    r"[{}]|\d%\||[=━]{4}|\.{8}|\[\d+:\d\d[<,]|\d(?:ms|us|s)/(?:step|epoch)\b|\bconsumed[ _](?:train[ _])?samples|File \"|\b(?i:not|(?<!data )(?:re)?load(?:ed|ing)?|resum(?:ed|ing)|restor(?:ed|ing)|sav(?:ed|ing)|checkpoints?|failed|errors? (?:during|in|at))\b"
)
# Both counts in one pair of brackets; behind it may stand figures of parts that are not called losses.
_BRACKETED = lazy.compile(
    r"^(?:\W{0,3}\d[\d:., T-]{5,30}\W{0,3})?[\[(]\s?epoch:? {0,6}\d{1,9}(?: ?/ {0,6}\d{1,9})?, {1,3}iters?:? {0,8}\d{1,12}(?: ?/ {0,8}\d{1,12})?[,\])].{0,60}",
    re.I,
)
_TOTAL = lazy.compile(rf"[\])] total: ({NUMBER})(?=,)")
# What an autoencoder learns by: its only loss, where no other one is named.
_WHOLE_MODEL = lazy.compile(rf"(?i)\brecon(?:s|struct(?:ion)?)?[ _-]?loss\W{{0,8}}{NUMBER}\Z")
_FIGURE = lazy.compile(rf"[\s,|)\]][A-Za-z]\w{{0,30}}: {{0,40}}{NUMBER}(?![\w%]|\.\d)")
_SCORE = lazy.compile(r"(?i)acc|iou|\bmap\b|psnr|ssim|\bf1|auc|dice|bleu|\bwer\b|recall|precision")
# The figures of several groups of parameters as one value.
_GROUPS = lazy.compile(r"=\{[^{}]{1,200}\}")
# A figure, and the blanks before it: how wide it is makes no other wording. A time of day is one figure.
_DIGITS = lazy.compile(
    rf" ?(?:\d{{1,3}}(?::\d\d){{1,2}}(?:[.,]\d{{1,9}})?(?!:)|\d{{1,3}}(?:,\d{{3}})++(?!\d)|{NUMBER}|\d+)"
)
ENOUGH = 3
ENOUGH_OF_ONE_EPOCH = 100
"""Lines that tell one epoch and losses that differ: a loop, even if its next epoch is never seen."""
LONGEST, MOST_WORDINGS = 800, 50
GIVE_UP = 200
"""Lines without a steady wording after which a stream is no longer looked at."""


@dataclass(slots=True)
class _Wording:
    """Lines of one wording: `known` where another parser reads them, `open` ones are given as they come."""

    known: bool = False
    open: bool = False
    held: list[TrainStep] = field(default_factory=list[TrainStep])
    last: tuple[float, float] = (-1.0, -1.0)


_ANCHORS = (
    "pisode",
    "loss",
    "Loss",
    "LOSS",
    "(epoch: ",
    "] total: ",
    "ost after ",
    "nll",
    "NLL",
    "|| LR: ",
    "eward",
    "return:",
    "return=",
    "Return:",
)


class _OneLine(LineParser):
    """What a line says, as if its wording were known to be steady."""

    anchors: ClassVar[tuple[str, ...]] = _ANCHORS

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        row = None if _left_out(line.text) else _read(line)
        return () if row is None else (row,)


class SteadyLines(LineParser):
    """State: the wordings seen so far in one stream."""

    name: ClassVar[str] = "steady_lines"
    anchors: ClassVar[tuple[str, ...]] = _ANCHORS

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
        # How many blanks stand before a figure makes no other wording, but an anchor may have only one.
        forms = {text: None, " ".join(text.split()): None}
        return _left_out(text) or any(_read_elsewhere(Line(form, 0, "")) for form in forms)

    def lets_pass(self, text: str, longest: int) -> bool:
        """Whether lines of this wording, of which one has so many bytes, are nothing to this stream."""
        if self._idle > GIVE_UP or _left_out(text):
            return True
        if longest > LONGEST or len(self._wordings) >= MOST_WORDINGS - 5:
            return False
        words = _letters(text)
        return all(w.known for key, w in self._wordings.items() if _letters(key) == words)

    def passed(self, text: str, count: int) -> None:
        """So many lines of one wording, which is none of this parser's, went by."""
        if not _left_out(text):
            list(self.feed(Line(text, 0, "")))
            self._idle += count - 1

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        if self._idle > GIVE_UP or _left_out(line.text):
            return ()
        self._idle += 1
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
        grows, again, wording.last = at > wording.last, row.step is None and at == wording.last, at
        if wording.open:
            self._idle = 0
            return [row]
        if not (grows or again):
            wording.held = []
        wording.held.append(row)
        if not _steady(wording.held):
            return ()
        given, wording.held, wording.open, self._idle = wording.held, [], True, 0
        return given


def _steady(held: Sequence[TrainStep]) -> bool:
    """Whether lines of one wording, whose count never falls, are a loop's: it grows, or many losses are told of one epoch."""
    if len(held) < ENOUGH:
        return False
    if (held[0].epoch, held[0].step) != (held[-1].epoch, held[-1].step):
        return True
    return len(held) >= ENOUGH_OF_ONE_EPOCH and len({row.loss for row in held}) > ENOUGH


def _left_out(text: str) -> bool:
    return len(text) > LONGEST or _OTHERS.search(_GROUPS.sub("=#", text) if "={" in text else text) is not None


def _key(text: str) -> str:
    """A line without its figures."""
    return _DIGITS.sub("#", " ".join(text.split()))


def _letters(text: str) -> list[str]:
    """Its words, without those that belong to figures."""
    return re.findall("[A-Za-z]+", _DIGITS.sub("#", text))


def _read(line: Line) -> TrainStep | None:
    text = line.text
    at = episode(text) or counts(text)
    if at is None or at.step is None:
        at = seen(text) or at
    if at is None:
        return None
    named = losses(text)
    loss = whole(named)
    if loss is None and len(named) == 1 and (named[0].of == "unknown" or _WHOLE_MODEL.search(text[: named[0].end])):
        loss = named[0]
    held = next((n for n in named if n.of == "held out"), None)
    value = loss.value if loss is not None else held.value if held is not None else None
    begin = min((n.start for n in named), default=len(text))
    held_out = (loss is None and held is not None) or _HELD_OUT.search(text, 0, begin) is not None
    parts = [n for n in named if n.of == "part"]
    rate, norm = RATE.search(text), NORM.search(text)
    took, waited = step_and_wait(text) or (None, None)
    acts = POLICY.search(text) is not None or (not named and rewarded(text))
    nets = NETS.search(text) is not None
    sure = (
        acts or nets or rate is not None or at.epoch is not None or at.total is not None or any(n.total for n in parts)
    )
    if value is None and (held_out or (at.step is None and not nets) or not sure):
        return None
    if value is None and len(parts) < 2 and not acts and not any(n.total for n in parts):
        # Neither a loss nor parts of one: figures behind both counts, and a learning rate, or no score among them.
        told = rate is not None and at.epoch is not None
        if len(_FIGURE.findall(text)) < 3 or not (told or (_BRACKETED.match(text) and not _SCORE.search(text))):
            return None
        value = total[1] if (total := _TOTAL.search(text)) else None
    return line.step(
        "loop",
        split="eval" if held_out else "train",
        step=at.step,
        total_steps=at.total,
        epoch=at.epoch,
        total_epochs=at.epochs,
        loss=number(value) if value is not None else None,
        learning_rate=number(rate[1]) if rate else None,
        grad_norm=number(norm[1]) if norm else None,
        loss_name=None if value is None else "eval loss" if held_out else "loss",
        step_time_s=took,
        metrics=as_json(
            {**({"batches": at.within} if at.within else {}), **({} if waited is None else {"data_time": waited})}
        ),
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

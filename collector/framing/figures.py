"""The places of a line that may differ from one line to the next: its figures, clocks, bars and paddings.

What such a place can hold is a `Form`: a pattern, and texts that fit it. A form is only a guess at what the place holds; it
is `learned.py` that tries on the line's parser whether the guess is right.

EXAMPLE
    Epoch 3:  42%|████▏     | 394/938 [00:10<00:14, 88.20it/s, v_num=0, train_loss=0.101]
          ^  ^^^  ^^^^^^^^^^  ^^^/^^^  ^^^^^ ^^^^^ ^^^^^             ^             ^^^^^
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from collector.framing import moments
from collector.parsers.wording import Slot
from store import lazy

_PLACE = lazy.compile(
    rf"(?P<moment>{moments.MOMENT})"
    r"|(?<=%\|)(?P<bar>[ █▏▎▍▌▋▊▉#0-9]+)(?=\|)"
    r"|(?P<clock>(?<![\w.:])\d{1,3}:\d\d(?::\d\d)?(?![\w.:]))"
    r"|(?P<thousands>(?<![\w.,])\d{1,3}(?:,\d{3})+(?![\w,.]))"
    r"|(?P<figure>(?<![\w.])(?:(?<![\w)\]%-])[-+])?\d{1,18}(?:\.\d{0,20}(?:[eE][-+]?\d{1,2})?|[eE][-+]?\d{1,2}(?!\w))?(?![\d_.]))"
    r"|(?P<pad> +)"
)
_MOMENT = lazy.compile(moments.MOMENT)
_DIGITS = "0123456789"
_BLOCKS = "█▏▎▍▌▋▊▉"
_BAR = Slot(r"(?:[ #0-9]|" + "|".join(_BLOCKS) + r"){0,200}+", " #" + _DIGITS + _BLOCKS)
_CLOCK = Slot(r"[0-9]{1,3}:[0-9]{2}(?::[0-9]{2})?+(?![0-9:])", _DIGITS + ":")
_THOUSANDS = Slot(r"([0-9]{1,3}(?:,[0-9]{3}){0,5}+)", _DIGITS + ",")
_OPENS = frozenset("[(|")
PADS = (40, 6)
"""How many blanks a padding may have, most first."""
WIDTHS = (15, 12, 9, 6, 4, 3, 2, 1)
"""How many digits a figure may have before its point, widest first."""


@dataclass(frozen=True, slots=True)
class Form:
    """What may stand in one place. `digits`, `point`, `power`, `sign` are a figure's.

    A padding is `least` to `digits` blanks wide. `zero`: whether the figure may be nought.
    """

    kind: str
    shown: str
    digits: int = 0
    point: bool = False
    power: bool = False
    sign: bool = False
    zero: bool = True
    least: int = 0

    @property
    def slot(self) -> Slot:
        """Its pattern, with a group around what is a value."""
        if self.kind == "figure":
            pattern, letters = f"[0-9]{{1,{self.digits}}}+", _DIGITS
            if self.point:
                pattern, letters = pattern + r"(?:\.[0-9]{0,20}+)?+", letters + "."
            if self.power:
                pattern, letters = pattern + "(?:[eE][-+]?[0-9]{1,2}+)?+", letters + "eE+-"
            if self.sign:
                pattern, letters = "[-+]?" + pattern, letters + "+-"
            return Slot(f"({pattern})", letters)
        if self.kind == "pad":
            return Slot(f" {{{self.least},{self.digits}}}+", " ")
        if self.kind == "moment":
            return moments.slot(self.shown)
        return {"bar": _BAR, "clock": _CLOCK, "thousands": _THOUSANDS}[self.kind]

    @property
    def value(self) -> bool:
        """Whether what stands here may be a value of the row."""
        return self.kind in ("figure", "thousands", "moment")

    def wider(self, **fields: object) -> Form:
        """The same with other properties."""
        return replace(self, **fields)  # type: ignore[arg-type]

    def edges(self) -> list[str]:
        """What only just fits a figure or a padding, and a figure in every way it may be written."""
        if self.kind == "pad":
            return [" " * width for width in (self.least, 1, 2, self.digits - 1, self.digits)]
        nines = "9" * self.digits
        found = ["1", nines, "1".zfill(self.digits)]
        found += ["1.", "1.5", f"{nines}.{'9' * 20}"] if self.point else []
        found += ["1e-05", "1E5", "1e+99", f"{nines}e-99"] if self.power else []
        return found + (["-1", "+1", f"-{nines}"] if self.sign else [])

    def draw(self, rng: random.Random) -> str:
        """A text that fits."""
        return getattr(self, f"_{self.kind}")(rng)

    def _figure(self, rng: random.Random) -> str:
        text = str(rng.randrange(10 ** rng.randrange(1, self.digits + 1)))
        if rng.random() < 0.1:  # a parser may read these otherwise: none, the first, all of it
            text = rng.choice([t for t in ("0", "1", "100") if len(t) <= self.digits])
        elif rng.random() < 0.3:
            text = rng.choice((text.zfill(self.digits), text.zfill(2)[: self.digits], "9" * self.digits))
        if self.point and rng.random() < 0.8:
            text += "." + "".join(rng.choices(_DIGITS, k=20 if rng.random() < 0.03 else rng.choice((0, 1, 2, 3, 4, 6))))
        if self.power and rng.random() < 0.4:
            text += rng.choice("eE") + rng.choice(("-", "+", "")) + rng.choice(("0", "5", "05", "12", "99"))
        if not self.zero and not float(text):
            text = "1" + text[1:]
        if self.sign and rng.random() < 0.3:
            text = rng.choice("+-") + text
        return text

    def _pad(self, rng: random.Random) -> str:
        return " " * rng.choice((self.least, self.least, 1, 2, self.digits - 1, self.digits))

    def _moment(self, rng: random.Random) -> str:
        return moments.draw(self.shown, rng)

    def _bar(self, rng: random.Random) -> str:
        width = rng.choice((0, 1, 10, 10, 80, 200))
        full = rng.randrange(width + 1)
        if rng.random() < 0.2:
            return (rng.choice("█#") * full + rng.choice("59") + " " * width)[:width]
        return ("█" * full + rng.choice(_BLOCKS) + " " * width)[:width]

    def _clock(self, rng: random.Random) -> str:
        minutes, seconds = rng.randrange(60), f"{rng.randrange(60):02d}"
        short = f"{minutes:02d}:{seconds}" if rng.random() < 0.7 else f"{minutes}:{seconds}"
        return short if rng.random() < 0.5 else f"{rng.randrange(10 ** rng.randrange(1, 4))}:{minutes:02d}:{seconds}"

    def _thousands(self, rng: random.Random) -> str:
        return f"{rng.randrange(10 ** rng.randrange(1, 16)):,}"


def places(text: str) -> Iterator[str | Form]:
    """A line as the texts that stay and the places between them, in order; joined as shown they are the line."""
    at = 0
    for match in _PLACE.finditer(text):
        kind, shown, start = str(match.lastgroup), match.group(), match.start()
        if kind == "pad":
            found = _padding(text, match)
            if found is None:
                continue
        else:
            found = Form(kind, shown)
        if at < start:
            yield text[at:start]
        if kind == "figure" and text[start - 1 : start] in _OPENS:
            yield Form("pad", "")  # as wide as the total's digits, this one is: others may be padded
        at = match.end()
        yield found
    if at < len(text):
        yield text[at:]


def _padding(text: str, match: re.Match[str]) -> Form | None:
    """Blanks before a figure, whose width follows that of the figure; None for others, as those before a time are."""
    if _MOMENT.match(text, match.end()) is not None:
        return None
    after = text[match.end() : match.end() + 1]
    before = text[match.start() - 1 : match.start()]
    if not (after.isdigit() or after in ("-", "+") or len(match.group()) > 1):
        return None
    return Form("pad", match.group(), least=0 if before in ("", "/", *_OPENS) else 1)

"""ticks: the status line of NVIDIA's GAN and diffusion trainers, which count thousands of images and print no loss.

SOURCE    Progressive GAN, StyleGAN 1 to 3 and their forks, EDM and its forks
ROWS      train_step without a loss: images per second, and in metrics the tick and the thousands of images (kimg) so far;
          train_end where the loop says that it is through (it says `Aborting...` where it was told to stop)
CAVEAT    A tick is a window of reporting and no optimizer step, so no step is given. The first tick is printed before anything
          was trained (kimg 0.0).
EXAMPLE
    tick 12    kimg 48.4     time 8m 41s       sec/tick 40.2    sec/kimg 9.98    maintenance 0.1    cpumem 4.20   gpumem 20.1
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from collector.parsers.base import Line, LineParser, ParsedRow
from collector.parsers.values import as_json, number
from store import lazy

_TICK = lazy.compile(
    r"(?:^|\s)tick (?P<tick>\d{1,9})\s+kimg (?P<kimg>\d{1,12}(?:\.\d{1,6})?)\s.{0,120}?\ssec/kimg (?P<pace>\d{1,9}(?:\.\d{1,6})?)(?=\s|$)"
)


_THROUGH = lazy.compile(r"^\s*Exiting\.\.\.\s*$")


class Ticks(LineParser):
    """One line, one tick; whether there was one."""

    name: ClassVar[str] = "ticks"
    anchors: ClassVar[tuple[str, ...]] = ("sec/kimg", "Exiting...")

    def __init__(self) -> None:
        self._ticked = False

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        if self._ticked and _THROUGH.match(line.text):
            return [line.event("train_end", "completed", severity="info", parser=self.name, framework="stylegan")]
        found = _TICK.search(line.text[:600])
        if found is None:
            return ()
        self._ticked = True
        kimg, pace = number(found["kimg"]), number(found["pace"])
        if not kimg:
            return ()
        return [
            line.step(
                "stylegan",
                samples_per_s=1000 / pace if pace else None,
                metrics=as_json({"tick": int(found["tick"]), "kimg": kimg}),
            )
        ]

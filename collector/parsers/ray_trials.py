"""ray_trials: what Ray's reporter prints of a trial: an iteration that is over.

SOURCE    Ray Train and Ray Tune since 2.5 (air/_internal, tune/experimental/output.py)
ROWS      train_step without a loss for each iteration. The end of all of them is `finish`'s.
CAVEAT    The figures of an iteration stand in a table below it and are the program's own. An iteration is what the program
          reports: mostly an epoch. Of several trials each counts for itself.
EXAMPLE
    Training finished iteration 3 at 2026-03-01 10:00:26. Total running time: 41s
    Trial PPO_CartPole-v1_a1b2c_00000 finished iteration 3 at 2026-03-01 10:00:26. Total running time: 41s
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from collector.parsers.base import Line, LineParser, ParsedRow
from store import lazy

_OVER = lazy.compile(r"\b(?:Training|Trial [\w.=,+-]{1,150}) finished iteration (?P<n>\d{1,9}) at \d{4}-\d\d-\d\d")


class RayTrials(LineParser):
    """One line, one iteration."""

    name: ClassVar[str] = "ray_trials"
    anchors: ClassVar[tuple[str, ...]] = (" finished iteration ",)

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        over = _OVER.search(line.text)
        return () if over is None else [line.step("ray", step=int(over["n"]))]

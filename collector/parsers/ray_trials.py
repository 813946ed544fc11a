"""ray_trials: what Ray's reporter prints of a trial: an iteration that is over, and the end of all of them.

SOURCE    Ray Train and Ray Tune since 2.5 (air/_internal, tune/experimental/output.py)
ROWS      train_step without a loss for each iteration; train_end where a trial completed
CAVEAT    The figures of an iteration stand in a table below it and are the program's own. An iteration is what the program
          reports: mostly an epoch. Of several trials each counts for itself.
EXAMPLES
    Training finished iteration 3 at 2026-03-01 10:00:26. Total running time: 41s
    Trial PPO_CartPole-v1_a1b2c_00000 finished iteration 3 at 2026-03-01 10:00:26. Total running time: 41s
    Trial PPO_CartPole-v1_a1b2c_00000 completed after 30 iterations at 2026-03-01 10:20:26. Total running time: 20min 1s
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from collector.parsers.base import Line, LineParser, ParsedRow
from store import lazy

_OVER = lazy.compile(
    r"\b(?:Training|Trial (?P<trial>[\w.=,+-]{1,150})) finished iteration (?P<n>\d{1,9}) at \d{4}-\d\d-\d\d"
)
_ALL = lazy.compile(r"\bTrial [\w.=,+-]{1,150} completed after (?P<n>\d{1,9}) iterations at \d{4}-\d\d-\d\d")


class RayTrials(LineParser):
    """One line, one iteration or the end."""

    name: ClassVar[str] = "ray_trials"
    anchors: ClassVar[tuple[str, ...]] = (" finished iteration ", " completed after ")

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        if (over := _OVER.search(line.text)) is not None:
            return [line.step("ray", step=int(over["n"]))]
        if (whole := _ALL.search(line.text)) is not None:
            n = int(whole["n"])
            return [line.event("train_end", "completed", severity="info", parser=self.name, framework="ray", step=n)]
        return ()

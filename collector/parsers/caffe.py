"""caffe: the solver's reports of Caffe and of what was built on it (NVCaffe, Intel's, segnet, DetectNet).

SOURCE    src/caffe/solver.cpp, solvers/sgd_solver.cpp
ROWS      train_step (split train)
CAVEAT    The rate stands on a line of its own, behind the loss of its iteration: it is not read. The losses of the net's
          outputs repeat that of the iteration.
EXAMPLES
    I0301 10:01:00.280272  4259 solver.cpp:218] Iteration 100 (4.71409 iter/s, 21.213s/100 iters), loss = 0.524371
    I0301 10:01:00.280272  4259 solver.cpp:228] Iteration 100, loss = 0.524371
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from collector.parsers.base import Line, LineParser, ParsedRow
from collector.parsers.values import NUMBER, number
from store import lazy

_ITERATION = lazy.compile(
    rf"\bsolver\.cpp:\d{{1,5}}\] Iteration (?P<n>\d{{1,12}})(?: \((?P<rate>{NUMBER}) iter/s, [^()]{{1,60}}\))?, loss = (?P<loss>{NUMBER})(?=\s|$)"
)


class Caffe(LineParser):
    """One line, one iteration."""

    name: ClassVar[str] = "caffe"
    anchors: ClassVar[tuple[str, ...]] = ("solver.cpp:",)

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        match = _ITERATION.search(line.text[:1000])
        if match is None:
            return ()
        rate = number(match["rate"]) if match["rate"] else None
        return [
            line.step(
                "caffe",
                step=int(match["n"]),
                loss=number(match["loss"]),
                loss_name="loss",
                step_time_s=1.0 / rate if rate is not None and rate > 1e-6 else None,
            )
        ]

"""Megatron's check of a result that cannot be right: the step is run again on the same GPU, and then on another one.

SOURCE  megatron/core/rerun_state_machine.py, Megatron-LM since 0.10, and what is built on it
ROWS    `warning` named `miscomputed`, with rank, host and GPU of the first run
CAVEAT  a result that comes out the same on the other GPU is the program's own and gives nothing here (`non_finite` has it).
        Kernels that are not deterministic may give another result at once: that is said, and not that a GPU is bad.
EXAMPLE ERROR:megatron.core.rerun_state_machine:Rank 3, node n07, device 5, iteration #418: Possible persistent error!
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from collector.parsers.base import Line, LineParser, ParsedRow
from collector.parsers.shapes import detail
from store import lazy

NAMES: dict[str, str] = {
    "miscomputed": "a step that was run again gave another result: on the same GPU (transient), or on another one (persistent)"
}

_AT = lazy.compile(
    r"Rank (?P<rank>\d{1,7}), node (?P<node>[\w.-]{1,80}), device (?P<gpu>\d{1,3}), iteration #(?P<step>\d{1,12}): (?P<said>.+?)!*$"
)


class StepReruns(LineParser):
    """State: where each rank's result was first found to be wrong."""

    name: ClassVar[str] = "step_reruns"
    anchors: ClassVar[tuple[str, ...]] = (", iteration #",)

    def __init__(self) -> None:
        self._first: dict[str, tuple[str, int]] = {}

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        found = _AT.search(line.text[:2000])
        if found is None:
            return []
        rank, said = found["rank"], found["said"]
        if "First rerun: unexpected result is reproducible" in said and len(self._first) < 1000:
            self._first.setdefault(rank, (found["node"], int(found["gpu"])))
            return []
        if said not in ("Possible transient error", "Possible persistent error"):
            return []
        # Resumed elsewhere, the line names the GPU that it went right on.
        node, gpu = self._first.get(rank, (found["node"], int(found["gpu"])))
        return [
            line.event(
                "warning",
                "miscomputed",
                line.text.strip()[:2000],
                severity="error",
                parser=self.name,
                framework="megatron",
                rank=int(rank),
                host=node,
                gpu=gpu,
                peer=f"GPU {gpu} of {node}",
                step=int(found["step"]),
                detail=detail(how=said.split()[1]),
            )
        ]

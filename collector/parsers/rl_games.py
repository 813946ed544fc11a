"""rl_games: the line of each epoch that rl_games prints (Isaac Gym's and Isaac Lab's reinforcement learning), with no loss.

SOURCE    rl_games/common/a2c_common.py (print_statistics), since 1.1
ROWS      train_step without a loss: the epoch, and the frames of simulation per second as samples
CAVEAT    An epoch of such a run is one round of play and learning. How much it learned stands in its event files.
EXAMPLE
    fps step: 51230 fps step and policy inference: 48113 fps total: 30916 epoch: 87/1024 frames: 2818048
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from collector.parsers.base import Line, LineParser, ParsedRow
from collector.parsers.values import as_json
from store import lazy

_EPOCH = lazy.compile(
    r"fps step: \d+(?:\.\d+)? fps step and policy inference: \d+(?:\.\d+)? fps total: (?P<fps>\d{1,12}(?:\.\d{1,6})?)"
    r"(?: epoch: (?P<epoch>\d{1,9})(?:/(?P<of>\d{1,9}))?)?(?: frames: (?P<frames>\d{1,15}))?"
)


class RlGames(LineParser):
    """One line, one epoch."""

    name: ClassVar[str] = "rl_games"
    anchors: ClassVar[tuple[str, ...]] = ("fps step and policy inference: ",)

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        found = _EPOCH.search(line.text[:600])
        if found is None or not found["epoch"]:
            return ()
        return [
            line.step(
                "rl_games",
                epoch=float(found["epoch"]),
                total_epochs=float(found["of"]) if found["of"] and int(found["of"]) > 0 else None,
                samples_per_s=float(found["fps"]),
                metrics=as_json({"frames": int(found["frames"])} if found["frames"] else {}),
            )
        ]

"""a2c_updates: the two lines that the A2C, PPO and ACKTR trainers of one family print of each update.

SOURCE    pytorch-a2c-ppo-acktr-gail's main.py and what is built on it (Habitat's first trainers, packing, navigation, games)
ROWS      train_step: the update as step, frames per second, the rewards and counts in metrics; the value's loss where a fork prints it
CAVEAT    What learns from reward may have losses that rise. The older form has all on one line, its losses too.
EXAMPLE
    Updates 1520, num timesteps 243360, FPS 311
     Last 10 training episodes: mean/median reward 41.2/40.0, min/max reward 12.0/77.0
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import ClassVar

from collector.parsers.base import Line, ParsedRow
from collector.parsers.values import NUMBER, as_json, number
from store import lazy

_HEAD = lazy.compile(
    r"^\W*Updates (?P<at>\d{1,12}), num timesteps (?P<seen>\d{1,15}), FPS (?P<fps>\d{1,12})(?:,(?P<rest>.{1,400})|\s*)$"
)
_REWARD = lazy.compile(rf"\bmean/median reward (?P<mean>{NUMBER})/(?P<median>{NUMBER})")
_VALUE = lazy.compile(rf"\bvalue loss:? (?P<loss>{NUMBER})(?![\w%])")
_MOST = 4
"""Lines below the head that may speak of the same update."""


class A2cUpdates:
    """State: the head of an open update and what was told of it."""

    name: ClassVar[str] = "a2c_updates"
    anchors: ClassVar[tuple[str, ...]] = (", num timesteps ",)

    def __init__(self) -> None:
        self._head: tuple[Line, re.Match[str]] | None = None
        self._told: dict[str, float | None] = {}
        self._loss: float | None = None
        self._lines = 0

    @property
    def wants_more(self) -> bool:
        """True below a head."""
        return self._head is not None

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        if head := _HEAD.match(line.text):
            rows = [*self.close()]
            self._head = (line, head)
            if head["rest"]:
                self._read(head["rest"])
                rows += self.close()
            return rows
        if self._head is None:
            return ()
        self._lines += 1
        if self._lines > _MOST or not line.text.strip():
            return [*self.close()]
        self._read(line.text)
        return ()

    def _read(self, text: str) -> None:
        if said := _REWARD.search(text):
            self._told = {"mean_reward": number(said["mean"]), "median_reward": number(said["median"])}
        if said := _VALUE.search(text):
            self._loss = number(said["loss"])

    def close(self) -> Iterable[ParsedRow]:
        """The update is told, or the stream is over."""
        head, told, loss = self._head, self._told, self._loss
        self._head, self._told, self._loss, self._lines = None, {}, None, 0
        if head is None:
            return
        line, match = head
        yield line.step(
            "a2c-ppo-acktr",
            step=int(match["at"]),
            loss=loss,
            loss_name=None if loss is None else "value loss",
            objective="rl",
            samples_per_s=float(match["fps"]),
            metrics=as_json({"num_timesteps": float(match["seen"]), **told}),
        )

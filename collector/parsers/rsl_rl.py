"""rsl_rl: the block that RSL-RL's runner prints of each iteration (legged_gym, Isaac Lab), centred line by line.

SOURCE    rsl_rl/runners/on_policy_runner.py, releases 1 to 3
ROWS      train_step: the value function's loss as loss; the surrogate's, the mean reward and the episodes' length in metrics;
          train_end, where Isaac Lab gives the run's time below the block of its last iteration
CAVEAT    An iteration is counted from 0, so that the last of 1500 reads 1499/1500. The losses of what learns from reward may rise.
EXAMPLE
    ################################################################################
                           Learning iteration 310/1500

                           Computation: 51234 steps/s (collection: 1.610s, learning 0.309s)
                   Value function loss: 0.0142
                        Surrogate loss: -0.0031
                           Mean reward: 11.82
    --------------------------------------------------------------------------------
                       Total timesteps: 30572544
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import ClassVar

from collector.parsers.base import Line, ParsedRow
from collector.parsers.values import NUMBER, as_json, number
from store import lazy

_HEAD = lazy.compile(r"^\W*Learning iteration (?P<at>\d{1,12})(?:/(?P<total>\d{1,12}))?\W*$")
_CELL = lazy.compile(rf"^\s*(?P<key>[A-Z][\w/ ()-]{{1,60}}): +(?P<value>{NUMBER})(?P<unit> ?(?:steps/s|s))?(?=[\s(]|$)")
_RULE = lazy.compile(r"^\s*-{20,}\s*$|^\s*#{20,}\s*$")
_LOSS = ("Value function loss", "Mean value_function loss", "Mean value loss", "Mean value function loss")
_SURROGATE = ("Surrogate loss", "Mean surrogate loss")
_KEPT = {
    "Mean reward": "mean_reward",
    "Mean total reward": "mean_reward",
    "Mean episode length": "mean_episode_length",
    "Mean entropy loss": "entropy_loss",
    "Mean action noise std": "action_noise_std",
}
_TIME = lazy.compile(r"^\W*Training time: \d+(?:\.\d+)? seconds\s*$")
_MOST = 200
"""Lines after which a block that does not end is none."""


class RslRl:
    """State: the head of an open block and its cells."""

    name: ClassVar[str] = "rsl_rl"
    anchors: ClassVar[tuple[str, ...]] = ("Learning iteration ", "Training time: ")

    def __init__(self) -> None:
        self._head: tuple[Line, re.Match[str]] | None = None
        self._cells: dict[str, str] = {}
        self._lines = 0
        self._last = False

    @property
    def wants_more(self) -> bool:
        """True inside a block."""
        return self._head is not None

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        if head := _HEAD.match(line.text):
            rows = [*self.close()]
            self._head = (line, head)
            return rows
        if self._last and _TIME.match(line.text):
            end = line.event("train_end", "completed", severity="info", parser=self.name, framework="rsl-rl")
            return [*self.close(), end]
        if self._head is None:
            return ()
        self._lines += 1
        if _RULE.match(line.text) or self._lines > _MOST:
            return [*self.close()]
        if cell := _CELL.match(line.text):
            self._cells.setdefault(cell["key"].strip(), cell["value"])
        return ()

    def close(self) -> Iterable[ParsedRow]:
        """The block is over, or the stream is: what was told of the iteration is reported, if a loss was."""
        head, cells = self._head, self._cells
        self._head, self._cells, self._lines = None, {}, 0
        named = next((k for k in _LOSS if k in cells), None)
        if head is None or named is None:
            return
        line, match = head
        self._last = match["total"] is not None and int(match["at"]) + 1 >= int(match["total"])
        surrogate = next((cells[k] for k in _SURROGATE if k in cells), None)
        kept = {_KEPT[k]: number(v) for k, v in cells.items() if k in _KEPT}
        yield line.step(
            "rsl-rl",
            step=int(match["at"]),
            total_steps=int(match["total"]) if match["total"] else None,
            loss=number(cells[named]),
            loss_name="value function loss",
            objective="rl",
            samples_per_s=number(cells.get("Computation") or cells.get("Steps per second")),
            metrics=as_json({"surrogate_loss": number(surrogate), **kept} if surrogate else kept),
        )

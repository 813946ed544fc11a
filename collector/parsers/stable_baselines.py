"""stable_baselines: the tables that Stable-Baselines (2 and 3) and their relatives print of each iteration.

SOURCE    stable_baselines3/common/logger.py (HumanOutputFormat); baselines/logger.py, and its copies in OpenAI's diffusion code
ROWS      train_step: the time steps of the environment as step; the mean reward of an episode in metrics. Diffusion: the step
CAVEAT    A table without a count of steps is no report of training. The loss of methods that learn from reward may rise.
EXAMPLE
    ------------------------------------
    | rollout/           |             |
    |    ep_rew_mean     | 21.9        |
    | time/              |             |
    |    total_timesteps | 4096        |
    | train/             |             |
    |    learning_rate   | 0.0003      |
    |    loss            | 7.51        |
    ------------------------------------
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from collector.parsers.base import Line, ParsedRow
from collector.parsers.values import as_json, number, whole
from store import lazy

_ROW = lazy.compile(r"^\s*\| *(?P<key>[A-Za-z_][\w/ .()%-]{0,60}?) *\| *(?P<value>[^|]{0,40}?) *\|\s*$")
_RULE = lazy.compile(r"^\s*-{12,}\s*$")
_STEPS = ("total_timesteps", "time/total_timesteps", "total timesteps", "steps", "step")
_MOST = 80
"""Lines after which a table that does not end is none."""


class StableBaselines:
    """State: the cells of an open table."""

    name: ClassVar[str] = "stable_baselines"
    anchors: ClassVar[tuple[str, ...]] = (
        "| rollout/",
        "| time/",
        "| eval/",
        "| ep_rewmean",
        "| approxkl",
        "| % time",
        "| grad_norm ",
    )

    def __init__(self) -> None:
        self._cells: dict[str, str] = {}
        self._lines = 0

    @property
    def wants_more(self) -> bool:
        """True inside a table."""
        return self._lines > 0

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        if row := _ROW.match(line.text):
            self._lines += 1
            if row["value"]:
                self._cells.setdefault(row["key"].strip(), row["value"])
            if self._lines > _MOST:
                self._cells, self._lines = {}, 0
            return ()
        cells, self._cells, self._lines = self._cells, {}, 0
        return self._report(line, cells) if cells and _RULE.match(line.text) else ()

    def close(self) -> Iterable[ParsedRow]:
        """A table that was cut is not reported."""
        self._cells, self._lines = {}, 0
        return ()

    def _report(self, line: Line, cells: dict[str, str]) -> Iterable[ParsedRow]:
        values = {k: v for k, raw in cells.items() if (v := number(raw)) is not None}
        steps = next((whole(cells[k]) for k in _STEPS if k in cells), None)
        if steps is None:
            return
        if "samples" in values and "loss" in values:  # of diffusion: what was trained on, in examples
            yield line.step("guided-diffusion", step=steps, loss=values["loss"], loss_name="loss", grad_norm=values.get("grad_norm"), learning_rate=values.get("lr"))  # fmt: skip
            return
        named = next((k for k in ("loss", "train/loss", "actor_loss", "policy_loss") if k in values), None)
        kept = (
            "ep_rew_mean",
            "ep_rewmean",
            "ep_len_mean",
            "episode_reward",
            "mean_reward",
            "fps",
            "value_loss",
            "approx_kl",
        )
        yield line.step(
            "stable-baselines",
            step=steps,
            loss=values.get(named) if named else None,
            loss_name=named,
            objective="rl",
            learning_rate=values.get("learning_rate"),
            metrics=as_json({k: values[k] for k in kept if k in values}),
        )

"""lerobot: the progress lines of LeRobot's training script.

SOURCE    MetricsTracker of lerobot.utils.logging_utils
ROWS      train_step
CAVEAT    counts from a thousand on are rounded (`12K`): then there is no step, and the epoch alone says how far it came
EXAMPLE
    INFO 2026-03-01 10:04:12 ot_train.py:357 step:200 smpl:2K ep:4 epch:0.61 loss:1.204 grdn:12.310 lr:1.0e-05 updt_s:0.412 data_s:0.009
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from collector.parsers.base import Line, LineParser, ParsedRow
from collector.parsers.values import NUMBER, as_json, number
from store import lazy

_HEAD = lazy.compile(
    rf"(?:^|\s)step:(?P<step>\d[\d.]{{0,9}}[KMBTQ]?) smpl:\S{{1,12}} ep:\S{{1,12}} epch:(?P<epoch>{NUMBER})(?P<rest>(?: \S.*)?)$"
)
_PAIR = lazy.compile(rf"(?<=\s)(?P<key>[A-Za-z_][\w/.-]{{0,40}}):(?P<value>{NUMBER})(?=\s|$)")


class Lerobot(LineParser):
    """One line, one report of means."""

    name: ClassVar[str] = "lerobot"
    anchors: ClassVar[tuple[str, ...]] = (" epch:",)

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        match = _HEAD.search(line.text)
        if match is None:
            return
        values = {m["key"]: v for m in _PAIR.finditer(match["rest"]) if (v := number(m["value"])) is not None}
        if "loss" not in values:
            return
        yield line.step(
            "lerobot",
            step=int(match["step"]) if match["step"].isdigit() else None,
            epoch=number(match["epoch"]),
            loss=values.pop("loss"),
            loss_name="loss",
            grad_norm=values.pop("grdn", None),
            learning_rate=values.pop("lr", None),
            metrics=as_json(values),
        )

"""keras: the bars and summary lines of Keras 1, 2 and 3.

SOURCE    keras.utils.Progbar (verbose 1 and 2), ProgbarLogger
ROWS      train_step, train_plan
CAVEAT    the step is not printed, only the epoch (on the line before); a bar that is not full holds running means: the
          last one is given when the stream ends there, and the first whose loss is not finite. A full bar that is drawn
          again, with the validation's figures, is given once its line is over; one on a line below is evaluate()
EXAMPLES
    Epoch 3/10
    118/118 [==============================] - 1s 10ms/step - loss: 0.0516 - accuracy: 0.9842 - val_loss: 0.0407
    300/300 ━━━━━━━━━━━━━━━━━━━━ 20s 44ms/step - loss: nan - val_loss: nan
    333/333 - 3s - 8ms/step - accuracy: 0.9267 - loss: 0.2678
     - 15s - loss: 0.8912 - acc: 0.6318 - val_loss: 0.9852          (verbose 2 up to 2.2; Keras 1 without the first dash)
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any, ClassVar

from collector.parsers.base import Line, ParsedRow
from collector.parsers.values import NUMBER, as_json, number
from store import lazy

_EPOCH = lazy.compile(r"^\s*Epoch (\d{1,18})/(\d{1,18})\s*(?:$|\d+/)")
_BAR = lazy.compile(
    r"(?<!\d)(?P<n>\d{1,18})/(?P<total>\d{1,18}|Unknown|None) *(?:\[[=>. ]+\]|[━╸╺─]{3,}|(?= - \d+s))[ -]*"
    r"(?P<rest>(?:ETA: )?[\d:]+m?u?s.*)"
)
# One line an epoch, without the count of its batches.
_TIMED = lazy.compile(
    r"^ {0,2}(?:- )?(?P<took>\d{1,9})s(?: \d{1,9}(?:s|ms|us)/(?:step|sample|epoch))?(?P<rest> - loss: .*)"
)
_LIKE_A_BAR = lazy.compile(r"\d/\w+ *(?: - \d|\[[=>. ]|[━╸╺─])")
_METRIC = lazy.compile(rf"(?:^|[ -] ?)(?P<key>[A-Za-z_][\w./ +()-]{{0,60}}?): *(?P<value>{NUMBER})(?= |$|-)")
_EACH = lazy.compile(r"(?<!\d)(?P<value>\d{1,18}(?:\.\d+)?)(?P<unit>s|ms|us)/(?P<what>step|sample|epoch)")
_SCALE = {"s": 1.0, "ms": 1e-3, "us": 1e-6}


class Keras:
    """One stream of a Keras program."""

    name: ClassVar[str] = "keras"
    anchors: ClassVar[tuple[str, ...]] = (
        "ms/step",
        "us/step",
        "s/step",
        "s/sample",
        "s/epoch",
        "- ETA: ",
        "Epoch ",
        "s - loss: ",
    )

    @staticmethod
    def ignores(text: str) -> bool:
        """Lines with neither one of Keras's bars nor its heading."""
        return _EPOCH.match(text) is None and _LIKE_A_BAR.search(text) is None and _TIMED.match(text) is None

    def __init__(self) -> None:
        self._epoch: int | None = None
        self._epochs: int | None = None
        self._full = False
        self._planned = False
        self._held: ParsedRow | None = None
        self._whole: tuple[int, str, ParsedRow] | None = None  # a full bar's line, split and row
        self._finite = True

    @property
    def wants_more(self) -> bool:
        """Never: a bar is one line."""
        return False

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line (or one carriage-return segment)."""
        text = line.text
        rows: list[ParsedRow] = []
        if match := _EPOCH.match(text):
            rows += self._drain()
            self._epoch, self._epochs, self._full = int(match[1]), int(match[2]), False
        if match := _BAR.search(text):
            rows += self._bar(line, match)
        elif self._epoch is not None and not self._full and (match := _TIMED.match(text)):
            rows += self._timed(line, match["rest"])
        return rows

    def close(self) -> Iterable[ParsedRow]:
        """The bar that the stream stopped in."""
        return self._drain()

    def _drain(self) -> list[ParsedRow]:
        held, self._held = self._held, None
        return [*self._over(), *([held] if held is not None else [])]

    def _over(self) -> list[ParsedRow]:
        whole, self._whole = self._whole, None
        return [whole[2]] if whole is not None else []

    def _timed(self, line: Line, rest: str) -> list[ParsedRow]:
        values = _values(rest)
        if "loss" not in values:
            return []
        self._full = True
        return [*self._over(), *self._plan(line), self._row(line, "train", values, {})]

    def _plan(self, line: Line) -> list[ParsedRow]:
        if self._planned or self._epochs is None:
            return []
        self._planned = True  # only now is it sure that the epochs were Keras's
        fields: dict[str, Any] = {"severity": "info", "framework": "keras", "total_epochs": float(self._epochs)}
        return [line.event("train_plan", "epochs", f"Epoch {self._epoch}/{self._epochs}", **fields)]

    def _row(
        self, line: Line, split: str, values: dict[str, float], counted: dict[str, int], each: float | None = None
    ) -> ParsedRow:
        loss = values.pop("loss")
        rate = values.pop("learning_rate", values.pop("lr", None))
        return line.step(
            "keras",
            split=split,
            epoch=None if self._epoch is None else float(self._epoch),
            total_epochs=None if self._epochs is None else float(self._epochs),
            loss=loss,
            loss_name="loss",
            learning_rate=rate,
            step_time_s=each,
            metrics=as_json({**counted, **values}),
        )

    def _bar(self, line: Line, match: re.Match[str]) -> list[ParsedRow]:
        rest = match["rest"]
        values = _values(rest)
        if "loss" not in values:
            return []
        drawn = self._whole if self._whole is not None and self._whole[0] == line.line_no else None  # the same bar
        planned = [*(() if drawn else self._over()), *self._plan(line)]
        full = match["total"] in (match["n"], "Unknown", "None") and "ETA:" not in rest
        evaluating = full and self._full and self._epoch is not None
        split = drawn[1] if drawn else "eval" if evaluating else "train"
        loss = values["loss"]
        each = next((m for m in _EACH.finditer(rest) if m["what"] == "step"), None)
        counted = {"batch": int(match["n"])}
        if match["total"] not in ("Unknown", "None"):
            counted["batches"] = int(match["total"])
        took = float(each["value"]) * _SCALE[each["unit"]] if each else None
        row = self._row(line, split, values, counted, took)
        if full:
            self._held, self._full, self._finite = None, True, True
            self._whole = line.line_no, split, row
            return planned
        if not math.isfinite(loss) and self._finite:
            self._finite, self._held = False, None
            return [*planned, row]
        self._held = row
        return planned


def _values(rest: str) -> dict[str, float]:
    values = {m["key"].strip(): v for m in _METRIC.finditer(rest) if (v := number(m["value"])) is not None}
    values.pop("ETA", None)
    return values

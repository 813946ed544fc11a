"""fairseq: train_inner, train and valid lines.

ROWS      train_step (split train or eval)
EXAMPLES
    2023-06-13 19:19:41 | INFO | train_inner | epoch 186:    168 / 282 loss=3.105, ppl=8.6, wps=132341, num_updates=52300, lr=0.000138277, gnorm=0.512
    | epoch 028:   1000 / 2737 loss=3.976, nll_loss=2.1, ppl=4.61, wps=49604, num_updates=9100, lr=0.00033, gnorm=0.635       (before 0.9)
    | epoch 028 | loss 3.976 | ppl 4.61 | num_updates 9165 | lr 0.000330319 | gnorm 0.635 | wall 4043        (before 0.9)
    2021-03-08 12:43:15 | INFO | train | {"epoch": 1, "train_loss": "9.351", "train_num_updates": "100", "train_lr": "0.1"}   (format json)
    2023-06-13 19:25:45 | INFO | valid | epoch 188 | valid on 'valid' subset | loss 12.392 | ppl 5373.12 | num_updates 52977
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, ClassVar

from collector.parsers.base import Line, LineParser, ParsedRow
from collector.parsers.values import NUMBER, as_json, number, whole
from store import lazy

_INNER = lazy.compile(r"(?:^|\| train_inner )\| epoch (\d{1,18}): +(\d{1,18}) / (\d{1,18}) (.*\bnum_updates=.*)")
_VALID = lazy.compile(r"\| (?:valid|dev)\w* \| epoch (\d{1,18}) \| valid on '[^']*' subset \| (.*)")
_TRAIN = lazy.compile(r"\| train \| epoch (\d{1,18}) \| (.*)")
_JSON = lazy.compile(r"\| (train_inner|train|valid|dev)\w* \| (\{\"epoch\": .*\})\s*$")
_OLD = lazy.compile(r"^\| epoch (\d{1,18}) \| (valid on '[^']*' subset \| )?((?:valid_)?loss .*\bnum_updates \d.*)")
_EQUALS = lazy.compile(rf"([A-Za-z_]\w*)=({NUMBER})")


class Fairseq(LineParser):
    """Fairseq's progress lines (format simple and log)."""

    name: ClassVar[str] = "fairseq"
    anchors: ClassVar[tuple[str, ...]] = (
        "| train_inner |",
        "| valid",
        "| dev",
        "| train | epoch",
        "| train | {",
        "| epoch ",
    )

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        text = line.text
        if match := _INNER.search(text):
            values = {m[1]: v for m in _EQUALS.finditer(match[4]) if (v := number(m[2])) is not None}
            return self._row(line, "train", match[1], values)
        if match := _JSON.search(text):
            return self._json(line, match)
        if match := _VALID.search(text):
            return self._row(line, "eval", match[1], _spaced(match[2]))
        if match := _TRAIN.search(text):
            return self._row(line, "train", match[1], _spaced(match[2]))
        if match := _OLD.match(text):
            values = {k.removeprefix("valid_"): v for k, v in _spaced(match[3]).items()}
            return self._row(line, "eval" if match[2] else "train", match[1], values)
        return ()

    def _json(self, line: Line, match: re.Match[str]) -> Iterable[ParsedRow]:
        try:
            loaded: Any = json.loads(match[2])
        except ValueError:
            return ()
        values = {
            re.sub(r"^(?:train|valid|dev)_", "", k): v for k, raw in loaded.items() if (v := number(raw)) is not None
        }
        epoch = values.pop("epoch", None)
        split = "train" if match[1].startswith("train") else "eval"
        return self._row(line, split, str(int(epoch)), values) if epoch is not None and abs(epoch) < 1e9 else ()

    def _row(self, line: Line, split: str, epoch: str, values: dict[str, float]) -> Iterable[ParsedRow]:
        if "loss" not in values:
            return ()
        loss = values.pop("loss")
        return [
            line.step(
                "fairseq",
                split=split,
                epoch=float(epoch),
                step=whole(values.pop("num_updates", None)),
                loss=loss,
                loss_name="loss",
                grad_norm=values.pop("gnorm", None),
                learning_rate=values.pop("lr", None),
                tokens_per_s=values.get("wps"),
                metrics=as_json(values),
            )
        ]


def _spaced(text: str) -> dict[str, float]:
    values: dict[str, float] = {}
    for part in text.split("|"):
        key, _, raw = part.strip().partition(" ")
        if (value := number(raw.strip())) is not None:
            values[key] = value
    return values

"""megatron: the iteration lines of Megatron-LM and what descends from it.

SOURCE    training_log() and evaluate_and_print_results() of Megatron-LM 1 to Core, Megatron-DeepSpeed, GPT-NeoX, Primus,
          FlagScale, Megatron-Bridge: fields between bars, in an order and with names that changed over the years
ROWS      train_step (split train or eval), train_plan, train_begin, train_end
CAVEAT    a window in which every iteration was skipped prints no loss; a grad norm of 0.000 was then not measured
EXAMPLES
     iteration       10/    1000 | consumed samples:  40 | elapsed time per iteration (ms): 3171.3 | learning rate: 1.5E-04 | lm loss: 7.9E+00 | grad norm: 3.186 |
     validation loss at iteration 1000 | lm loss value: 2.512345E+00 | lm loss PPL: 1.233395E+01 |
      train_iters ..................................... 500000
    [after training is done] datetime: 2021-05-23 08:29:53
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import ClassVar

from collector.parsers.base import Line, LineParser, ParsedRow
from collector.parsers.values import NUMBER, as_json, number

_ITERATION = re.compile(r"(?:^|[ \])|>:])iteration:? +(\d{1,18}) ?/ *(\d{1,18}) *(?:\||$)")
# Megatron pads both numbers to eight places; a wrapper that cut the line at its first bar leaves this.
_BARE = re.compile(r"^ ?(?:\[[-\d :.]+\] )?iteration (?= )(?=[ \d]{8}/) *(\d{1,18})/(?=[ \d]{8}\s*$) *(\d{1,18})\s*$")
_FIELD = re.compile(rf" *(?P<key>[A-Za-z][^|:=]*?)(?: *[:=] *| +)(?P<value>{NUMBER})(?P<rest>[^|:=]*)\Z")
_PAIRED = re.compile(rf" *(?P<key>elapsed time per iteration \((?:ms|s)\)): *(?P<value>{NUMBER})")
_VALID = re.compile(
    r"(?P<what>validation|test) loss at (?:iteration +(?P<step>\d{1,18})|(?P<end>the end of training))[^|]*\|(?P<fields>.+)"
)
_ITERS = re.compile(r"^ *(?:[\w.]*args\.)?train_iters \.{3,} ?(\d{1,18})")
_SAMPLES = re.compile(r"^ *train_samples \.{3,} ?(\d{1,18})")
MAX_FIELD = 300
# Pieces of a line's shape. A number as it mostly stands there: what is written in any other way goes the long way.
_PLAIN = r"[-+]?[0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?"
_COUNT = r" *iteration:? +[0-9]+ ?/ *[0-9]+ *"
_NO_FIELD = r" *(?:[^A-Za-z |][^|]*)?"
_LOSSES = ("lm loss", "lm-loss", "lm_loss", "loss", "language loss", "language_loss")
_NOT_LOSS = ("loss scale", "loss_scale")


class Megatron(LineParser):
    """Iteration lines, validation lines, the planned number of iterations, begin and end."""

    name: ClassVar[str] = "megatron"
    anchors: ClassVar[tuple[str, ...]] = (
        "elapsed time per iteration",
        "iteration    ",
        "loss at iteration",
        "loss at the end of training",
        "train_iters ..",
        "train_samples ..",
        "setting training iterations to",
        "[before the start of training step]",
        "[after training is done]",
        "[after training ends]",
    )

    def __init__(self) -> None:
        self._shape: re.Pattern[str] | None = None
        self._keys: tuple[str, ...] = ()

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        text = line.text
        if "elapsed time per iteration" in text and (match := _ITERATION.search(text)):
            return self._iteration(line, match)
        if match := _BARE.match(text):
            return [line.step("megatron", step=int(match[1]), total_steps=int(match[2]))]
        if "loss at " in text and (match := _VALID.search(text)):
            return self._validation(line, match)
        if match := _ITERS.match(text) or re.search(r"setting training iterations to (\d{1,18})", text):
            steps = int(match.group(1))
            return [line.event("train_plan", "train_iters", severity="info", framework="megatron", total_steps=steps)]
        if match := _SAMPLES.match(text):
            detail = as_json({"train_samples": int(match.group(1))})
            return [line.event("train_plan", "train_samples", severity="info", framework="megatron", detail=detail)]
        if "[before the start of training step]" in text:
            return [line.event("train_begin", "training_begins", severity="info", framework="megatron")]
        if "[after training" in text:
            return [line.event("train_end", "training_done", severity="info", framework="megatron")]
        return ()

    def _iteration(self, line: Line, match: re.Match[str]) -> Iterable[ParsedRow]:
        values = self._values(line.text)
        seconds_each = values.pop("elapsed time per iteration (s)", None)
        millis = values.pop("elapsed time per iteration (ms)", None)
        if millis is not None:
            seconds_each = millis / 1000
        loss_name = _loss_name(values)
        skipped = values.get("number of skipped iterations")
        return [
            line.step(
                "megatron",
                step=int(match.group(1)),
                total_steps=int(match.group(2)),
                loss=values.pop(loss_name) if loss_name else None,
                loss_name=loss_name,
                grad_norm=values.pop("grad norm", values.get("grad_norm")),
                learning_rate=values.pop("learning rate", None),
                step_time_s=seconds_each,
                samples_per_s=values.get("samples per second", values.get("samples/sec")),
                skipped=None if skipped is None else skipped > 0 and loss_name is None,
                metrics=as_json(values),
            )
        ]

    def _values(self, text: str) -> dict[str, float]:
        if self._shape is not None and (found := self._shape.fullmatch(text)):
            return dict(zip(self._keys, map(float, found.groups()), strict=True))
        return self._learn(text)

    def _learn(self, text: str) -> dict[str, float]:
        """The fields of a line; the next lines of the run have the same ones in the same order, and are read by its shape."""
        values: dict[str, float] = {}
        shape: list[str] = []
        for part in text.split("|"):
            field = (_PAIRED.match(part) or _FIELD.match(part)) if len(part) < MAX_FIELD else None
            value = number(field["value"]) if field else None
            if field is None or value is None:
                shape.append(_NO_FIELD if re.fullmatch(_NO_FIELD, part) else re.escape(part))
                continue
            key = field["key"].strip()
            if key == "iteration":
                shape.append(_COUNT)
                continue
            head = re.escape(part[: field.start("value")].rstrip())
            shape.append(f"{head} *(?:{_PLAIN}) *" if key in values else f"{head} *({_PLAIN}) *")
            values.setdefault(key, value)
        self._keys = tuple(values)
        self._shape = re.compile(r"\|".join(shape))
        return values

    def _validation(self, line: Line, match: re.Match[str]) -> Iterable[ParsedRow]:
        values: dict[str, float] = {}
        for part in match["fields"].split("|"):
            field = _FIELD.match(part) if len(part) < MAX_FIELD else None
            if field and (value := number(field["value"])) is not None:
                values[field["key"].strip()] = value
        losses = {k: v for k, v in values.items() if re.search(r"loss(?: value)?\Z", k, re.I)}
        if not losses:
            return
        key = next((k for k in losses if k.lower().startswith("lm loss")), next(iter(losses)))
        yield line.step(
            "megatron",
            split="eval",
            step=int(match["step"]) if match["step"] else None,
            loss=losses[key],
            loss_name=key.removesuffix(" value"),
            metrics=as_json({k: v for k, v in values.items() if k != key}),
        )


def _loss_name(values: dict[str, float]) -> str | None:
    for name in _LOSSES:
        if name in values:
            return name
    named = [k for k in values if "loss" in k and not k.startswith(_NOT_LOSS) and k.endswith("loss")]
    return named[0] if named else None

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
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from collector.parsers.base import Line, LineParser, ParsedRow
from collector.parsers.values import NUMBER, as_json, json_column, number
from collector.parsers.wording import (
    AGAIN,
    COUNT,
    FIGURE,
    MOMENT,
    PADDING,
    STEP,
    TIME,
    TOTAL,
    Repeated,
    Slot,
    Steps,
    Wording,
)
from store import lazy

_ITERATION = lazy.compile(r"(?:^|[ \])|>:])iteration:? +(\d{1,18}) ?/ *(\d{1,18}) *(?:\||$)")
# Megatron pads both numbers to eight places; a wrapper that cut the line at its first bar leaves this.
_BARE = lazy.compile(r"^ ?(?:\[[-\d :.]+\] )?iteration (?= )(?=[ \d]{8}/) *(\d{1,18})/(?=[ \d]{8}\s*$) *(\d{1,18})\s*$")
_FIELD = lazy.compile(rf" *(?P<key>[A-Za-z][^|:=]*?)(?: *[:=] *| +)(?P<value>{NUMBER})(?P<rest>[^|:=]*)\Z")
_PAIRED = lazy.compile(rf" *(?P<key>elapsed time per iteration \((?:ms|s)\)): *(?P<value>{NUMBER})")
_VALID = lazy.compile(
    r"(?P<what>validation|test) loss at (?:iteration +(?P<step>\d{1,18})|(?P<end>the end of training))[^|]*\|(?P<fields>.+)"
)
_ITERS = lazy.compile(r"^ *(?:[\w.]*args\.)?train_iters \.{3,} ?(\d{1,18})")
_SAMPLES = lazy.compile(r"^ *train_samples \.{3,} ?(\d{1,18})")
MAX_FIELD = 300
_HEAD = lazy.compile(
    rf"(?P<before> {{0,40}})(?:\[(?P<time>{MOMENT.pattern[1:-1]})\](?P<between> {{0,40}}))?"
    r"iteration(?P<colon>:?) +[0-9]{1,18}(?P<gap> ?)/ *[0-9]{1,18} *"
)
_ODD = lazy.compile(r" *(?:[^A-Za-z |][^|]*)?")
ODD = Slot(r" *+(?:[^A-Za-z |][^|\n]*+)?", None)
"""A part that is no field: in the next line it may say anything but begin like one."""
ITERATION = Slot(r" *+iteration:? ++[0-9]++ ?/ *+[0-9]++ *+", None)
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

    @staticmethod
    def ignores(text: str) -> bool:
        """Lines of other loops that have nothing of its own but the word for a step, padded."""
        return _BARE.match(text) is None and not any(a in text for a in Megatron.anchors if not a.endswith(" "))

    def __init__(self) -> None:
        self.wording: Wording | None = None
        self._repeated = Repeated()

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        text, self.wording = line.text, None
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

    def steps(self, found: Mapping[str, Sequence[str | bytes]]) -> Steps:
        """The rows of iteration lines of one wording."""
        values = {key: list(map(float, texts)) for key, texts in found.items() if key not in (TIME, STEP, TOTAL)}
        return _steps(list(map(int, found[STEP])), list(map(int, found[TOTAL])), values)

    def _iteration(self, line: Line, match: re.Match[str]) -> Iterable[ParsedRow]:
        found = self._repeated.match(line.text)
        if found is not None:
            self.wording = self._repeated.known
            values = {key: [float(texts[0])] for key, texts in found.items() if key not in (TIME, STEP, TOTAL)}
        else:
            values, wording = _learn(line.text)
            self._repeated.learn(wording)
        return [line.first_of(_steps([int(match[1])], [int(match[2])], values))]

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


def _learn(text: str) -> tuple[dict[str, list[float]], Wording | None]:
    """The fields of a line, and its wording: the next lines of the run mostly have the same fields in the same order."""
    values: dict[str, list[float]] = {}
    pieces: list[str | Slot] = []
    keys: list[str] = []
    steady = True
    for n, part in enumerate(text.split("|")):
        pieces += ["|"] if n else []
        field = (_PAIRED.match(part) or _FIELD.match(part)) if len(part) < MAX_FIELD else None
        value = number(field["value"]) if field else None
        if n == 0 and (head := _HEAD.fullmatch(part)):
            pieces += [head["before"], *(["[", MOMENT, "]", head["between"]] if head["time"] else [])]
            pieces += [f"iteration{head['colon']} ", PADDING, COUNT, f"{head['gap']}/", PADDING, COUNT, PADDING]
            keys += [TIME, STEP, TOTAL] if head["time"] else [STEP, TOTAL]
        elif field is None or value is None:
            pieces.append(PADDING if not part.strip(" ") else ODD if _ODD.fullmatch(part) else part)
        elif (key := field["key"].strip()) == "iteration":
            pieces.append(ITERATION)
        else:
            shown, rest = part[: field.start("value")].rstrip(" "), part[field.end("value") :]
            steady = steady and not any(map(str.isdigit, rest))
            pieces += [shown if shown.endswith((":", "=")) else shown + " ", PADDING]
            pieces += [AGAIN if key in values else FIGURE, rest if rest.strip(" ") else PADDING]
            keys += [] if key in values else [key]
            values.setdefault(key, [value])
    return values, Wording(pieces, keys) if steady else None


def _steps(steps: list[int], totals: list[int], values: dict[str, list[float]]) -> Steps:
    seconds_each = values.pop("elapsed time per iteration (s)", None)
    millis = values.pop("elapsed time per iteration (ms)", None)
    if millis is not None:
        seconds_each = [m / 1000 for m in millis]
    loss_name = _loss_name(values)
    skipped = values.get("number of skipped iterations")
    columns: dict[str, Sequence[Any] | None] = {
        "step": steps,
        "total_steps": totals,
        "loss": values.pop(loss_name) if loss_name else None,
        "grad_norm": values.pop("grad norm", values.get("grad_norm")),
        "learning_rate": values.pop("learning rate", None),
        "step_time_s": seconds_each,
        "samples_per_s": values.get("samples per second", values.get("samples/sec")),
        "skipped": None if skipped is None else [s > 0 and loss_name is None for s in skipped],
        "metrics": json_column(values),
    }
    return Steps("megatron", {"loss_name": loss_name}, {k: v for k, v in columns.items() if v is not None})


def _loss_name(values: Mapping[str, object]) -> str | None:
    for name in _LOSSES:
        if name in values:
            return name
    named = [k for k in values if "loss" in k and not k.startswith(_NOT_LOSS) and k.endswith("loss")]
    return named[0] if named else None

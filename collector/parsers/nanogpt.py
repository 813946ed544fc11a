"""nanogpt: the training loops that many people copied: nanoGPT, modded-nanogpt, nanochat, llm.c, and lines between bars.

ROWS      train_step (split train or eval)
CAVEAT    `lrm` is a multiplier and not a learning rate; modded-nanogpt prints most steps without a loss, and its step_avg is the mean of
          all steps so far, which is no step's time
EXAMPLES
    iter 182: loss 2.3141, time 168.34ms, mfu 1.80%
    step 250: train loss 1.9012, val loss 2.0113
    step:5600/20000 train_loss:2.0141 train_time:310878ms step_avg:55.51ms
    s:9535 trl:3.340180
    1/20000 train_loss: 9.0087 train_time: 0.0m tok/s: 11886047
    step 00100 (0.00%) | loss: 2.91 | lrm: 1.00 | dt: 5.00ms | tok/sec: 25,618 | mfu: 0.00 | epoch: 1
    step    54140 | loss 14.3101 | lr 1.51e-04 | grad 0.822 | 37.3k tok/s
    2026-03-01 10:00:26 | INFO | step 120/5000 | Loss 2.3411 | LR 3.0e-04
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from collector.parsers.base import Line, LineParser, ParsedRow
from collector.parsers.loop_words import step_and_wait
from collector.parsers.values import NUMBER, as_json, json_column, number, scaled
from collector.parsers.wording import COUNT, FIGURE, STEP, Steps, Wording
from store import lazy

# What may stand before a line of a plain loop: white space, a time, or a logger's prefix that ends in ` - `, `: `, `] ` or `| `.
_LEAD = r"(?:^|[\])|>:] |- |\d\d:\d\d:\d\d(?:[.,]\d{1,6})?Z? )\s*"
_ITER = lazy.compile(
    rf"{_LEAD}iter (\d{{1,18}}): loss ({NUMBER})(?: BPC)?, time ({NUMBER}) ?(ms|s)\b(?:, mfu ({NUMBER})%)?"
)
# The same line as nanoGPT itself prints it, alone: a run of it prints little else.
_REPORT = Wording(
    ["iter ", COUNT, ": loss ", FIGURE, ", time ", FIGURE, "ms, mfu ", FIGURE, "%"],
    [STEP, "loss", "time_ms", "mfu_pct"],
)
_EVAL = lazy.compile(rf"{_LEAD}step (\d{{1,18}}): train loss ({NUMBER}), val loss ({NUMBER})")
_MODDED = lazy.compile(
    rf"{_LEAD}(?:step: ?)?(\d{{1,18}})/(\d{{1,18}}) (?:(train|val)_loss: ?({NUMBER}) )?train_time: ?({NUMBER})(ms|s|m)\b(?: step_avg: ?({NUMBER})ms)?"
    rf"(?: tok/s: ?([\d,.]+))?"
)
_SHORT = lazy.compile(rf"^s:(\d{{1,18}}) (trl|tel):({NUMBER})\s*$")
_PIPE = lazy.compile(
    r"(?:^|[\])>:|] |- )\s*(?:step|iter|iteration|Step|Iter|Iteration)[ :=]\s*(\d{1,18})(?: ?/ ?(\d{1,18}))?(?: ?\([\d.]+%\))?,? *\| *(.*)"
)
# What stands before it: an epoch (`epoch_lines` reads such lines), or that the loss is not of training.
_EPOCH = lazy.compile(r"\b[Ee]poch\b")
_HELD_OUT = lazy.compile(r"(?i)(?<![\w.])(?:val|valid|validation|eval|evaluation|test|dev) *[|\]:-]+ *$")
_PIPE_FIELD = lazy.compile(
    rf"^(?P<key>[A-Za-z][\w/ ()-]*?)(?: ?[:=] ?| )(?P<value>{NUMBER})(?: \([+-][\w.]+\))?(?P<unit> ?%| ?ms| ?s)?$"
)
_SPEED = lazy.compile(
    r"^(?P<value>[\d.,]+ ?[kKMG]?) ?(?:tok/s|tokens/s|tok/sec|tokens/sec)$|^(?:tok/s(?:ec)?|tokens/s(?:ec)?)[: ]+(?P<value2>[\d.,]+[kKMG]?)$"
)
# Megatron and nanotron put bars between their fields too, and have parsers of their own.
_OTHERS = lazy.compile(r"elapsed time per iteration|consumed|iteration: \d+ / \d+ \|")
_LOSS = ("loss", "train loss", "train_loss", "train/loss", "lm loss", "lm_loss", "total loss", "total_loss")
_GRAD = ("grad", "grad norm", "grad_norm", "gnorm", "norm", "|g|", "gn")
_RATE = ("lr", "learning rate", "learning_rate")

_EPOCH_FIELD = lazy.compile(r"[Ee]poch[ :=]*\[?(\d{1,9}) ?/ ?(\d{1,9})\]?$")


class NanoGpt(LineParser):
    """Progress lines of plain loops whose shape leaves no doubt."""

    name: ClassVar[str] = "nanogpt"
    anchors: ClassVar[tuple[str, ...]] = (
        ": loss ",
        "val loss ",
        "train_time:",
        " trl:",
        " tel:",
        "| loss: ",
        "| loss=",
        "| Loss",
        "| train",
        "| lm_loss",
        *(f"| loss {first}" for first in "0123456789-+.nN"),
        *(f"|loss {first}" for first in "0123456789-+.nN"),
    )

    alone: ClassVar[bool] = True

    def __init__(self) -> None:
        self.wording: Wording | None = None

    @staticmethod
    def ignores(text: str) -> bool:
        """Megatron's lines and those without bars, as long as they hold none of these loops' words."""
        own = text.startswith("s:") or any(word in text for word in ("iter ", ", val loss ", "train_time:"))
        return not own and ("elapsed time per iteration" in text or "|" not in text)

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        text, self.wording = line.text, None
        if text.startswith("iter ") and (found := _REPORT.match(text)) is not None:
            self.wording = _REPORT
            return [line.first_of(self.steps(found))]
        if "iter " in text and (match := _ITER.search(text)):
            each = number(match[3])
            seconds = None if each is None else each / 1000 if match[4] == "ms" else each
            more = {"mfu_pct": number(match[5])} if match[5] else {}
            both = step_and_wait(text)
            metrics = as_json(more if both is None else {**more, "data_time": both[1]})
            fields: dict[str, Any] = {
                "loss": number(match[2]),
                "loss_name": "loss",
                "step_time_s": seconds,
                "metrics": metrics,
            }
            return [line.step("nanogpt", step=int(match[1]), **fields)]
        if ", val loss " in text and (match := _EVAL.search(text)):
            step = int(match[1])
            return [
                line.step("nanogpt", step=step, loss=number(match[2]), loss_name="train loss"),
                line.step("nanogpt", split="eval", step=step, loss=number(match[3]), loss_name="val loss"),
            ]
        if "train_time:" in text and "warmup" not in text and (match := _MODDED.search(text)):
            return [_modded(line, match)]
        if match := _SHORT.match(text):
            split = "train" if match[2] == "trl" else "eval"
            return [
                line.step("modded-nanogpt", split=split, step=int(match[1]), loss=number(match[3]), loss_name=match[2])
            ]
        if "|" in text and not _OTHERS.search(text) and (match := _PIPE.search(text)):
            row = _pipe(line, match)
            return () if row is None else [row]
        return ()

    def steps(self, found: Mapping[str, Sequence[str | bytes]]) -> Steps:
        """The rows of nanoGPT's own lines."""
        columns: dict[str, Sequence[Any] | None] = {
            "step": list(map(int, found[STEP])),
            "loss": list(map(float, found["loss"])),
            "step_time_s": [float(each) / 1000 for each in found["time_ms"]],
            "metrics": json_column({"mfu_pct": list(map(float, found["mfu_pct"]))}),
        }
        return Steps("nanogpt", {"loss_name": "loss"}, {k: v for k, v in columns.items() if v is not None})


def between_bars(line: Line) -> bool:
    """Whether `NanoGpt` reads this line as fields between bars, training loss and all."""
    text = line.text
    return "|" in text and any(a in text for a in NanoGpt.anchors) and bool(list(NanoGpt().feed(line)))


def _modded(line: Line, match: re.Match[str]) -> ParsedRow:
    spent, mean = number(match[5]), number(match[7] or "")
    clock = {
        "elapsed_s": None if spent is None else spent * {"ms": 1e-3, "s": 1.0, "m": 60.0}[match[6]],
        "step_avg_s": None if mean is None else mean / 1000,
    }
    return line.step(
        "modded-nanogpt",
        split="eval" if match[3] == "val" else "train",
        step=int(match[1]),
        total_steps=int(match[2]),
        loss=number(match[4]) if match[4] else None,
        loss_name=f"{match[3]}_loss" if match[3] else None,
        metrics=as_json({k: v for k, v in clock.items() if v is not None and math.isfinite(v)}),
        tokens_per_s=scaled(match[8]) if match[8] else None,
    )


def _pipe(line: Line, match: re.Match[str]) -> ParsedRow | None:
    values: dict[str, float] = {}
    tokens: float | None = None
    epochs: str | None = None
    for raw in match[3].split("|"):
        part = raw.strip()
        if speed := _SPEED.match(part):
            tokens = scaled((speed["value"] or speed["value2"]).replace(" ", "").replace("k", "K"))
        elif epoch := _EPOCH_FIELD.match(part):
            values.setdefault("epoch", float(epoch[1]))
            epochs = epochs or epoch[2]
        elif (field := _PIPE_FIELD.match(part)) and (value := number(field["value"])) is not None:
            values.setdefault(
                field["key"].strip().lower(), value / 1000 if (field["unit"] or "").strip() == "ms" else value
            )
    name = next((n for n in _LOSS if n in values), None)
    before = line.text[: match.start() + 1]
    if name is None or _EPOCH.search(before):
        return None
    loss = values.pop(name)
    if (both := step_and_wait(line.text)) is not None:
        values["dt"], values["data_time"] = both
    return line.step(
        "nanochat" if "lrm" in values else "custom-pipe",
        split="eval" if _HELD_OUT.search(before) else "train",
        step=int(match[1]),
        total_steps=int(match[2]) if match[2] else None,
        epoch=values.pop("epoch", None),
        total_epochs=float(epochs) if epochs else None,
        loss=loss,
        loss_name=name,
        grad_norm=next((values.pop(k) for k in _GRAD if k in values), None),
        learning_rate=next((values.pop(k) for k in _RATE if k in values), None),
        step_time_s=values.pop("dt", None),
        tokens_per_s=tokens,
        metrics=as_json(values),
    )

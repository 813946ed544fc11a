"""lightning: the bars of PyTorch Lightning, TQDM and Rich, and of NeMo on top of it.

SOURCE    TQDMProgressBar and RichProgressBar of pytorch_lightning and lightning; NeMo 1's and BioNeMo's bars
ROWS      train_step (one for each state of the bar that shows a new batch), train_plan, train_end
CAVEAT    the step is the bar's: batches of this epoch, before Lightning 2 with the validation batches at its end; NeMo's
          global_step is rounded to two digits and is not used. A bar that is called `Steps` (diffusers) counts those of the whole run
EXAMPLES
    Epoch 3: 100%|██████████| 938/938 [00:10<00:00, 88.20it/s, v_num=0, train_loss=0.101]
    Epoch 0:   3%|▎  | 34103/1100000 [5:28:58<171:22:21,  1.73it/s, loss=2.52, v_num=, reduced_train_loss=2.510]
    Epoch 0: :  40%|████      | 8/20 [05:21<08:02, reduced_train_loss=9.870, global_step=7.000, lr=2e-5]
    Epoch 2/30 [Train]:  49%|████▉     | 25/51 [00:26<00:24,  1.05it/s, loss=0.74]
    Steps:  62%|██████▎   | 1862/3000 [27:56<17:04,  1.11it/s, step_loss=0.0412, lr=3.7e-5]
    train 2/10:  49%|████▉     | 25/51 [00:26<00:24,  1.05it/s, Loss=0.74, acc=0.81]
    50%|████▉     | 25/50 [00:10<00:05,  5.1it/s, epoch=1/10, avg_epoch_loss=3.91]
    Epoch 1: |          | 240/? [00:21<00:00, 11.30it/s, v_num=4, train_loss=0.412]
    Epoch 1: : 3it [00:12,  4.10s/it, v_num=4, reduced_train_loss=0.812]
    Epoch 0/9  ━━━━━━━━━━━━━━━━━━━━ 938/938 0:00:10 • 0:00:00 88.20it/s v_num: 0.000 train_loss: 0.101
    `Trainer.fit` stopped: `max_epochs=10` reached.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any, ClassVar

from collector.parsers.base import Line, LineParser, ParsedRow
from collector.parsers.values import NUMBER, as_json, number
from collector.parsers.wording import Steps
from store import lazy

# The epoch as loops of all languages write it before a bar; a word for the training may stand on either side of it.
_EPOCH = (
    r"(?:(?:Train(?:ing)?(?: step of)? )?\(?(?:[Ee]poch(?: |: ?| #)|(?:[ÉéEe]po(?:ca|que)|[ÉéEe]poka|Epoche|[Ээ]поха|エポック|에폭|第) ?)\[?(?P<epoch>\d{1,18})"
    r"(?: ?/ ?(?P<epochs>-?\d{1,9}))?[\])]{0,2}(?: ?(?:轮|輪|에폭))?(?:[ |,-]{0,3}[\[(]?(?:[Tt]rain(?:ing)?|训练|訓練)[\])]?)?(?:\s*:){0,2}\s*)?"
)
_RATE = r",\s+(?P<rate>[\d.?]+) ?(?P<unit>it/s|s/it)"
_POST = r"(?P<post>, [^\]]*)(?:\]|$)"
# NeMo's bars over Megatron leave the rate out; a data set without a length leaves the total, or all but a count of batches.
_TQDM = lazy.compile(
    _EPOCH + r"(?:\d{1,3}%\|?|\|)[^|\[\]]{0,300}?\|? *(?<!\d)(?P<n>\d{1,18})/(?P<total>\d{1,18}|\?) *"
    rf"\[(?P<elapsed>[\d:. a-z]+)<(?P<left>[\d:?. a-z,]+?)(?:{_RATE})?{_POST}"
)
_ENDLESS = lazy.compile(_EPOCH + rf"(?<!\d)(?P<n>\d{{1,18}})(?P<total>it) \[(?P<elapsed>[\d:. a-z]+){_RATE}{_POST}")
_RICH = lazy.compile(
    _EPOCH
    + r"[━╸╺─]{3,} *(?P<n>\d{1,18})/(?P<total>\d{1,18}) +(?P<elapsed>\d{1,18}:\d\d:\d\d) • (?P<left>[\d:-]+) +(?P<rate>[\d.]+)(?P<unit>it/s)(?P<post>.*)"
)
_OF_EPOCHS = lazy.compile(
    r"(?i)(?<![a-z])train(?:ing)?[\s:\[(]{1,3}(?P<epoch>\d{1,9}) ?/ ?(?P<epochs>\d{1,9})[\])]?\W*\Z"
)
_EPOCH_BEHIND = lazy.compile(r"(?i)[, ]epoch[=:] ?(?P<epoch>\d{1,9})(?: ?/ ?(?P<epochs>\d{1,9}))?(?=[,\]]|$)")
_PAIR = lazy.compile(rf"(?P<key>[A-Za-z_][\w/. -]{{0,60}}?) ?[=:] ?(?P<value>{NUMBER})(?=[,\s\]]|$)")
_STOPPED = lazy.compile(
    r"`?Trainer\.fit`? stopped: (?:No training batches|`?(?P<what>max_\w+|min_\w+)=(?P<value>[^` ]+)`? reached)"
)
_WHOLE = lazy.compile(r"(?:^|[\r:\]>] ?)\s*(?:(?:[Tt]rain(?:ing)?|[Oo]ptimi[sz]ation) )?[Ss]teps ?:\s*\Z")
_OTHER = lazy.compile(r"(?:Validat|Sanity|Testing|Predict)\w*")
# Without an epoch just before it: how a bar of a loop that trains is described. One without a description may be anything's.
_TRAINS = lazy.compile(
    r"(?i)^(?!.*(?<![a-z])(?:val|valid\w*|eval\w*|test\w*|dev|infer\w*|predict\w*|sampl\w*|generat\w*|calibrat\w*|quanti\w*)(?![a-z])).*"
    r"(?<![a-z])(?:train(?:ing)?|fit(?:ting)?|fine-?tun(?:e|ing)|pre-?train(?:ing)?|epochs?)(?![a-z])[^|%]{0,60}\Z"
)
# Users name a metric by its split first (val/loss) or last (loss/val, loss_val).
_HELD_OUT = lazy.compile(r"(?i)(?:^|[_/ .-])(?:val|valid|validation|test|eval|dev)(?![A-Za-z])")
LOSSES = ("loss", "train_loss", "train/loss", "loss_step", "train_loss_step", "train/loss_step", "reduced_train_loss")
_OF_STEP = ("reduced_train_loss", "loss_step", "train_loss_step", "train/loss_step")


_Place = tuple[float | None, int, float | None]
"""The epoch and the batch of a bar; where it has no epoch its loss as well, for the next epoch's bar ends alike."""


class Lightning(LineParser):
    """Bars whose postfix holds a training loss."""

    name: ClassVar[str] = "lightning"
    anchors: ClassVar[tuple[str, ...]] = (
        "v_num",
        "oss=",
        "oss:",
        "oss_",
        "loss/train=",
        " • ",
        "Trainer.fit",
    )

    alone: ClassVar[bool] = True  # but for a bar that is printed again, which `fresh` tells

    def __init__(self) -> None:
        self._last: _Place | None = None

    @staticmethod
    def ignores(text: str) -> bool:
        """Lines that are neither bars nor Lightning's last words."""
        return "Trainer.fit" not in text and not _may_be_bar(text)

    def fresh(self, steps: Steps) -> int:
        """How many of these rows come before the first that only repeats its forerunner."""
        last = self._last
        for count, at in enumerate(_places(steps)):
            if at == last:
                return count
            last = at
        return len(steps.columns["step"])

    def took(self, steps: Steps) -> None:
        """These rows were given."""
        for at in _places(steps):
            self._last = at

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line (or one carriage-return segment)."""
        if "Trainer.fit" in line.text:
            if match := _STOPPED.search(line.text):
                yield _stopped(line, match)
            return
        if not _may_be_bar(line.text):
            return
        match = _TQDM.search(line.text) or _ENDLESS.search(line.text) or _RICH.search(line.text)
        if match is None or _OTHER.search(line.text[: match.start()]):
            return
        row = self._bar(line, match)
        if row is not None:
            yield row

    def _bar(self, line: Line, match: re.Match[str]) -> ParsedRow | None:
        values = {m["key"].strip(): v for m in _PAIR.finditer(match["post"]) if (v := number(m["value"])) is not None}
        known = "v_num" in match["post"]
        n, epoch = int(match["n"]), int(match["epoch"]) if match["epoch"] else None
        name = _loss_name(values)
        whole = epoch is None and _WHOLE.search(line.text, 0, match.start()) is not None
        if n == 0 or name is None:
            return None
        described = line.text[: match.start()][-120:]
        behind = _EPOCH_BEHIND.search(match["post"])
        if not (known or whole or epoch is not None or behind or _TRAINS.search(described)):
            return None
        epochs = match["epochs"]
        if epoch is None and (of := _OF_EPOCHS.search(described) or behind) is not None:
            epoch, epochs = int(of["epoch"]), of["epochs"]
        at = (epoch, n, None if epoch is not None else values[name])
        if self._last == at:
            return None
        self._last = at
        nemo = "reduced_train_loss" in values or "consumed_samples" in values
        rate = number(match["rate"])
        each = None if not rate else (rate if match["unit"] == "s/it" else 1 / rate)
        values.pop("v_num", None)
        loss = values.pop(name)
        total = int(match["total"]) if match["total"].isdigit() else None
        if total is not None and not nemo and not whole:
            values["batches"] = total
        return line.step(
            "nemo" if nemo else "lightning" if known else "tqdm",
            step=n,
            total_steps=total if nemo or whole else None,
            epoch=None if epoch is None else float(epoch),
            total_epochs=float(epochs) if epochs and int(epochs) > 0 and match.re.pattern == _TQDM.pattern else None,
            loss=loss,
            loss_name=name,
            grad_norm=next((values[k] for k in ("grad_norm", "train/grad_norm", "gradient_norm") if k in values), None),
            learning_rate=next((values[k] for k in ("lr", "learning_rate", "train/lr") if k in values), None),
            step_time_s=each,
            metrics=as_json(values),
        )


def _may_be_bar(text: str) -> bool:
    """Whether a line has what every bar has: a rate or a percentage, and how its time or its count is written."""
    return ("%|" in text or "it/s" in text or "s/it" in text) and ("<" in text or "it [" in text or " • " in text)


def _places(steps: Steps) -> Iterable[_Place]:
    """The place of each row."""
    batches = steps.columns["step"]
    epochs, losses = (steps.columns.get(key) or [steps.constants.get(key)] * len(batches) for key in ("epoch", "loss"))
    for epoch, batch, loss in zip(epochs, batches, losses, strict=True):
        yield epoch, batch, None if epoch is not None else loss


def _loss_name(values: dict[str, float]) -> str | None:
    if math.isnan(values.get("loss", 0.0)):
        # Before Lightning 2 the bar smooths a loss of its own: a module that steps its optimizer by itself gives it none,
        # and it stays NaN beside the loss that the module logs. An epoch's mean is no such witness: it may be the last one's.
        for name in _OF_STEP:
            if math.isfinite(values.get(name, math.nan)):
                return name
    for name in LOSSES:
        if name in values:
            return name
    train = [k for k in values if "loss" in k.lower() and not _HELD_OUT.search(k)]
    for wanted in (r"(?:train|training|tr)\w*[_/ .]", r".*[_/ .-](?:train|training|tr)(?:[_/ .-]|$)", ""):
        for key in train:
            if re.match(wanted, key):
                return key
    return None


def _stopped(line: Line, match: re.Match[str]) -> ParsedRow:
    what, value = match["what"], number(match["value"]) if match["value"] else None
    fields: dict[str, Any] = {"severity": "info", "framework": "lightning"}
    if what == "max_epochs" and value is not None:
        fields["total_epochs"] = value
    if what == "max_steps" and value is not None:
        fields["total_steps"] = int(value)
    if what is None:  # the loader was empty
        fields["step"] = 0
    return line.event("train_end", what or "no_training_batches", **fields)

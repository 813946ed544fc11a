"""paddle: the progress lines of PaddlePaddle's suites (PaddleSeg, PaddleOCR and OpenOCR, PaddleClas, PaddleDetection, PaddleNLP) and first releases.

ROWS      train_step
CAVEAT    PaddleClas and PaddleDetection count batches within an epoch, the first releases within a pass; the sums at an epoch's end
          and evaluation lines are left out
EXAMPLES
    2021-05-01 09:00:07 [INFO]	[TRAIN] epoch: 1, iter: 40/900, loss: 1.8120, lr: 0.009100, batch_cost: 0.3483, reader_cost: 0.00205, ips: 5.7 samples/sec
    [2024/05/01 09:00:07] ppocr INFO: epoch: [1/9], global_step: 40, lr: 0.000005, loss: 9.376, avg_reader_cost: 0.00971 s, avg_batch_cost: 0.18023 s
    [05/01 09:00:07] ppdet.engine.callbacks INFO: Epoch: [0] [ 40/900] learning_rate: 0.000029 loss: 4.504 eta: 1:00:00 batch_cost: 0.1664 data_cost: 0.0034
    2021-05-01 09:00:07 INFO: epoch:0  , train step:40  , loss: 6.9260, top1: 0.00, lr: 0.100000, batch_cost: 0.28419 s, reader_cost: 0.00056 s
    I0203 11:18:44.281013  7409 TrainerInternal.cpp:165]  Batch=300 samples=19200 AvgCost=0.136428 CurrentCost=0.1003 Eval: error=0.05
    Pass 0, Batch 100, Cost 0.135233, {'classification_error_evaluator': 0.0546875}
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from collector.parsers.base import Line, LineParser, ParsedRow
from collector.parsers.values import NUMBER, as_json, number
from store import lazy

_EPOCH = lazy.compile(r"\b[Ee]poch[:=] ?\[?(?P<epoch>\d{1,9})(?:/(?P<epochs>\d{1,9}))?\]?")
_STEP = lazy.compile(r"\b(?P<word>global_step|iter|step)[:=] ?(?P<n>\d{1,12})(?:/(?P<total>\d{1,12}))?(?![\d.])")
_BATCH = lazy.compile(r"[Ee]poch: \[\d{1,9}\] \[ *(?P<n>\d{1,12})/(?P<total>\d{1,12})\]")
_PAIR = lazy.compile(rf"(?<![\w/])(?P<key>[A-Za-z_]\w*)[:=] ?(?P<value>{NUMBER})(?![\w:/])")
_NOT = lazy.compile(r"\b(?:END|valid|eval|EVAL|test|TEST)\b")
# Up to 0.13: the trainer's own line (the mean of the pass, and that since the last line), and the handler that its book shows.
_FIRST = lazy.compile(
    rf"\bBatch=(?P<batch>\d{{1,12}}) samples=\d{{1,15}} AvgCost={NUMBER} CurrentCost=(?P<loss>{NUMBER})"
    rf"|\b[Pp]ass:? (?P<epoch>\d{{1,9}}), Batch:? (?P<n>\d{{1,12}}), (?:Train)?Cost:? (?P<cost>{NUMBER})(?![\w%])"
)


class Paddle(LineParser):
    """One line, one report."""

    name: ClassVar[str] = "paddle"
    anchors: ClassVar[tuple[str, ...]] = ("batch_cost", "Cost")

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        text = line.text
        if "batch_cost" not in text:
            return _first(line)
        epoch, batch = _EPOCH.search(text), _BATCH.search(text)
        step = batch or _STEP.search(text)
        if step is None or len(text) > 2000 or _NOT.search(text[: step.end()]):
            return ()
        values: dict[str, float] = {}
        for pair in _PAIR.finditer(text, step.end()):
            if (value := number(pair["value"])) is not None:
                values.setdefault(pair["key"], value)
        if "loss" not in values:
            return ()
        cost = {k.removeprefix("avg_"): v for k, v in values.items()}
        total = int(step["total"]) if step["total"] else None
        waiting = cost.get("reader_cost", cost.get("data_cost"))
        metrics: dict[str, float | int] = {} if waiting is None else {"data_time": waiting}
        if batch and total:
            metrics["batches"] = total
        return [
            line.step(
                "paddle",
                epoch=float(epoch["epoch"]) if epoch else None,
                total_epochs=float(epoch["epochs"]) if epoch and epoch["epochs"] else None,
                step=int(step["n"]),
                total_steps=None if batch else total,
                loss=values["loss"],
                loss_name="loss",
                learning_rate=values.get("lr", values.get("learning_rate")),
                grad_norm=values.get("grad_norm"),
                step_time_s=cost.get("batch_cost"),
                metrics=as_json(metrics),
            )
        ]


def _first(line: Line) -> Iterable[ParsedRow]:
    found = _FIRST.search(line.text)
    if found is None:
        return ()
    return [
        line.step(
            "paddle",
            epoch=float(found["epoch"]) if found["epoch"] else None,
            step=int(found["batch"] or found["n"]),
            loss=number(found["loss"] or found["cost"]),
            loss_name="cost",
        )
    ]

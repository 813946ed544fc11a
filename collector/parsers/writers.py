"""writers: progress by rules of its own: clu (Flax, JAX), torch_xla, llama.cpp, darknet, TensorFlow 1's loops, LitGPT, mmcv's JSON.

ROWS      train_step (split train or eval)
CAVEAT    clu and torch_xla print a line for every process or device; darknet's regions are `-nan` where no object fell into them
EXAMPLES
    I1002 21:38:13.425730 139917864867392 logging_writer.py:48] [400] steps_per_second=1.58, train_learning_rate=0.35, train_loss=3.21
    | Training Device=xla:0/5 Epoch=1 Step=60 Loss=0.33138 Rate=461.75 GlobalRate=97.36 Time=01:51:37
    2677: 0.576849, 0.677636 avg loss, 0.002000 rate, 3.992994 seconds, 1320064 images
    INFO:tensorflow:loss = 0.3729, step = 1600 (12.720 sec)          and: global step 161: loss = 0.3729 (1.720 sec/step)
    Epoch 1 | iter 4 step 1 | loss train: 1.585, val: n/a | iter time: 181.34 ms (step)
    {"mode": "train", "epoch": 2, "iter": 325, "lr": 0.02, "memory": 5693, "data_time": 0.098, "loss": 0.55801, "time": 0.43141}
    train_opt_callback: iter=    70 sample=72/5608 sched=0.700000 loss=4.948237 dt=00:04:59 eta=03:29:33 |----->
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import ClassVar

from collector.parsers.base import Line, LineParser, ParsedRow
from collector.parsers.values import NUMBER, as_json, number, seconds
from store import lazy

_CLU = lazy.compile(r"(?:logging_writer|metric_writers?)\.py:\d+\] \[(?P<step>\d{1,12})\] (?P<rest>\w[^{}]*)$")
_XLA = lazy.compile(
    rf"\| Training Device=\S+ (?:Epoch=(?P<epoch>\d{{1,9}}) )?Step=(?P<step>\d{{1,12}}) Loss=(?P<loss>{NUMBER}) Rate=(?P<rate>{NUMBER})"
)
_LLAMA = lazy.compile(
    rf"train_opt_callback: iter= *(?P<step>\d{{1,12}}) .*?\bloss=(?P<loss>{NUMBER})(?: dt=(?P<took>[\d:]+))?"
)
_DARKNET = lazy.compile(
    rf"(?:^|\| )\s*(?P<step>\d{{1,9}}): (?P<loss>{NUMBER}), {NUMBER} avg(?: loss)?, (?P<rate>{NUMBER}) rate, (?P<took>{NUMBER}) seconds, \d+ images"
)
_SLIM = lazy.compile(rf"\bglobal step (?P<step>\d{{1,12}}): loss = (?P<loss>{NUMBER}) \((?P<took>{NUMBER}) sec/step\)")
_ESTIMATOR = lazy.compile(
    rf"^(?:INFO:tensorflow:|I\d{{4}} .{{1,80}}\] )loss = (?P<loss>{NUMBER}), step = (?P<step>\d{{1,12}})\b"
)
_LITGPT = lazy.compile(
    rf"^Ep(?:och)? (?P<epoch>\d{{1,9}}) \| iter \d+ (?:\| )?step (?P<step>\d{{1,12}})(?: \||:) loss train(?: \(curr\))?: (?P<loss>{NUMBER})",
    re.I,
)
_ITEM = lazy.compile(rf'"(?P<key>\w+)": "?(?P<value>{NUMBER})"?(?=[,}}])')
_PAIR = lazy.compile(rf"(?P<key>[A-Za-z_]\w*)=(?P<value>{NUMBER})(?=[,\s]|$)")


class Writers(LineParser):
    """One line, one report."""

    name: ClassVar[str] = "writers"
    anchors: ClassVar[tuple[str, ...]] = (
        "_writer",
        "Training Device=",
        "train_opt_callback: ",
        " seconds, ",
        "global step ",
        ", step = ",
        "loss train",
        '{"mode": "',
    )

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        if found := _LLAMA.search(line.text):
            return [
                line.step(
                    "llama.cpp",
                    step=int(found["step"]),
                    loss=number(found["loss"]),
                    loss_name="loss",
                    step_time_s=seconds(found["took"]) if found["took"] else None,
                )
            ]
        if found := _XLA.search(line.text):
            return [
                line.step(
                    "torch_xla",
                    epoch=float(found["epoch"]) if found["epoch"] else None,
                    step=int(found["step"]),
                    loss=number(found["loss"]),
                    loss_name="loss",
                    samples_per_s=number(found["rate"]),
                )
            ]
        if line.text.startswith('{"mode": "'):
            return self._mmcv(line)
        for framework, pattern in (
            ("darknet", _DARKNET),
            ("tensorflow", _SLIM),
            ("tensorflow", _ESTIMATOR),
            ("litgpt", _LITGPT),
        ):
            if found := pattern.search(line.text):
                got = found.groupdict()
                return [
                    line.step(
                        framework,
                        epoch=number(got.get("epoch")),
                        step=int(got["step"]),
                        loss=number(got["loss"]),
                        loss_name="loss",
                        learning_rate=number(got.get("rate")),
                        step_time_s=number(got.get("took")),
                    )
                ]
        return self._clu(line)

    def _mmcv(self, line: Line) -> Iterable[ParsedRow]:
        values = {m["key"]: number(m["value"]) for m in _ITEM.finditer(line.text)}
        epoch, step, loss = values.get("epoch"), values.get("iter"), values.get("loss")
        if epoch is None or step is None or loss is None:
            return
        waiting = values.get("data_time")
        yield line.step(
            "mmcv",
            split="train" if line.text.startswith('{"mode": "train"') else "eval",
            epoch=epoch,
            step=int(step),
            loss=loss,
            loss_name="loss",
            grad_norm=values.get("grad_norm"),
            learning_rate=values.get("lr"),
            step_time_s=values.get("time"),
            metrics=as_json({} if waiting is None else {"data_time": waiting}),
        )

    def _clu(self, line: Line) -> Iterable[ParsedRow]:
        found = _CLU.search(line.text)
        if found is None:
            return
        values = {m["key"]: number(m["value"]) for m in _PAIR.finditer(found["rest"])}
        for split, names in (("train", ("train_loss", "loss")), ("eval", ("eval_loss", "test_loss", "val_loss"))):
            name = next((n for n in names if values.get(n) is not None), None)
            if name is None:
                continue
            own = {k.removeprefix("train_"): v for k, v in values.items()} if split == "train" else {}
            rate = values.get("steps_per_second")
            yield line.step(
                "clu",
                split=split,
                step=int(found["step"]),
                loss=values[name],
                loss_name=name,
                learning_rate=own.get("learning_rate", own.get("lr")),
                grad_norm=own.get("grad_norm"),
                step_time_s=1 / rate if rate and split == "train" else None,
            )

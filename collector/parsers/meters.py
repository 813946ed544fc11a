"""meters: loops that print running averages: MetricLogger of torchvision's references, DETR and DeiT; the ImageNet example.

SOURCE    references/*/utils.py of torchvision (copied by DETR, DeiT, BEiT, MAE); examples/imagenet/main.py of PyTorch
ROWS      train_step (split train or eval)
CAVEAT    the figure before the bracket is the latest, the one inside is the average of the epoch: the latest is taken
EXAMPLES
    Epoch: [12]  [ 810/1251]  eta: 0:05:12  lr: 0.000981  loss: 3.9121 (4.0213)  time: 0.7011  data: 0.0003  max mem: 8711
    Epoch: [0][  10/5005]	Time  0.321 ( 1.301)	Data  0.001 ( 0.901)	Loss 7.0321e+00 (7.0221e+00)	Acc@1   0.00 (  0.11)
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from collector.parsers.base import Line, LineParser, ParsedRow
from collector.parsers.values import NUMBER, as_json, number
from store import lazy

_LOGGER = lazy.compile(
    r"(?P<what>Epoch: \[(?P<epoch>\d{1,18})(?:/\d+)?\]|Test:) +\[ *(?P<n>\d{1,18})/(?P<total>\d{1,18})\] +eta: (?P<rest>.+)"
)
_EXAMPLE = lazy.compile(
    r"(?P<what>Epoch: \[(?P<epoch>\d{1,18})(?:/\d+)?\]|Test:) ?\[ *(?P<n>\d{1,18})/(?P<total>\d{1,18})\]\s+(?P<rest>.+)"
)
_METER = lazy.compile(
    rf"(?:^|[\s,])(?P<key>[A-Za-z][\w@/.-]*(?: mem)?):? +(?P<last>{NUMBER})(?: \( *(?P<mean>{NUMBER})\))?(?=[\s,]|$)"
)
_KEEP = frozenset({"loss_scale", "class_error", "acc1", "acc@1", "acc@5", "mae", "rmse"})


class Meters(LineParser):
    """One line, one report of the meters."""

    name: ClassVar[str] = "meters"
    anchors: ClassVar[tuple[str, ...]] = ("Epoch: [", "Test: ")

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        text = line.text
        if "batch_cost" in text:  # Paddle's
            return ()
        match = _LOGGER.search(text)
        framework = "torchvision" if match else "imagenet-example"
        match = match or _EXAMPLE.search(text)
        if match is None:
            return ()
        values: dict[str, float] = {}
        for meter in _METER.finditer(match["rest"]):
            if (value := number(meter["last"])) is not None:
                values.setdefault(meter["key"].lower(), value)
        if "loss" not in values:
            return ()
        train = match["epoch"] is not None
        return [
            line.step(
                framework,
                split="train" if train else "eval",
                epoch=float(match["epoch"]) if train else None,
                step=int(match["n"]),
                loss=values["loss"],
                loss_name="loss",
                grad_norm=values.get("grad_norm"),
                learning_rate=values.get("lr", values.get("learning_rate")),
                step_time_s=values.get("time"),
                metrics=as_json({"batches": int(match["total"]), **_kept(values)}),
            )
        ]


def _kept(values: dict[str, float]) -> dict[str, float]:
    kept = {k: v for k, v in values.items() if k in _KEEP}
    return kept if "data" not in values else {**kept, "data_time": values["data"]}

"""toolkits: progress lines of OpenNMT-py, MLX, MaxText, of bars that are logged as lines, and of PyTorch's language model example and Transformer-XL after it.

SOURCE    onmt/utils/statistics.py; mlx_lm/tuner/trainer.py; MaxText's metric_logger.py; word_language_model/main.py; tqdm_loggable (Levanter)
ROWS      train_step (split train or eval)
CAVEAT    OpenNMT prints cross entropy as xent
EXAMPLES
    [2023-03-02 10:10:25,001 INFO] Step 5000/100000; acc:  41.22; ppl:  24.11; xent: 3.18; lr: 0.00099; 18112/19231 tok/s;  1691 sec
    Iter 10: Train loss 2.929, Learning Rate 4.000e-06, It/sec 0.576, Tokens/sec 98.498, Trained Tokens 1863, Peak mem 5.419 GB
    | epoch   1 |   200/ 2983 batches | lr 20.00 | ms/batch  8.12 | loss  7.63 | ppl  2058.10
    Progress on:train 120.0it/10.0kit rate:1.3it/s remaining:2:13:00 elapsed:01:32 postfix:loss=10.8
    completed step: 410, seconds: 3.211, TFLOP/s/device: 181.402, Tokens/s/device: 5102.114, total_weights: 524288, loss: 4.812
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import ClassVar

from collector.parsers.base import Line, LineParser, ParsedRow
from collector.parsers.values import NUMBER, as_json, number, scaled
from store import lazy

_NMT = lazy.compile(
    rf"\bStep +(\d{{1,18}})/ *(\d{{1,18}}); +acc: +({NUMBER}); +ppl: +({NUMBER}); +xent: +({NUMBER}); +lr: +({NUMBER}); +({NUMBER})/ *{NUMBER} tok/s"
)
_MLX = lazy.compile(
    rf"(?:^|\]\s{{0,4}})Iter (\d{{1,18}}): (Train|Val) loss ({NUMBER})(?:, Learning Rate ({NUMBER}), It/sec ({NUMBER}), Tokens/sec ({NUMBER}))?"
)
_MAX = lazy.compile(
    rf"\bcompleted step: (\d{{1,18}}), (?:seconds|step_time_seconds): ({NUMBER}),.*?(?:Tokens/s/device: ({NUMBER}),.*?)?\bloss: ({NUMBER})"
)
# Counts have a magnitude once they are large: 1.20kit. What is no training has another word behind `on:`.
_LOGGED = lazy.compile(
    rf"\bProgress on:\s?(?P<what>\w[\w ./-]{{0,40}}?) (?P<n>\d[\d.]{{0,9}}[kMG]?)it/(?P<total>\d[\d.]{{0,9}}[kMG]?|\?|-)(?:it)? rate:(?P<rate>[\d.]+|\?|-) ?(?P<unit>it/s|s/it)?"
    rf".{{0,80}}?\bpostfix:(?:.{{0,200}}?[ ,])?(?P<name>(?:train[/_])?loss)=(?P<loss>{NUMBER})"
)
_LM = lazy.compile(
    rf"^\| epoch +(?P<epoch>\d{{1,7}}) (?:step +(?P<step>\d{{1,12}}) )?\| +(?P<n>\d{{1,12}})(?:/ *(?P<of>\d{{1,12}}))? batches \| lr (?P<lr>{NUMBER})"
    rf" \| ms/batch +(?P<ms>{NUMBER}) \| loss +(?P<loss>{NUMBER})(?: \| (?:ppl|bpc) +(?P<ppl>{NUMBER}))?"
)


class Toolkits(LineParser):
    """One line, one report."""

    name: ClassVar[str] = "toolkits"
    anchors: ClassVar[tuple[str, ...]] = (
        " xent: ",
        "Train loss ",
        "Val loss ",
        "completed step: ",
        "Progress on:",
        " batches | lr ",
    )

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        text = line.text
        if " xent: " in text and (match := _NMT.search(text)):
            return [
                line.step(
                    "opennmt",
                    step=int(match[1]),
                    total_steps=int(match[2]),
                    loss=number(match[5]),
                    loss_name="xent",
                    learning_rate=number(match[6]),
                    tokens_per_s=number(match[7]),
                    metrics=as_json({"acc": number(match[3]), "ppl": number(match[4])}),
                )
            ]
        if match := _LM.match(text):
            each = number(match["ms"])
            batches = {"batches": float(match["of"])} if match["of"] else {}
            return [
                line.step(
                    "pytorch-lm",
                    step=int(match["step"] or match["n"]),
                    epoch=float(match["epoch"]),
                    loss=number(match["loss"]),
                    loss_name="loss",
                    learning_rate=number(match["lr"]),
                    step_time_s=each / 1000 if each is not None else None,
                    metrics=as_json({**batches, **({"ppl": number(match["ppl"])} if match["ppl"] else {})}),
                )
            ]
        if match := _MLX.search(text):
            each = number(match[5]) if match[5] else None
            return [
                line.step(
                    "mlx",
                    split="train" if match[2] == "Train" else "eval",
                    step=int(match[1]),
                    loss=number(match[3]),
                    loss_name=f"{match[2]} loss",
                    learning_rate=number(match[4]) if match[4] else None,
                    step_time_s=1 / each if each else None,
                    tokens_per_s=number(match[6]) if match[6] else None,
                )
            ]
        if match := _LOGGED.search(text):
            return _logged(line, match)
        if match := _MAX.search(text):
            return [
                line.step(
                    "maxtext",
                    step=int(match[1]),
                    loss=number(match[4]),
                    loss_name="loss",
                    step_time_s=number(match[2]),
                    metrics=as_json({"tokens_per_s_per_device": number(match[3])} if match[3] else {}),
                )
            ]
        return ()


def _logged(line: Line, match: re.Match[str]) -> Iterable[ParsedRow]:
    if not re.search(r"(?i)train", match["what"]):
        return []
    n, total, rate = scaled(match["n"].upper()), scaled(match["total"].upper()), number(match["rate"])
    if n is None:
        return []
    return [
        line.step(
            "tqdm",
            step=round(n),
            total_steps=None if total is None else round(total),
            loss=number(match["loss"]),
            loss_name=match["name"],
            step_time_s=None if not rate else rate if match["unit"] == "s/it" else 1 / rate,
        )
    ]

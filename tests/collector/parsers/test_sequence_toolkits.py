"""Progress of toolkits for speech and translation (sequence_toolkits), and of diffusion through the baselines' logger."""

from __future__ import annotations

from typing import Any

import pytest

from collector.parsers.base import parse_text
from collector.parsers.registry import parser_types
from store.rows import TrainStep

LINES: list[tuple[str, str, dict[str, Any]]] = [
    (
        "wenet",
        "2026-05-11 10:00:26,102 DEBUG TRAIN Batch 2/400 loss 9.250000 loss_att 7.5 loss_ctc 12.5 lr 0.00050000 rank 0",
        {"split": "train", "epoch": 2.0, "step": 400, "total_steps": None, "loss": 9.25, "learning_rate": 0.0005},
    ),
    (
        "wenet",
        "2026-05-11 10:00:26,102 DEBUG TRAIN | steps/sec 1.500| Batch 2/400 loss 9.25 loss_ctc 12.5 lr 5.0e-04 grad_norm 1.75 rank 0",
        {"step": 400, "loss": 9.25, "learning_rate": 0.0005, "grad_norm": 1.75},
    ),
    (
        "wenet",
        "2026-05-11 10:00:26,102 DEBUG CV Batch 2/400 loss 9.250000 loss_att 7.5 history loss 9.5 rank 0",
        {"split": "eval", "step": 400, "loss": 9.25},
    ),
    (
        "kaldi",
        "2026-05-11 10:00:26,102 [steps/nnet3/chain/train.py:529 - train - INFO ] Iter: 12/640   Jobs: 3   Epoch: 0.25/6.0 (4.1% complete)   lr: 0.001500   ",
        {"step": 12, "total_steps": 640, "epoch": 0.25, "total_epochs": 6.0, "loss": None, "learning_rate": 0.0015},
    ),
    (
        "marian",
        "[2026-05-11 10:00:26] Ep. 2 : Up. 4000 : Sen. 312,412 : Cost 5.25000000 * 3,121,412 @ 31,213 after 41,231,412 : Time 121.31s : 31213.41 words/s : gNorm 1.7500 : L.r. 1.5000e-04",
        {"epoch": 2.0, "step": 4000, "loss": 5.25, "grad_norm": 1.75, "learning_rate": 1.5e-4},
    ),
    ("tacotron2", "Train loss 250 0.437500 Grad Norm 1.750000 3.12s/it", {"step": 250, "loss": 0.4375, "grad_norm": 1.75}),
    (
        "tensorflow-nmt",
        "  step 400 lr 1 step-time 0.41s wps 12.41K ppl 250.50 gN 6.25 bleu 0.00, Thu May 11 10:00:26 2026",
        {"step": 400, "loss": 250.5, "loss_name": "ppl", "learning_rate": 1.0, "grad_norm": 6.25, "step_time_s": 0.41},
    ),
    (
        "tensorflow-nmt",
        "global step 600 learning rate 0.5000 step-time 0.94 perplexity 812.50",
        {"step": 600, "loss": 812.5, "loss_name": "perplexity", "learning_rate": 0.5},
    ),
    (
        "returnn",
        "ep 3 train, step 41, ce 5.250, ctc_4 6.127, fer 0.871, num_seqs 12, max_size:time 250400, mem_usage:cuda:2 6.2GB, 0.500 sec/step, elapsed 0:01:07, exp. remaining 0:04:22, complete 20.41%",
        {"split": "train", "epoch": 3.0, "step": 41, "loss": 5.25, "loss_name": "ce", "step_time_s": 0.5},
    ),
    (
        "returnn",
        "ep 3 dev, step 2, ce 5.500, fer 0.871, mem_usage:cuda 6.2GB, 0.200 sec/step, elapsed 0:00:01, complete 90.00%",
        {"split": "eval", "epoch": 3.0, "step": 2, "loss": 5.5, "loss_name": "ce"},
    ),
    (
        "mxnet",
        "INFO:root:Epoch[3] Batch [500]\tSpeed: 997.50 samples/sec\taccuracy=0.125000\tcross-entropy=6.875000",
        {"epoch": 3.0, "step": 500, "loss": 6.875, "loss_name": "cross-entropy", "samples_per_s": 997.5},
    ),
    (
        "mxnet",
        "2026-05-11 10:00:26,102 Epoch[3] Batch [0-50]\tSpeed: 997.50 samples/sec\taccuracy=0.125000\tlr=0.050000",
        {"epoch": 3.0, "step": 50, "loss": None, "loss_name": None, "learning_rate": 0.05},
    ),
    (
        "mxnet",
        "[Epoch 2][Batch 99], LR: 1.00E-03, Speed: 33.250 samples/sec, CrossEntropy=1.250, SmoothL1=0.625",
        {"epoch": 2.0, "step": 99, "loss": None, "learning_rate": 0.001},
    ),
    (
        "mxnet",
        "[INFO:sockeye.training] Epoch[0] Batch [250]\tSpeed: 129.50 samples/sec 3690.25 tokens/sec 6.25 updates/sec\tperplexity=355.500000",
        {"epoch": 0.0, "step": 250, "loss": 355.5, "loss_name": "perplexity", "tokens_per_s": 3690.25},
    ),
    ("tacotron2", "Validation loss 1000:  0.437500  ", {"split": "eval", "step": 1000, "loss": 0.4375}),
]  # fmt: skip


def steps(text: str) -> list[TrainStep]:
    return [r for p in parser_types() for r in parse_text(p(), text) if isinstance(r, TrainStep)]


@pytest.mark.parametrize(("framework", "text", "want"), LINES)
def test_a_line_gives_its_numbers_once(framework: str, text: str, want: dict[str, Any]) -> None:
    (row,) = steps(text)
    assert (row.framework, {k: getattr(row, k) for k in want}) == (framework, want)


@pytest.mark.parametrize(
    "text",
    [
        "TRAIN Batch 2 of 400 has loss 9.25",
        "Iter: 12/640 of the alignment, Jobs: 3",
        "Ep. 2 : Up. 4000 : Sen. 312,412 : perplexity : 12.5",
        "Train loss is 0.4375 after 250 steps",
        "Train loss 0.4375",
        "Speedometer: 997.50 samples/sec\taccuracy=0.5",
        "mean step-time 0.41s at ppl 250.50",
    ],
)
def test_what_resembles_them_gives_none(text: str) -> None:
    assert not steps(text)


def test_diffusion_through_the_baselines_logger_tells_its_step() -> None:
    rule = "------------------------"
    cells = {
        "grad_norm ": "0.125",
        "loss      ": "0.75",
        "loss_q0   ": "2.5",
        "samples   ": "1.28e+04",
        "step      ": "400",
    }
    (row,) = steps("\n".join([rule, *(f"| {k} | {v} |" for k, v in cells.items()), rule]))
    assert (row.framework, row.step, row.loss, row.grad_norm) == ("guided-diffusion", 400, 0.75, 0.125)
    del cells["step      "]
    assert not steps("\n".join([rule, *(f"| {k} | {v} |" for k, v in cells.items()), rule]))

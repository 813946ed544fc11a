"""Progress of BasicSR and KAIR (restoration), ESPnet, Stable-Baselines, boosting libraries and PyTorch's language model example."""

from __future__ import annotations

import json
from typing import Any

import pytest

from collector.parsers.base import ParsedRow, parse_text
from collector.parsers.registry import parser_types
from store.rows import LogEvent, TrainStep


def rows(text: str) -> list[ParsedRow]:
    return [r for parser in parser_types() for r in parse_text(parser(), text)]


def steps(text: str) -> list[TrainStep]:
    return [r for r in rows(text) if isinstance(r, TrainStep)]


LINES: list[tuple[str, str, dict[str, Any]]] = [
    (
        "basicsr",
        "2026-02-10 10:00:36,120 INFO: [tiny_..][epoch:  4, iter:   1,200, lr:(1.250e-04,)] [eta: 1 day, 2:01:04, time (data): 0.375 (0.002)] l_pix: 2.5000e-02 l_percep: 1.5000e+00 ",
        {"step": 1200, "epoch": 4.0, "loss": 0.025, "loss_name": "l_pix", "learning_rate": 1.25e-4, "step_time_s": 0.375},
    ),
    (
        "kair",
        "26-01-26 19:34:37.769 : <epoch:  2, iter:   4,000, lr:2.500e-04> G_loss: 5.000e-03 ",
        {"step": 4000, "epoch": 2.0, "loss": 0.005, "loss_name": "G_loss", "learning_rate": 2.5e-4, "step_time_s": None},
    ),
    (
        "espnet",
        "[n1] 2026-10-01 10:01:02,345 (trainer:672) INFO: 3epoch:train:51-100batch: iter_time=0.2, loss_ctc=130.5, loss_att=80.25, acc=0.1, loss=95.5, grad_norm=2.5, optim0_lr0=2.5e-05, train_time=0.625",
        {"split": "train", "step": 100, "epoch": 3.0, "loss": 95.5, "grad_norm": 2.5, "learning_rate": 2.5e-5},
    ),
    (
        "espnet",
        "[n1] 2026-10-01 11:01:02,345 (trainer:331) INFO: 3epoch results: [train] iter_time=0.2, loss=80.5, time=30 minutes and 2.1 seconds, total_count=5000, [valid] loss_ctc=20.5, loss=18.5, time=1 minute and 2 seconds, [att_plot] time=2 seconds",
        {"split": "eval", "step": None, "epoch": 3.0, "loss": 18.5},
    ),
    ("xgboost", "[40]\ttrain-rmse:1.37500\ttrain-mae:0.5", {"split": "train", "step": 40, "loss": 1.375, "loss_name": "rmse"}),
    ("xgboost", "[7]     validation_0-rmse:31.25000", {"split": "eval", "step": 7, "loss": 31.25, "loss_name": "rmse"}),
    ("lightgbm", "[40]\tvalid_0's auc: 0.875\tvalid_0's binary_logloss: 0.25", {"split": "eval", "step": 40, "loss": 0.25}),
    (
        "pytorch-lm",
        "| epoch   2 |   400/ 2983 batches | lr 20.00 | ms/batch  8.00 | loss  6.25 | ppl   518.01",
        {"step": 400, "epoch": 2.0, "loss": 6.25, "learning_rate": 20.0, "step_time_s": 0.008},
    ),
    (
        "pytorch-lm",
        "| epoch   1 step     1400 |   1400 batches | lr 0.00025 | ms/batch 118.00 | loss  5.50 | ppl   244.692",
        {"step": 1400, "epoch": 1.0, "loss": 5.5, "learning_rate": 0.00025},
    ),
]  # fmt: skip


@pytest.mark.parametrize(("framework", "text", "want"), LINES)
def test_a_line_gives_its_numbers_once(framework: str, text: str, want: dict[str, Any]) -> None:
    (row,) = [r for r in steps(text) if r.loss is not None]
    assert (row.framework, {k: getattr(row, k) for k in want}) == (framework, want)


@pytest.mark.parametrize(
    "text",
    [
        "[12]\tprocessed-files:40",
        "[3]\ttest-auc:0.91",
        "Epoch: [0][14/5005]\tTime 0.154 (8.010)\tspeed-up:4",
        "120:\tlearn: 0.4789\ttest: 0.5012\tbest: 0.5003 (117)\ttotal: 1.2s\tremaining: 8.8s",
        "restarting at [epoch:  4, iter:   1,200, lr:(1.250e-04,)] psnr: 31.2",
        "3epoch:train:51-100batch: loss=95.5",
        "| time/ | a column of a table in a text |",
    ],
)
def test_what_resembles_them_or_is_no_loss_gives_none(text: str) -> None:
    assert [r for r in steps(text) if r.loss is not None] == []


def test_a_round_of_catboost_is_progress_without_a_loss() -> None:
    found = steps("120:\tlearn: 0.5\ttest: 0.75\tbest: 0.75 (117)\ttotal: 1.2s\tremaining: 8.8s")
    assert [(r.split, r.step, json.loads(r.metrics or "")) for r in found] == [
        ("train", 120, {"learn": 0.5}),
        ("eval", 120, {"test": 0.75}),
    ]


TABLE = """\
-------------------------------------
| rollout/           |              |
|    ep_len_mean     | 21.5         |
|    ep_rew_mean     | {reward}         |
| time/              |              |
|    fps             | 880          |
|    total_timesteps | {n}         |
| train/             |              |
|    learning_rate   | 0.00025      |
|    loss            | -0.125       |
|    n_updates       | 10           |
-------------------------------------
"""


def test_a_table_of_stable_baselines_is_one_report() -> None:
    found = steps(TABLE.format(n=2048, reward=20.5) + "Eval num_timesteps=3000\n" + TABLE.format(n=4096, reward=22.5))
    assert [(r.step, r.loss, r.learning_rate, r.objective) for r in found] == [
        (2048, -0.125, 0.00025, "rl"),
        (4096, -0.125, 0.00025, "rl"),
    ]
    assert json.loads(found[1].metrics or "")["ep_rew_mean"] == 22.5


@pytest.mark.parametrize(
    "text", [TABLE.format(n=2048, reward=1.5)[:-40], TABLE.replace("total_timesteps", "episodes       ")]
)
def test_a_table_that_is_cut_or_counts_no_time_steps_is_no_report(text: str) -> None:
    assert steps(text) == []


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Early stopping, best iteration is:", "early_stop"),
        ("Did not meet early stopping. Best iteration is:", "completed"),
        ("bestTest = 0.2345", "completed"),
    ],
)
def test_boosting_says_that_it_ends(text: str, name: str) -> None:
    ends = [r for r in rows(text) if isinstance(r, LogEvent) and r.kind == "train_end"]
    assert [e.name for e in ends] == [name]

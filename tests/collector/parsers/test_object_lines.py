"""Progress that a loop prints as objects: JSON lines and Python dicts."""

from __future__ import annotations

from typing import Any

import pytest

from collector.parsers.base import parse_text
from collector.parsers.object_lines import ObjectLines
from collector.parsers.registry import parser_types
from store.rows import TrainStep

READ: list[tuple[str, dict[str, Any]]] = [
    ('{"step": 40, "loss": 2.5, "lr": 0.0003}', {"step": 40, "loss": 2.5, "learning_rate": 3e-4}),
    ('{"step":40,"loss":2.5,"grad_norm":0.75}', {"step": 40, "loss": 2.5, "grad_norm": 0.75}),
    ('2026-03-01 10:00:26 INFO {"level": "info", "global_step": 40, "train_loss": 2.5, "tokens_per_sec": 41000.5}', {"step": 40, "loss": 2.5, "tokens_per_s": 41000.5}),
    ("{'step': 40, 'total_steps': 500, 'train/loss': 2.5}", {"step": 40, "total_steps": 500, "loss": 2.5, "split": "train"}),
    ('{"split": "val", "step": 40, "loss": 2.5}', {"step": 40, "split": "eval"}),
    ('{"step": 40, "val_loss": 2.5, "val_acc": 0.5}', {"split": "eval", "loss": 2.5, "loss_name": "val_loss"}),
    ('{"step":40,"loss":NaN,"lr":0.0003}', {"step": 40}),
    ("Global step 40: {'policy_loss': 0.25, 'actor_lr': 5e-07, 'reward': 0.5}", {"step": 40, "loss": 0.25, "learning_rate": 5e-7, "objective": "rl"}),
    ("(Trainer pid=88) INFO step 40/500: {'train/loss': 2.5, 'reward/mean': 0.5}", {"step": 40, "total_steps": 500, "loss": 2.5, "objective": None}),
    ('[node1] iteration 40 - {"pg_loss": -0.25, "kl": 0.01}', {"step": 40, "loss": -0.25, "loss_name": "pg_loss"}),
    ("2026-03-01 10:00:26,104 - fit - INFO - Epoch 3: {'loss': 2.5}", {"step": None, "epoch": 3.0, "loss": 2.5, "split": "train"}),
    ("Epoch 3/40 - {'val_loss': 2.5}", {"epoch": 3.0, "total_epochs": 40.0, "split": "eval"}),
]  # fmt: skip

LEFT = [
    '{"step": 100, "loss": "cross_entropy"}',
    '{"max_steps": 100, "loss": 0.5, "warmup_steps": 10}',
    '{"step_size": 3, "loss": 0.5, "name": "scheduler"}',
    '{"loss": 0.5, "lr": 0.0003, "epochs": 10}',
    "config = {'steps': 100, 'loss': {'name': 'ce', 'weight': 0.5}}",
    'assert {"step": 40, "loss": 2.5} == expected',
    "{'loss': 0.5, 'grad_norm': 1.5, 'learning_rate': 5e-05, 'epoch': 0.31}",
    '{"loss": 0.5, "learning_rate": 5e-05, "epoch": 0.31, "step": 40}',
    "{'eval_loss': 0.5, 'epoch': 0.31, 'step': 40}",
    '{"mode": "train", "epoch": 1, "iter": 50, "lr": 0.01, "data_time": 0.01, "loss": 0.5}',
    "Saving {'step': 40}",
    "loaded the state of step 40 from /ckpt: {'loss': 2.5}",
    "Best - Epoch 3: {'val_loss': 2.5}",
    "resuming at epoch 3: {'loss': 2.5}",
    "the plan of epoch 3: {'loss': 2.5}",
    "step 40 took 3.5 s: {'reward': 0.5, 'kl': 0.01}",
]


def steps(text: str) -> list[TrainStep]:
    return [row for kind in parser_types() for row in parse_text(kind(), text) if isinstance(row, TrainStep)]


@pytest.mark.parametrize(("line", "fields"), READ)
def test_an_object_with_a_step_and_a_loss_is_one_report(line: str, fields: dict[str, Any]) -> None:
    rows = steps(line)
    assert [r.framework for r in rows] == ["objects"]
    assert {k: getattr(rows[0], k) for k in fields} == fields


@pytest.mark.parametrize("line", LEFT)
def test_what_merely_resembles_a_report_gives_nothing(line: str) -> None:
    assert [r for r in steps(line) if r.framework == "objects"] == []


def test_lines_without_a_step_are_none_of_its_lines() -> None:
    assert ObjectLines.ignores("{'loss': 0.5, 'epoch': 0.31}")
    assert not ObjectLines.ignores('{"step": 1, "loss": 0.5}')

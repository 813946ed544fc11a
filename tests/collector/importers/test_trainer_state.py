"""A Trainer's saved state gives its log history, with steps, and what was planned."""

from __future__ import annotations

import json
import math
from datetime import UTC
from pathlib import Path

import pytest

from collector.importers.base import ImportContext, ImportFailed
from collector.importers.registry import pick
from collector.importers.trainer_state import TrainerState
from store.rows import LogEvent, TrainStep

STATE = {
    "global_step": 20,
    "max_steps": 40,
    "num_train_epochs": 2,
    "is_world_process_zero": True,
    "log_history": [
        {"epoch": 0.5, "loss": 1.25, "grad_norm": float("nan"), "learning_rate": 1e-05, "step": 10},
        {"epoch": 1.0, "eval_loss": 1.5, "eval_runtime": 2.0, "step": 20},
        {"epoch": 1.0, "step": 20, "train_runtime": 9.5, "train_loss": 1.25},
        "nonsense",
    ],
}


def test_the_history_becomes_steps_and_the_plan_an_event(tmp_path: Path) -> None:
    path = tmp_path / "trainer_state.json"
    path.write_text(json.dumps(STATE))
    ctx = ImportContext(name="trainer_state.json", zone=UTC, job_id="7")
    rows = list(TrainerState().rows(path, ctx))
    steps = [r for r in rows if isinstance(r, TrainStep)]
    assert [(s.split, s.step, s.total_steps, s.loss, s.job_id) for s in steps] == [
        ("train", 10, 40, 1.25, "7"),
        ("eval", 20, 40, 1.5, "7"),
    ]
    assert steps[0].grad_norm is not None
    assert math.isnan(steps[0].grad_norm)
    assert [(r.kind, r.step, r.total_steps, r.total_epochs) for r in rows if isinstance(r, LogEvent)] == [
        ("train_plan", 20, 40, 2.0)
    ]
    assert ctx.problem_count == 1


def test_it_is_recognised_by_name_and_contents_and_inside_a_checkpoint_only_when_asked_for(tmp_path: Path) -> None:
    head = json.dumps(STATE).encode()
    found = pick(tmp_path / "state.json", head)
    assert found is not None
    assert found.name == "trainer_state"
    saved = tmp_path / "checkpoint-20" / "trainer_state.json"
    assert pick(saved, head, alone=False) is None
    asked = pick(saved, head)
    assert asked is not None
    assert asked.name == "trainer_state"


@pytest.mark.parametrize(
    ("content", "why"),
    [("{", "whole JSON"), ("[]", "Trainer's state"), ('{"log_history": 3}', "Trainer's state")],
)
def test_what_cannot_be_used_says_why(tmp_path: Path, content: str, why: str) -> None:
    path = tmp_path / "trainer_state.json"
    path.write_text(content)
    with pytest.raises(ImportFailed, match=why):
        list(TrainerState().rows(path, ImportContext(name="trainer_state.json", zone=UTC)))

"""verl's plan and end; its steps are in test_framework_lines."""

from __future__ import annotations

from collector.parsers.base import parse_text
from collector.parsers.verl import Verl


def test_verls_plan_and_its_last_validation() -> None:
    plan, end = parse_text(Verl(), "(TaskRunner pid=4) Total training steps: 435\nFinal validation metrics: {'a': 1}\n")
    assert (plan.kind, plan.total_steps, end.kind) == ("train_plan", 435, "train_end")
    assert not parse_text(Verl(), "Total training steps: 435 (resumed at 400)\n")

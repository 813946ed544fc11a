"""verl's plan and end; its steps are in test_framework_lines."""

from __future__ import annotations

from collector.parsers.base import parse_text
from collector.parsers.verl import Verl


def test_a_rate_whose_digits_show_nothing_is_not_zero() -> None:
    """Earlier versions print three decimals of everything; the rate of a policy is a millionth."""
    shown = "step:{} - actor/pg_loss:0.012 - actor/lr:{} - critic/rewards/mean:0.4\n"
    hidden, given, none = parse_text(
        Verl(), shown.format(1, "0.000") + shown.format(2, "1e-06") + shown.format(3, "0.0e+00")
    )
    assert (hidden.learning_rate, given.learning_rate, none.learning_rate) == (None, 1e-06, 0.0)


def test_the_critics_loss_counts_where_it_is_no_number() -> None:
    (row,) = parse_text(
        Verl(), "step:4 - critic/vf_loss:nan - critic/grad_norm:nan - actor/pg_loss:-0.013 - actor/lr:1e-06\n"
    )
    assert row.loss != row.loss and (row.loss_name, row.objective) == ("critic/vf_loss", "ppo")
    (well,) = parse_text(Verl(), "step:5 - critic/vf_loss:0.4 - actor/pg_loss:-0.013 - actor/lr:1e-06\n")
    assert (well.loss, well.loss_name) == (-0.013, "actor/pg_loss")


def test_verls_plan_and_its_last_validation() -> None:
    plan, end = parse_text(Verl(), "(TaskRunner pid=4) Total training steps: 435\nFinal validation metrics: {'a': 1}\n")
    assert (plan.kind, plan.total_steps, end.kind) == ("train_plan", 435, "train_end")
    assert not parse_text(Verl(), "Total training steps: 435 (resumed at 400)\n")

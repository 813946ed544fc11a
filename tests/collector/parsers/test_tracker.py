"""The small curves that a tracking client prints when it closes a run."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.parsers.base import parse_text
from collector.parsers.tracker import NAMES, Tracker


def parse(text):
    return parse_text(Tracker(), text)


def test_curves_of_training_are_told_once():
    (row,) = parse("wandb: Run history:\nwandb:  epoch ▁▃▆█\nwandb: train/loss █▅▂▁\nwandb:   lr ▁▂▄█\n")
    assert (row.kind, row.name, row.line_no) == ("train_begin", "run_history", 3)


@pytest.mark.parametrize(
    "text",
    [
        "wandb: eval/loss █▅▂▁",
        "wandb: val_loss █▅▂▁",
        "wandb: accuracy ▁█",
        "wandb: loss ▁",
        "wandb: loss 0.31",
        "100%|██████████| 4/4 loss ▁▂",
    ],
)
def test_no_curve_of_training_gives_nothing(text):
    assert parse(text) == []


@given(st.lists(st.text(max_size=60).map(lambda t: f"wandb: {t} ▁█"), max_size=4))
def test_no_text_can_crash_it(lines):
    assert all(r.name in NAMES for r in parse("\n".join(lines)))

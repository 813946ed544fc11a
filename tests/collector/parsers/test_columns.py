"""Tables that are printed row by row below the names of their columns (columns)."""

from __future__ import annotations

from collector.parsers.base import parse_text
from collector.parsers.columns import Columns
from store.rows import TrainStep


def steps(text: str) -> list[TrainStep]:
    return [r for r in parse_text(Columns(), text) if isinstance(r, TrainStep)]


def test_columns_stand_apart_by_blanks() -> None:
    text = (
        "epoch     train_loss  valid_loss  accuracy  time    \n"
        "0         2.250000    2.500000    0.312000  00:12     \nBetter model found at epoch 0.\n"
        "1         nan         2.250000    0.353000  00:12     \n"
    )
    assert [(r.epoch, r.step, str(r.loss)) for r in steps(text)] == [(0, None, "2.25"), (1, None, "nan")]


def test_columns_stand_between_bars() -> None:
    text = (
        "| Epoch | Step | Train Loss | Val Loss | LR       |\n|-------|------|------------|----------|----------|\n"
        "|   1/9 |  100 |     2.2500 |   2.5000 | 1.00e-03 |\n|   2/9 |  200 |     1.2500 |   1.5000 | 5.00e-04 |\n"
    )
    assert [(r.epoch, r.total_epochs, r.step, r.loss, r.learning_rate) for r in steps(text)] == [
        (1, 9, 100, 2.25, 1e-3),
        (2, 9, 200, 1.25, 5e-4),
    ]


def test_columns_are_parted_by_commas_and_a_heading_may_be_said_again() -> None:
    text = "step,loss,lr\n100,2.5,0.5\nstep,loss,lr\n200,2.25,0.5\n200,2.25,0.5\n100,9.5,0.5\n"
    assert [(r.step, r.loss) for r in steps(text)] == [(100, 2.5), (200, 2.25)]


def test_tables_of_validation_sizes_and_words_are_none() -> None:
    assert not steps("epoch,val_loss,val_acc\n1,2.5,0.5\n2,2.25,0.5\n")
    assert not steps("Epoch  Samples  Bytes\n1      50000    3121\n")
    assert not steps("epoch loss of the model\n1 2.5 3 4 5 6\nloss, epoch, lr\n2.5, 1, 0.5\n")
    assert not steps("step  loss  lr\nmany  low  0.1\n1.5   2.5   0.1\n1  2  0.1\n")


def test_a_table_ends_where_other_lines_go_on() -> None:
    text = "epoch  train_loss  time\n" + "a line of something else\n" * 30 + "1      2.5  00:12\n"
    assert not steps(text)

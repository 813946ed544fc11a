"""The tables of commas that loggers keep of a run's scalars give steps, whatever the order of their columns."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from collector.importers.base import ImportContext, ImportFailed
from collector.importers.registry import pick
from collector.importers.scalars_csv import ScalarsCsv
from store.rows import TrainStep

LIGHTNING = """\
epoch,lr-AdamW,step,train_loss_epoch,train_loss_step,val_acc,val_loss
,0.001,9,,,,
0,,9,,2.5,,
0,,19,,nan,,
0,,19,,,0.25,2.25
0,,19,2.375,,,
"""
KERAS = "epoch,accuracy,loss,val_accuracy,val_loss\n0,0.5,1.5,0.25,1.75\n1,0.75,0.5,0.5,1.25\n"


def _rows(tmp_path: Path, text: str, name: str = "metrics.csv") -> tuple[list[TrainStep], ImportContext]:
    path = tmp_path / name
    path.write_text(text)
    found = pick(path, text.encode())
    assert found is not None
    assert found.name == "scalars_csv"
    ctx = ImportContext(name=name, zone=UTC, job_id="7")
    return [r for r in ScalarsCsv().rows(path, ctx) if isinstance(r, TrainStep)], ctx


def test_lightning_logs_one_thing_a_row_and_a_mean_is_no_further_loss_beside_the_steps(tmp_path: Path) -> None:
    rows, ctx = _rows(tmp_path, LIGHTNING)
    assert [(r.line_no, r.split, r.step, r.epoch, r.loss_name, r.learning_rate, r.metrics) for r in rows] == [
        (2, "train", 9, None, None, None, '{"lr-AdamW": 0.001}'),
        (3, "train", 9, 0.0, "train_loss_step", None, None),
        (4, "train", 19, 0.0, "train_loss_step", None, None),
        (5, "eval", 19, 0.0, "val_loss", None, '{"val_acc": 0.25}'),
        (6, "train", 19, 0.0, None, None, '{"train_loss_epoch": 2.375}'),
    ]
    assert [rows[1].loss, rows[3].loss] == [2.5, 2.25]
    assert rows[2].loss is not None
    assert math.isnan(rows[2].loss)
    assert {r.job_id for r in rows} == {"7"}
    assert not ctx.problem_count


def test_keras_logs_both_splits_in_a_row(tmp_path: Path) -> None:
    rows, _ = _rows(tmp_path, KERAS, "training.csv")
    assert [(r.split, r.step, r.epoch, r.loss, r.metrics) for r in rows] == [
        ("train", None, 0.0, 1.5, '{"accuracy": 0.5}'),
        ("eval", None, 0.0, 1.75, '{"val_accuracy": 0.25}'),
        ("train", None, 1.0, 0.5, '{"accuracy": 0.75}'),
        ("eval", None, 1.0, 1.25, '{"val_accuracy": 0.5}'),
    ]


@pytest.mark.parametrize(
    ("name", "split", "loss", "metrics"),
    [
        ("run-a-tag-train_loss.csv", "train", 2.5, None),
        ("run-a-tag-val_loss.csv", "eval", 2.5, None),
        ("train_acc.csv", "train", None, '{"train_acc": 2.5}'),
    ],
)
def test_a_curve_of_tensorboard_is_what_its_file_is_called(
    tmp_path: Path, name: str, split: str, loss: float | None, metrics: str | None
) -> None:
    (row,), ctx = _rows(tmp_path, "Wall time,Step,Value\n1654943296.5,3,2.5\n", name)
    assert (row.split, row.step, row.loss, row.metrics) == (split, 3, loss, metrics)
    assert row.ts == ctx.seen_to == datetime(2022, 6, 11, 10, 28, 16, 500_000, UTC)


def test_a_row_that_was_cut_off_is_named_and_a_heading_said_again_is_not(tmp_path: Path) -> None:
    rows, ctx = _rows(tmp_path, "step,loss\n1,2.5\nstep,loss\n1,2.25\n2\n")
    assert [(r.step, r.loss) for r in rows] == [(1, 2.5), (1, 2.25)]
    assert ctx.problems == ["line 5: 1 fields where the header has 2"]
    _, ctx = _rows(tmp_path, "step,loss\n1,2.5\n2,2.25\n1,2.5\n")
    assert ctx.notes == ["the count of steps goes back 1 times: this is more than one run, or one that was resumed"]


@pytest.mark.parametrize(
    "text",
    [
        "step,time\n1,2.5\n",  # no loss
        "loss,acc\n1.5,2.5\n",  # no count
        "step,loss\n",  # no row
        "step,loss\nfirst,much\n",
        "step,loss,loss\n1,2,3\n",
        "1,2\n3,4\n",
        "In this step, the loss\ngrew, 2\n",
    ],
)
def test_what_is_no_table_of_training_is_left_to_others(tmp_path: Path, text: str) -> None:
    assert not ScalarsCsv().claims(tmp_path / "a.csv", text.encode())


def test_beside_a_log_it_is_read_only_when_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "lightning_logs" / "version_0" / "metrics.csv"
    path.parent.mkdir(parents=True)
    path.write_text(LIGHTNING)
    assert pick(path, LIGHTNING.encode(), alone=False) is not None
    (tmp_path / "slurm-7.out").write_text("")
    assert pick(path, LIGHTNING.encode(), alone=False) is None
    assert pick(path, LIGHTNING.encode()) is not None


def test_a_folder_above_it_that_may_not_be_listed_holds_no_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "version_0/metrics.csv"
    path.parent.mkdir()
    path.write_text("epoch,step,train_loss\n0,49,2.3\n")
    listed = Path.iterdir

    def refused(folder: Path) -> Iterator[Path]:
        if folder != path.parent:
            raise PermissionError(13, "Permission denied", str(folder))
        return listed(folder)

    monkeypatch.setattr(Path, "iterdir", refused)
    assert isinstance(pick(path, path.read_bytes(), alone=False), ScalarsCsv)


def test_another_table_fails_with_its_reason(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(ImportFailed, match="no count of steps and no loss"):
        list(ScalarsCsv().rows(path, ImportContext(name="a.csv", zone=UTC)))

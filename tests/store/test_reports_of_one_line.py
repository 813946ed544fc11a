"""Several reports of one line: what is asked of the loss follows the order of the text, in old segments that of the epochs."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest

from store import Reader, Writer, manifest
from store.rows import TrainStep

T = datetime(2026, 3, 1, 10, tzinfo=UTC)
REPORTS = 20


def bars(*, named: bool, placed: bool) -> list[TrainStep]:
    """Four epochs in one line: the loss falls from 4.0 by a tenth with each report."""
    return [
        TrainStep(job_id="7", ts=T, ts_kind="file", file="a.out", line_no=3, in_line=1 + i if placed else None,
                  framework="lightning", split="train", step=10 * (i % REPORTS + 1), total_steps=10 * REPORTS,
                  epoch=float(i // REPORTS) if named else None, loss=round(4.0 * 0.98**i, 4), loss_name="loss")
        for i in range(4 * REPORTS)
    ]  # fmt: skip


def asked(lake: Path, name: str) -> list[dict[str, Any]]:
    with Reader(lake) as reader:
        return list(reader.ask(name, job_id="7").dicts())


@pytest.mark.parametrize("placed", [False, True])
def test_the_first_and_the_last_loss_of_a_line_are_those_of_its_text(tmp_path: Path, placed: bool) -> None:
    rows = bars(named=True, placed=placed)
    Writer(tmp_path).append(rows[::-1], batch="a")
    first, last = rows[0].loss, rows[-1].loss
    shape = asked(tmp_path, "loss_shape")[0]
    assert (shape["first_loss"], shape["last_loss"], shape["stretches"]) == (first, last, 1)
    assert shape["start_loss"] > 3.5
    curve = [r["loss"] for r in asked(tmp_path, "loss_curve")]
    assert curve == sorted(curve, reverse=True)
    (stretch,) = asked(tmp_path, "loss_stretches")
    assert (stretch["first_loss"], stretch["last_loss"]) == (first, last)
    summary = asked(tmp_path, "train_summary")[0]
    assert (summary["first_loss"], summary["last_loss"]) == (first, last)
    signs = asked(tmp_path, "resume_signs")[0]
    assert (signs["first_loss"], signs["last_loss"]) == (first, last)


def test_where_no_epoch_is_named_the_place_in_the_line_tells_where_the_steps_begin_anew(tmp_path: Path) -> None:
    rows = bars(named=False, placed=True)
    Writer(tmp_path).append(rows[::-1], batch="a")
    stretches = asked(tmp_path, "loss_stretches")
    assert [(s["first_loss"], s["last_loss"]) for s in stretches] == [
        (rows[i].loss, rows[i + REPORTS - 1].loss) for i in range(0, 4 * REPORTS, REPORTS)
    ]


def test_a_segment_from_before_the_column_is_read_as_ever(tmp_path: Path) -> None:
    rows = bars(named=True, placed=False)
    Writer(tmp_path).append(rows, batch="a")
    (segment,) = (tmp_path / "tables" / "train_step").rglob("*.parquet")
    have = manifest.load(segment.parent)
    assert have is not None
    old = segment.with_name("old.parquet")
    duckdb.execute(f"COPY (SELECT * EXCLUDE (in_line) FROM '{segment}') TO '{old}'")
    columns = tuple(c for c in have.segments[0].columns if c != "in_line")
    have.segments[:] = [replace(have.segments[0], file=old.name, columns=columns)]
    manifest.save(segment.parent, have, durable=False)
    shape = asked(tmp_path, "loss_shape")[0]
    assert (shape["first_loss"], shape["last_loss"]) == (rows[0].loss, rows[-1].loss)

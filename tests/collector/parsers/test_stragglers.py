"""NVIDIA's straggler reports."""

from __future__ import annotations

from collector.parsers.base import parse_text
from collector.parsers.stragglers import NAMES, Stragglers


def test_the_first_rank_of_a_report_is_the_rows_rank() -> None:
    text = "0: WARNING - STRAGGLER DETECTION WARNING: Some GPUs have worse relative performance. Affected ranks: {%s}\n"
    (row,) = parse_text(Stragglers(), text % "76, 13")
    assert (row.name, row.rank, row.severity) == ("straggler", 76, "warning")
    assert not parse_text(Stragglers(), text % "")
    assert row.name in NAMES

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


def _report(rank: int, least: float, most: float = 412.5) -> str:
    return f"[2026-01-01 10:00:00] | MnRtt/Rnk: 310.20ms/4 | MxRtt/Rnk: 700.90ms/{rank} | MnEtpt/Rnk: {least:.2f}TF/{rank} | MxEtpt/Rnk: {most:.2f}TF/4"


def test_megatron_names_a_straggler_that_is_far_behind_in_three_reports_on_end() -> None:
    rows = parse_text(Stragglers(), "\n".join(_report(21, 150.0 + n) for n in range(4)))
    assert [(r.name, r.rank) for r in rows] == [("straggler", 21)] * 2


def test_megatron_reports_of_ranks_that_differ_little_or_change_name_nobody() -> None:
    assert parse_text(Stragglers(), "\n".join(_report(21, 380.0) for _ in range(9))) == []
    assert parse_text(Stragglers(), "\n".join(_report(n % 2, 120.0) for n in range(9))) == []

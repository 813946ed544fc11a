"""NVIDIA's straggler reports."""

from __future__ import annotations

import pytest

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


def test_megatron_names_a_straggler_at_once_where_its_clock_is_the_lowest_and_far_behind() -> None:
    clocks = " | MnClk/Rnk: 810MHz/{} | MxClk/Rnk: 1755MHz/3"
    slow = _report(21, 150.0).replace(" | MnEtpt", clocks.format(21) + " | MnEtpt")
    assert [(r.name, r.rank) for r in parse_text(Stragglers(), slow)] == [("straggler", 21)]
    assert parse_text(Stragglers(), slow.replace("810MHz/21", "810MHz/8")) == []
    assert parse_text(Stragglers(), slow.replace("810MHz", "1710MHz")) == []


SCORES = """\
 GPU relative performance:
 Worst performing 2/64 ranks:
  Rank=21 Node=gpu-c07 Score=0.55
  Rank=9 Node=gpu-c02 Score=0.96
 Best performing 2/64 ranks:
  Rank=40 Node=gpu-c11 Score=1.00
"""


def test_a_score_below_the_extensions_own_limit_names_a_straggler() -> None:
    warned = SCORES + "STRAGGLER DETECTION WARNING: Some GPUs have worse relative performance. Affected ranks: [21]\n"
    first = "".join(warned.splitlines(keepends=True)[-1:]) + SCORES
    for text in (SCORES, warned, first):  # the warning is that of the same report
        assert [(r.name, r.rank) for r in parse_text(Stragglers(), text)] == [("straggler", 21)]
    assert parse_text(Stragglers(), SCORES.replace("0.55", "0.95")) == []
    assert parse_text(Stragglers(), SCORES.replace("relative", "individual")) == []
    assert parse_text(Stragglers(), SCORES.replace("GPU relative", "model's relative")) == []
    assert len(parse_text(Stragglers(), warned * 3)) == 3


SECTIONS = """\
=== Straggler Report at Step 40 ===

Section Timings (ms):
  backward:
    Min: 70.10ms, Max: 171.25ms, Avg: 84.20ms, Slowdown: 2.44x
    Rank 0: 70.10ms
    Rank 1: 171.25ms
"""


def test_flagscale_names_the_rank_whose_section_takes_half_as_long_again() -> None:
    assert [(r.name, r.rank) for r in parse_text(Stragglers(), SECTIONS)] == [("straggler", 1)]
    assert parse_text(Stragglers(), SECTIONS.replace("2.44x", "1.20x")) == []
    assert parse_text(Stragglers(), SECTIONS.replace("\n\n", "\n\u2713 No stragglers detected.\n")) == []
    assert parse_text(Stragglers(), SECTIONS.partition("\n")[2]) == []


@pytest.mark.parametrize(
    ("line", "rank"),
    [
        ("WARNING perf: Straggler detected: rank 12 took 2.40s vs mean 1.10s", 12),
        ("INPUT_STRAGGLER  Rank r3 input wait was 180.5ms vs median rank r0 at 11.0ms.", 3),
        ("straggler: rank=7 needs 1.2 s compared to a usual 400 ms", 7),
        ("Straggler detected: rank 12 took 1.20s vs mean 1.10s", None),
        ("straggler watch: rank 12 took 400 ms vs mean 1.1 s", None),
        ("checked for stragglers: rank 12 took 2.40s vs mean 1.10s", None),
        ("straggler detection is on, rank 12 reports every 30 s", None),
    ],
)
def test_a_sentence_that_gives_a_ranks_time_beside_the_usual_one(line: str, rank: int | None) -> None:
    assert [(r.name, r.rank) for r in parse_text(Stragglers(), line)] == (
        [("straggler", rank)] if rank is not None else []
    )

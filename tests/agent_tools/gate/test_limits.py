"""A limit that is told as kept, met or passed is held against what its row says was spent; so is what one figure reached of another."""

from __future__ import annotations

import pytest

from tests.agent_tools.gate.wordkit import Book, book

MORE = {"late": ("time-limit", "73101"), "well": ("healthy", "4807")}
LIMITS = [
    ("The job ran into its time limit of <well.job_overview.time_limit_min>.", "The job ran into its time limit of <late.job_overview.time_limit_min>."),
    ("The run reached its limit of <kill.wall.limit_h>.", "The run reached its limit of <late.wall.limit_h>."),
    ("The time limit of <evict.job_overview.time_limit_s> was reached.", "The time limit of <late.job_overview.time_limit_s> was reached."),
    ("The time limit of <down.job_overview.time_limit_s> had been reached.", "The time limit of <late.job_overview.time_limit_s> had been reached."),
    ("The job ended within its time limit of <late.job_overview.time_limit_min>.", "The job ended within its time limit of <well.job_overview.time_limit_min>."),
    ("It was stopped within the limit of <late.wall.limit_h>.", "It was stopped within the limit of <kill.wall.limit_h>."),
    ("The peak <wide.gpu_summary:1.peak_gib> reached the total of <wide.gpu_summary:1.total_gib>.", "The peak was <wide.gpu_summary:1.peak_gib> of a total of <wide.gpu_summary:1.total_gib>."),
    ("The median <wide.gpu_summary:2.sm_median> reached the engine's <wide.gpu_summary:2.engine_mean>.", "The engine mean <wide.gpu_summary:2.engine_mean> reached the median of <wide.gpu_summary:2.sm_median>."),
    ("The peak of <wide.gpu_summary:1.peak_gib> was within what it had.", "The run ended within <late.job_overview.elapsed_min>."),
]  # fmt: skip


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Book:
    """The evidence of seven jobs, of which `late` ran into its time limit."""
    return book(tmp_path_factory.mktemp("lake"), MORE)


@pytest.mark.parametrize("text", [false for false, _ in LIMITS])
def test_a_limit_is_not_kept_or_met_against_its_row(shown: Book, text: str) -> None:
    assert not shown.passes(text)


@pytest.mark.parametrize("text", [true for _, true in LIMITS])
def test_a_limit_is_told_as_its_row_has_it(shown: Book, text: str) -> None:
    assert shown.passes(text)

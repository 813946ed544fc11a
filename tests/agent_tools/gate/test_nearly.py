"""What hardly changed, lay between two ends, was about the same for all, or twice as much: false is refused, and its true twin passes."""

from __future__ import annotations

import pytest

from agent_tools.evidence import Ledger
from tests.agent_tools.gate.gatekit import passes, result
from tests.agent_tools.gate.wordkit import Book, book, sides

MORE = {"stop": ("cancelled-by-user", "4811")}
BESIDES = [("wide", "gpu_spread")]
SAID = [
    ("The loss hardly changed: <stop.loss_shape.start_loss> at the start and <stop.loss_shape.end_loss> at the end.", "The loss hardly changed: <stop.loss_shape.end_loss> at the end and <stop.loss_shape.best_loss> at best."),
    ("The loss hardly changed: <stop.loss_shape.end_loss> at the end.", "At the end the loss was <stop.loss_shape.end_loss>."),
    ("The loss was about the same: <stop.loss_shape.start_loss> at the start and <stop.loss_shape.end_loss> at the end.", "The loss was about the same: <stop.loss_shape.end_loss> at the end and <stop.loss_shape.best_loss> at best."),
    ("The time in sync ranged from <wide.rank_compare.sync_s> to <wide.rank_compare:1.sync_s>.", "The time in sync ranged from <wide.rank_compare.sync_s> to <wide.rank_compare:2.sync_s>."),
    ("The time in sync ranged from <wide.rank_compare:2.sync_s> to <wide.rank_compare.sync_s>.", "The time in sync lay between <wide.rank_compare.sync_s> and <wide.rank_compare:2.sync_s>."),
    ("The launches ranged from <wide.rank_compare.launches> to <wide.rank_compare:1.launches>.", "The loss lay between <stop.train_summary.min_loss> and <stop.train_summary.max_loss>."),
    ("The loss lay between <stop.train_summary.max_loss> and <stop.train_summary.min_loss>.", "The loss lay between <stop.train_summary.min_loss> and <stop.train_summary.max_loss>."),
    ("The loss lay between <stop.train_summary.min_loss> and <stop.train_summary.first_loss>.", "The loss ranged from <stop.train_summary.min_loss> to <stop.train_summary.max_loss>."),
    ("The ranks made about the same number of launches: <wide.rank_compare:1.launches> on rank <wide.rank_compare:1.rank> and <wide.rank_compare:2.launches> on rank <wide.rank_compare:2.rank>.", "The ranks completed about the same number of collectives: <wide.rank_compare.completed> on rank <wide.rank_compare.rank> and <wide.rank_compare:1.completed> on rank <wide.rank_compare:1.rank>."),
    ("The ranks completed the same number of collectives: <wide.rank_compare.completed> on rank <wide.rank_compare.rank> and <wide.rank_compare:1.completed> on rank <wide.rank_compare:1.rank>.", "The ranks completed about the same number of collectives: <wide.rank_compare.completed> on rank <wide.rank_compare.rank> and <wide.rank_compare:2.completed> on rank <wide.rank_compare:2.rank>."),
    ("Rank <wide.rank_compare:2.rank> had a gap of <wide.rank_compare:2.max_gap_s>, twice the <wide.rank_compare:3.max_gap_s> of rank <wide.rank_compare:3.rank>.", "Rank <wide.rank_compare:3.rank> had a gap of <wide.rank_compare:3.max_gap_s>, twice the <wide.rank_compare:2.max_gap_s> of rank <wide.rank_compare:2.rank>."),
    ("Rank <wide.rank_compare:3.rank> had a gap of <wide.rank_compare:3.max_gap_s>, nearly twice the <wide.rank_compare:2.max_gap_s> of rank <wide.rank_compare:2.rank>.", "Rank <wide.rank_compare:1.rank> had a gap of <wide.rank_compare:1.max_gap_s>, twice the <wide.rank_compare:3.max_gap_s> of rank <wide.rank_compare:3.rank>."),
    ("Rank <wide.rank_compare:3.rank> had a gap of <wide.rank_compare:3.max_gap_s>, twice the <wide.rank_compare:2.max_gap_s> of rank <wide.rank_compare:0.rank>.", "Rank <wide.rank_compare:1.rank> had a gap of <wide.rank_compare:1.max_gap_s>, about twice the <wide.rank_compare:3.max_gap_s> of rank <wide.rank_compare:3.rank>."),
    ("Rank <wide.rank_compare:3.rank> had a gap of <wide.rank_compare:3.max_gap_s>, three times the <wide.rank_compare:2.max_gap_s> of rank <wide.rank_compare:2.rank>.", "Rank <wide.rank_compare:0.rank> had a gap of <wide.rank_compare:0.max_gap_s>, three times the <wide.rank_compare:2.max_gap_s> of rank <wide.rank_compare:2.rank>."),
    ("Rank <wide.rank_compare:2.rank> had a gap of <wide.rank_compare:2.max_gap_s>, more than half the <wide.rank_compare:3.max_gap_s> of rank <wide.rank_compare:3.rank>.", "Rank <wide.rank_compare:2.rank> had a gap of <wide.rank_compare:2.max_gap_s>, half the <wide.rank_compare:3.max_gap_s> of rank <wide.rank_compare:3.rank>."),
]  # fmt: skip


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Book:
    """The evidence of six jobs."""
    return book(tmp_path_factory.mktemp("lake"), MORE, besides=BESIDES)


test_what_is_not_so_near_is_refused, test_what_is_so_near_passes = sides(SAID)


def test_what_hardly_changed_has_two_figures_of_its_own() -> None:
    """A figure of a measure and a count that is as large by chance say nothing of a change."""
    held = Ledger()
    held.record(
        result("pace", {"early_s": "s", "late_s": "s", "late": "", "reports": ""}, [(7.1, 7.0, 7, 9)]), "pace", {}
    )
    held.show_all()
    good = "There were [[E1.reports]] reports."
    assert passes("The pace hardly changed: [[E1.early_s]] early and [[E1.late_s]] late.", held, good)
    assert not passes("The pace hardly changed: [[E1.early_s]] early and [[E1.late]] late.", held, good)

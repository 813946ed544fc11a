"""Is one as the other, or as it was, and where did it go from its best? False is refused, and its true twin passes."""

from __future__ import annotations

import pytest

from tests.agent_tools.gate.wordkit import Book, book, sides

MORE = {
    "core": ("native-crash", "4823"),
    "fine": ("healthy-ddp", "4824"),
    "few": ("too-few-steps", "4806"),
    "wall": ("time-limit", "73101"),
    "ok": ("healthy", "4807"),
}
BESIDES = [(n, "similar_jobs") for n in ("core", "fine", "few", "kill")] + [("wall", "loss_curve")]
SAID = [
    ("An earlier job of that name, <fine.similar_jobs:1.job_id>, failed too.", "An earlier job of that name, <core.similar_jobs:2.job_id>, failed too."),
    ("A later job of that name, <core.similar_jobs:1.job_id>, failed as well.", "An earlier job of that name, <core.similar_jobs:2.job_id>, failed as well."),
    ("A later job of that name, <core.similar_jobs:1.job_id>, completed too.", "A later job of that name, <core.similar_jobs:1.job_id>, completed."),
    ("A shorter run of the same name, job <few.similar_jobs:1.job_id>, reached a loss of <few.similar_jobs:1.last_loss>.", "A longer run of the same name, job <few.similar_jobs:1.job_id>, reached a loss of <few.similar_jobs:1.last_loss>."),
    ("A longer job of that name, <core.similar_jobs:2.job_id>, failed.", "A shorter job of that name, <core.similar_jobs:2.job_id>, failed."),
    ("Another job of the same name, <core.similar_jobs.job_id>, failed.", "Another job of the same name, <core.similar_jobs:2.job_id>, failed."),
    ("The loss stayed at <kill.loss_curve.loss>.", "The learning rate stayed at <kill.loss_curve.learning_rate>."),
    ("The gradient norm stayed at <kill.loss_curve.grad_norm>.", "The learning rate remained at <kill.loss_curve.learning_rate>."),
    ("The learning rate did not stay at <kill.loss_curve.learning_rate>.", "The learning rate was constant at <kill.loss_curve.learning_rate>."),
    ("Ranks <wide.rank_compare.rank> and <wide.rank_compare:1.rank> made about the same number of launches: <wide.rank_compare.launches> and <wide.rank_compare:1.launches>.", "Ranks <wide.rank_compare:1.rank> and <wide.rank_compare:2.rank> made about the same number of launches: <wide.rank_compare:1.launches> and <wide.rank_compare:2.launches>."),
    ("Ranks <wide.rank_compare:1.rank> and <wide.rank_compare:2.rank> made the same number of launches: <wide.rank_compare:1.launches> and <wide.rank_compare:2.launches>.", "Ranks <wide.rank_compare:1.rank> and <wide.rank_compare:2.rank> made nearly the same number of launches: <wide.rank_compare:1.launches> and <wide.rank_compare:2.launches>."),
    ("As many collectives completed on rank <wide.rank_compare.rank> as on rank <wide.rank_compare:1.rank>: <wide.rank_compare.completed>.", "As many collectives completed on rank <wide.rank_compare:2.rank> as on rank <wide.rank_compare:3.rank>: <wide.rank_compare:2.completed>."),
    ("As many collectives completed on rank <wide.rank_compare:2.rank> as on rank <wide.rank_compare:3.rank>: <wide.rank_compare:2.enqueued>.", "As many collectives completed on rank <wide.rank_compare:3.rank> as on rank <wide.rank_compare:2.rank>: <wide.rank_compare:3.completed>."),
    ("The loss ended at <wall.train_summary.last_loss>, close to its highest value of <wall.train_summary.max_loss>.", "The loss ended at <wall.train_summary.last_loss>, close to its lowest value of <wall.train_summary.min_loss>."),
    ("The loss barely moved: from <wall.train_summary.first_loss> to <wall.train_summary.last_loss>.", "The loss barely moved: from <few.train_summary.first_loss> to <few.train_summary.last_loss>."),
    ("The loss hardly changed: from <few.train_summary.first_loss> to <ok.train_summary.last_loss>.", "The loss hardly changed: from <few.train_summary.first_loss> to <few.train_summary.last_loss>."),
    ("The loss was still rising, to <wall.train_summary.last_loss> at the last report.", "The loss was still falling, to <wall.train_summary.last_loss> at the last report."),
    ("The loss was still falling, to <wall.train_summary.max_loss> at the last report.", "The loss was still falling, to <kill.train_summary.last_loss> at the last report."),
    ("The loss reached its best value, <wall.loss_shape.best_loss>, at step <wall.loss_shape.best_step> and then fell to <wall.loss_shape.end_loss>.", "The loss reached its best value, <wall.loss_shape.best_loss>, at step <wall.loss_shape.best_step> and then climbed to <wall.loss_shape.end_loss>."),
    ("The loss reached its best value, <wall.loss_shape.best_loss>, at step <wall.loss_shape.best_step> and then climbed to <wall.loss_shape.highest_loss>.", "The loss reached its best value, <wall.loss_shape.best_loss>, at step <wall.loss_shape.best_step>, and ended at <wall.loss_shape.end_loss>."),
    ("Both attempts ended as <wall.job_attempts.state>, each after <wall.job_attempts.time_limit_s>.", "Both attempts ended as <wall.job_attempts.state>, each after <wall.job_attempts.elapsed_s>."),
    ("Both attempts ended as <evict.job_attempts.state>, each after <evict.job_attempts.elapsed_s>.", "The first attempt ended as <evict.job_attempts.state> after <evict.job_attempts.elapsed_s>."),
]  # fmt: skip


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Book:
    """The evidence of ten jobs, of some with what ran before and after them."""
    return book(tmp_path_factory.mktemp("lake"), MORE, besides=BESIDES)


test_what_the_rows_do_not_say_is_refused, test_what_the_rows_say_passes = sides(SAID)

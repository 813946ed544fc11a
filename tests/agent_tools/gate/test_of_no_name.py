"""Another job's figures told as this one's, what stopped before what failed, what one runs out of, hours of GPUs told as a span."""

from __future__ import annotations

import pytest

from tests.agent_tools.gate.wordkit import Book, book, sides

MORE = {"core": ("native-crash", "4823")}

SAID = [
    ("The launcher stopped ranks <core.fatal_signals:1.all_ranks> before rank <core.fatal_signals.rank> failed.", "The launcher stopped ranks <core.fatal_signals:1.all_ranks> after rank <core.fatal_signals.rank> had failed."),
    ("This job's last loss was <kill.similar_jobs:1.last_loss>.", "The later job <kill.similar_jobs:1.job_id> had a last loss of <kill.similar_jobs:1.last_loss>."),
    ("It reached step <kill.similar_jobs:1.last_step>.", "Job <kill.similar_jobs:1.job_id> reached step <kill.similar_jobs:1.last_step>."),
    ("The job failed with code <find_jobs:3.exit_code>.", "Job <find_jobs:3.job_id> ended with exit code <find_jobs:3.exit_code>."),
    ("The run lasted <find_jobs:4.elapsed_s>.", "The job of user <find_jobs:4.user> named <find_jobs:4.name>, <find_jobs:4.job_id>, lasted <find_jobs:4.elapsed_s>."),
    ("The launcher stopped ranks <kill.fatal_signals.all_ranks> before rank <kill.fatal_signals:1.rank> failed.", "The launcher stopped ranks <kill.fatal_signals.all_ranks> with signal <kill.fatal_signals.signal>."),
    ("The GPU ran out of its <wide.gpu_summary.total_gib> of memory.", "The GPU had <wide.gpu_summary.total_gib> of memory."),
    ("The job held its GPUs for <evict.short_run.gpu_hours>.", "The job cost <evict.short_run.gpu_hours> GPU hours."),
    ("The run took <evict.wall.gpu_hours>.", "The run took <evict.wall.gpu_hours> GPU hours."),
]  # fmt: skip


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Book:
    """The evidence of five jobs, of one with what ran before and after it."""
    besides = [("kill", "similar_jobs"), ("evict", "wall")]
    return book(tmp_path_factory.mktemp("lake"), MORE, besides=besides)


test_what_the_rows_do_not_say_is_refused, test_what_the_rows_say_passes = sides(SAID)

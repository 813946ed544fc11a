"""Small words that say no more than the cells beside them: false is refused, and its true twin passes."""

from __future__ import annotations

import pytest

from agent_tools.evidence import Ledger
from tests.agent_tools.gate.gatekit import passes, result
from tests.agent_tools.gate.wordkit import Book, book, sides

DOCS = {"peak_gib": "highest memory", "limit_gib": "memory.max"}
MORE = {
    "late": ("healthy-ddp", "4824"),
    "stop": ("cancelled-by-user", "4811"),
    "wall": ("time-limit", "73101"),
    "disk": ("disk-full", "4810"),
    "data": ("cut-json-line", "4812"),
}
SAID = [
    ("Ranks <kill.fatal_signals.all_ranks> only got <kill.fatal_signals:1.signal_name>.", "Ranks <kill.fatal_signals.all_ranks> only got <kill.fatal_signals.signal_name>."),
    ("Only ranks <kill.fatal_signals.all_ranks> got <kill.fatal_signals:1.signal_name>.", "Ranks <kill.fatal_signals.all_ranks> were only terminated with <kill.fatal_signals.signal_name>."),
    ("Job <stop.job_overview.job_id> was cancelled by its owner, <late.job_overview.user>.", "Job <find_jobs:1.job_id> ended as <find_jobs:1.state>."),
    ("Job <kill.job_overview.job_id> was cancelled by its owner, <kill.job_overview.user>.", "Job <stop.job_overview.job_id> was cancelled by its owner, <stop.job_overview.cancelled_by>."),
    ("Job <kill.similar_jobs:1.job_id> ran before and completed.", "Job <kill.similar_jobs:1.job_id> ran afterwards and completed."),
    ("The job used <disk.job_overview.time_limit_min> of its time limit of <disk.job_overview.elapsed_min>.", "The job used <disk.job_overview.elapsed_min> of its time limit of <disk.job_overview.time_limit_min>."),
    ("The last report is for step <disk.train_summary.last_step>, with a loss of <disk.train_summary.last_loss>; it had begun at <disk.train_summary.max_loss> in the end.", "The last report is for step <disk.train_summary.last_step>, with a loss of <disk.train_summary.last_loss>; it had begun at <disk.train_summary.first_loss>."),
    ("The last report is for step <disk.train_summary.last_step>, with a loss of <disk.train_summary.last_loss>; it had begun at <disk.train_summary.last_step>.", "The loss had begun at <disk.train_summary.first_loss>."),
    ("Both attempts ended as <wall.job_attempts.state>, each after <wall.job_attempts.time_limit_s> under a limit of <wall.job_attempts.elapsed_s>.", "Both attempts ended as <wall.job_attempts.state>, each after <wall.job_attempts.elapsed_s> under a limit of <wall.job_attempts.time_limit_s>."),
    ("Both attempts stayed under a limit of <wall.job_attempts.time_limit_s>, with <wall.job_attempts.elapsed_s>.", "The job ended as <wall.job_overview.state>."),
    ("Accounting gives the exit code <wall.job_overview.exit_code> and the reason that it failed.", "Accounting gives the exit code <kill.job_overview.exit_code>."),
    ("Slurm calls the job off as <stop.job_overview.state>.", "Slurm calls the job <stop.job_overview.state>."),
    ("A step needed <wall.job_overview.time_limit_min>.", "A step needed <wall.train_summary.step_time_s>."),
    ("Node <down.node_failures.node> went down, with the reason \"<down.node_failures.reason>\", and ended the job.", "Node <down.node_failures.node> went down at <down.node_failures.since_ts> with the reason \"<down.node_failures.reason>\"."),
    ("Slurm ended the job as <kill.job_overview.state>.", "Slurm ended the job as <down.job_overview.state>."),
    ("Two jobs ran on two nodes each: <find_jobs:1.job_id> and <find_jobs:2.job_id>.", "Two jobs ran on two nodes each: <find_jobs.job_id> and <find_jobs:1.job_id>."),
    ("Three jobs ran on two nodes each: <find_jobs.job_id>, <find_jobs:1.job_id> and <find_jobs:2.job_id>.", "Job <find_jobs.job_id> ran on <find_jobs.node_list>."),
    ("The longest of <find_jobs:1.user>'s jobs was <find_jobs:1.job_id>, with <find_jobs:1.elapsed_s>.", "The longest of <find_jobs:3.user>'s jobs was <find_jobs:3.job_id>, with <find_jobs:3.elapsed_s>."),
    ("The shortest of <find_jobs:3.user>'s jobs was <find_jobs:3.job_id>.", "The shortest of <find_jobs:9.user>'s jobs was <find_jobs:9.job_id>."),
    ("The longest of <find_jobs:2.user>'s jobs was <find_jobs:3.job_id>.", "The longest of <find_jobs:2.user>'s jobs was <find_jobs:2.job_id>."),
    ("The data file was named in the submit line: \"<disk.job_overview.submit_line>\".", "The data file was named in the submit line: \"<data.job_overview.submit_line>\"."),
    ("The loss had fallen from <kill.train_summary.first_loss> to <kill.train_summary.last_loss> when the limit was hit.", "The loss had fallen from <wall.train_summary.first_loss> to <wall.train_summary.last_loss> when the limit was hit."),
    ("The loss was up to <disk.train_summary.last_loss> at step <disk.train_summary.last_step>.", "The loss was down to <disk.train_summary.last_loss> at step <disk.train_summary.last_step>."),
    ("Neither attempt completed: both ended as <evict.job_attempts.state>.", "Neither attempt completed: both ended as <wall.job_attempts.state>."),
    ("Rank <kill.fatal_signals:1.rank> got <kill.fatal_signals:1.signal_name>, and the two others were stopped with <kill.fatal_signals.signal_name>.", "Rank <kill.fatal_signals:1.rank> got <kill.fatal_signals:1.signal_name>, and the three others were stopped with <kill.fatal_signals.signal_name>."),
    ("The disk was full: \"<kill.fatal_signals.message>\".", "The disk was full: \"<disk.other_events:1.message>\"."),
    ("The node failed, and job <kill.similar_jobs:1.job_id> on this node failed too.", "Job <kill.similar_jobs:1.job_id> on the same node completed."),
    ("The last loss was <disk.train_summary.last_loss>; it was <disk.train_summary.max_loss>.", "The last loss was <disk.train_summary.last_loss>; the highest was <disk.train_summary.max_loss>."),
    ("The last loss was <disk.train_summary.last_loss>; it had begun at <disk.train_summary.min_loss>.", "The last loss was <disk.train_summary.last_loss>; it had begun at <disk.train_summary.first_loss>."),
    ("The data file was broken: \"<data.job_overview.submit_line>\".", "The submit line was \"<data.job_overview.submit_line>\"."),
]  # fmt: skip


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Book:
    """The evidence of jobs that were killed, cancelled, timed out and lost."""
    return book(tmp_path_factory.mktemp("lake"), MORE, besides=[("kill", "similar_jobs")])


test_small_words_that_say_more_are_refused, test_small_words_beside_their_cells_pass = sides(SAID)

GOOD = "The job ended as [[E2.state]]."


def two(second: float) -> Ledger:
    """Two nodes of a job and their memory, and two empty answers."""
    held = Ledger()
    columns = {"node": "", "peak_gib": "GiB", "limit_gib": "GiB"}
    rows = [("n1", 100.0, 400.0), ("n2", second, 400.0)]
    held.record(result("cgroup_peaks", columns, [*rows], docs=DOCS), "cgroup_peaks", {"job_id": "4812"})
    overview = result("job_overview", {"job_id": "", "state": "", "node_count": ""}, [("4812", "FAILED", 2)])
    held.record(overview, "job_overview", {"job_id": "4812"})
    held.show_all()
    for query in ("gpu_counter_rises", "gpu_events"):
        held.record(result(query, {"node": ""}, []), query, {"job_id": "4812"})
        held.mark_shown(held.all()[-1].id, [0], ["row_count"])
    return held


def test_twice_as_much_of_something_as_another_had() -> None:
    text = "Node [[E1.node]] used about twice as much host memory as node [[E1:1.node]]: [[E1.peak_gib]] against [[E1:1.peak_gib]]."
    assert passes(text, two(50.0), GOOD)
    assert not passes(text, two(90.0), GOOD)
    assert not passes(text.replace("twice", "three times"), two(50.0), GOOD)


def test_neither_nor_of_two_empty_answers_each_beside_its_own() -> None:
    text = "Neither a counter rose ([[E3.row_count]]) nor was an XID logged ([[E4.row_count]])."
    assert passes(text, two(50.0), GOOD)
    assert not passes(text.replace("E3", "E5").replace("E4", "E3").replace("E5", "E4"), two(50.0), GOOD)
    assert not passes(text.replace("an XID", "an error"), two(50.0), GOOD)


def test_a_few_steps_after_a_save_are_two_to_ten() -> None:
    text = "The last report is for step [[E2.last_step]], a few steps after the checkpoint of step [[E1.step]]."
    for last, so in ((205, True), (250, False), (195, False)):
        held = Ledger()
        saves = result("checkpoints", {"name": "", "step": "", "message": ""}, [("saved", 200, "saved checkpoint 200")])
        held.record(saves, "checkpoints", {"job_id": "4812"})
        held.record(result("train_summary", {"last_step": ""}, [(last,)]), "train_summary", {"job_id": "4812"})
        held.show_all()
        assert passes(text, held, "The last step was [[E2.last_step]].") is so

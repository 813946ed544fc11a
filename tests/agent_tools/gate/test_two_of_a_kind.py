"""What came first, how many of it there were, and what two have in common: false is refused, and its true twin passes."""

from __future__ import annotations

import pytest

from agent_tools.gate.answer_gate import check_answer
from agent_tools.questions.answer import Answer
from tests.agent_tools.gate.wordkit import Book, book

GOOD = "Job <kill.job_overview.job_id> ended as <kill.job_overview.state>."
END, START = "<kill.job_overview.end_ts>", "<kill.job_overview.start_ts>"
FIRST, LAST = "<kill.train_summary.first_ts>", "<kill.train_summary.last_ts>"
ORDER = [
    (
        f"The job ended at {END}, and the first step was reported after that, at {FIRST}.",
        f"The job started at {START}, and the first step was reported after that, at {FIRST}.",
    ),
    (
        f"The job ended at {END}; the first step was reported afterwards, at {FIRST}.",
        f"The job started at {START}; the first step was reported afterwards, at {FIRST}.",
    ),
    (
        f"The job started at {START} and had ended before that, at {END}.",
        f"The job ended at {END} and had started before that, at {START}.",
    ),
    (
        f"The last report at {LAST} was followed by the first at {FIRST}.",
        f"The first report at {FIRST} was followed by the last at {LAST}.",
    ),
    (
        f"The first report came at {FIRST}, before the job started.",
        f"The first report came at {FIRST}, before the job ended.",
    ),
    (
        f"The first report came at {FIRST}, after the job had ended.",
        f"The first report came at {FIRST}, after the job had started.",
    ),
    (
        "Rank <wide.process_exits:2.rank> ended first, and rank <wide.process_exits.rank> after it.",
        "Rank <wide.process_exits.rank> ended first, and rank <wide.process_exits:2.rank> after it.",
    ),
    (
        "Rank <wide.process_exits:3.rank> ended, followed by rank <wide.process_exits:1.rank>.",
        "Rank <wide.process_exits:1.rank> ended, followed by rank <wide.process_exits:3.rank>.",
    ),
    (
        "Attempt <evict.job_attempts:1.attempt> preceded attempt <evict.job_attempts.attempt>.",
        "Attempt <evict.job_attempts.attempt> preceded attempt <evict.job_attempts:1.attempt>.",
    ),
    (
        "The <wide.gpu_events.event> at <wide.gpu_events.event_ts> began once rank <wide.process_exits:2.rank> had ended at "
        "<wide.process_exits:2.end_ts>.",
        "Rank <wide.process_exits:2.rank> ended at <wide.process_exits:2.end_ts>, after the <wide.gpu_events.event> on "
        "<wide.gpu_events.node> at <wide.gpu_events.event_ts>.",
    ),
    (
        "It was submitted at <kill.job_overview.start_ts> and started after <kill.job_overview.wait_s>, at <kill.job_overview.submit_ts>.",
        "It was submitted at <kill.job_overview.submit_ts> and started after <kill.job_overview.wait_s>, at <kill.job_overview.start_ts>.",
    ),
]
COUNTS = [
    (
        "The <down.job_overview.node_count> nodes were lost.",
        "The <down.job_overview.node_count> nodes were <down.job_overview.node_list>.",
    ),
    ("<kill.launcher_failures:3.local_rank> ranks failed.", "Local rank <kill.launcher_failures:3.local_rank> failed."),
    ("There were <kill.fatal_signals:1.signal> signals.", "The signal was <kill.fatal_signals:1.signal>."),
    (
        "<wide.gpu_events.gpu> GPUs were throttled.",
        "GPU <wide.gpu_events.gpu> of <wide.gpu_events.node> was throttled.",
    ),
    (
        "<kill.fatal_signals:1.signal> ranks got <kill.fatal_signals:1.signal_name>.",
        "<kill.fatal_signals.ranks> ranks got <kill.fatal_signals.signal_name>.",
    ),
    (
        "Job <evict.job_overview.job_id> ran on <evict.job_overview.attempt> nodes.",
        "Job <evict.job_overview.job_id> ran on <evict.job_overview.node_count> node.",
    ),
    (
        "Job <down.job_overview.job_id> lost <down.job_overview.node_count> nodes.",
        "Job <down.job_overview.job_id> ran on <down.job_overview.node_count> nodes.",
    ),
    (
        "<down.job_overview.node_count> nodes went down.",
        "<down.node_failures.bad_nodes> of <down.node_failures.job_nodes> nodes went down.",
    ),
    (
        "Two of the job's <down.job_overview.node_count> nodes went <down.node_failures.state>: <down.node_failures.node>.",
        "One of the job's <down.job_overview.node_count> nodes went <down.node_failures.state>: <down.node_failures.node>.",
    ),
]
PAIRS = [
    (
        "Ranks <wide.process_exits:2.rank> and <wide.process_exits:3.rank> were ended by the same signal.",
        "Ranks <wide.process_exits.rank> and <wide.process_exits:3.rank> were ended by the same signal.",
    ),
    (
        "Both attempts of job <evict.job_overview.job_id> ended as <evict.job_attempts:1.state>.",
        "Both attempts of job <evict.job_overview.job_id> ran on <evict.job_attempts.node_list>.",
    ),
    ("Three of the ranks ran on <wide.process_exits.node>.", "Two of the ranks ran on <wide.process_exits.node>."),
    (
        "Neither rank <wide.process_exits:1.rank> nor rank <wide.process_exits:2.rank> was ended by signal <wide.process_exits:2.exit_signal>.",
        "Neither rank <wide.process_exits.rank> nor rank <wide.process_exits:1.rank> was ended by signal <wide.process_exits:2.exit_signal>.",
    ),
    (
        "Neither attempt <evict.job_attempts.attempt> nor attempt <evict.job_attempts:1.attempt> completed.",
        "Neither attempt <evict.job_attempts.attempt> nor attempt <evict.job_attempts:1.attempt> timed out.",
    ),
    (
        "Rank <wide.process_exits:1.rank> ran on the same node as rank <wide.process_exits:2.rank>.",
        "Rank <wide.process_exits:2.rank> ran on the same node as rank <wide.process_exits:3.rank>.",
    ),
    (
        "Ranks <wide.process_exits.rank> and <wide.process_exits:1.rank> ran on different nodes.",
        "Ranks <wide.process_exits.rank> and <wide.process_exits:2.rank> ran on different nodes.",
    ),
    (
        "Attempt <evict.job_attempts.attempt> ran longer than attempt <evict.job_attempts:1.attempt>.",
        "Attempt <evict.job_attempts:1.attempt> ran longer than attempt <evict.job_attempts.attempt>.",
    ),
    (
        "The second attempt was the shorter one: <evict.job_attempts:1.elapsed_s> against <evict.job_attempts.elapsed_s>.",
        "The second attempt was the longer one: <evict.job_attempts:1.elapsed_s> against <evict.job_attempts.elapsed_s>.",
    ),
    (
        "Job <kill.job_overview.job_id> ran longer than job <down.job_overview.job_id>: <kill.job_overview.elapsed_s> and "
        "<down.job_overview.elapsed_s>.",
        "Job <down.job_overview.job_id> ran longer than job <kill.job_overview.job_id>: <down.job_overview.elapsed_s> and "
        "<kill.job_overview.elapsed_s>.",
    ),
    (
        "Jobs <kill.job_overview.job_id> and <evict.job_overview.job_id> belong to the same user, <kill.job_overview.user>.",
        "Jobs <kill.job_overview.job_id> and <down.job_overview.job_id> belong to the same user, <kill.job_overview.user>.",
    ),
]
ALL = [*ORDER, *COUNTS, *PAIRS]


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Book:
    return book(tmp_path_factory.mktemp("lake"))


def passes(text: str, shown: Book) -> bool:
    """Whether a sentence is shown as what was seen."""
    said = shown.said(text)
    made = {"short": shown.said(GOOD), "shows": [{"text": said}]}
    report = check_answer(Answer.model_validate(made), shown.ledger, shown.found)
    return report.ok and len(report.answer.shows) == 1


@pytest.mark.parametrize("text", [false for false, _ in ALL])
def test_what_the_rows_deny_does_not_pass(text: str, shown: Book) -> None:
    assert not passes(text, shown)


@pytest.mark.parametrize("text", [true for _, true in ALL])
def test_its_twin_that_they_bear_out_does(text: str, shown: Book) -> None:
    assert passes(text, shown)


def test_an_order_that_no_time_tells_is_not_told(shown: Book) -> None:
    """Both stand in the log of one second: which of the two came first nobody knows."""
    assert not passes("<kill.fatal_signals:1.signal_name> came first, and <kill.exceptions.name> after it.", shown)
    assert not passes("<kill.exceptions.name> came first, and <kill.fatal_signals:1.signal_name> after it.", shown)

"""Is every figure named by a word of its column, and does every other word stand in what is cited? What nothing says is refused."""

from __future__ import annotations

from functools import partial

import pytest

from agent_tools.evidence import Ledger
from agent_tools.families.base import Assessment
from agent_tools.gate.answer_gate import check_answer
from agent_tools.gate.naming import unnamed
from agent_tools.questions.answer import Answer
from agent_tools.verdict import Claim
from store.result import Cell, Coverage, Result, ResultColumn
from tests.agent_tools.gate import gatekit

JOB = {"job_id": "77"}
DOCS = {
    "elapsed_s": "time running",
    "span_min": "from the first to the last report",
    "after_s": "seconds since the first event",
    "before_end_s": "from its begin to the end of the job",
    "last_launch_ts": "end of the last interval with a launch",
    "free_gib": "what was free",
    "total_gib": "what the card has",
    "temp_max_c": "highest temperature",
    "step": "training step that is named",
}
UNITS = {
    "elapsed_s": "s",
    "span_min": "min",
    "after_s": "s",
    "before_end_s": "s",
    "free_gib": "GiB",
    "total_gib": "GiB",
    "temp_max_c": "C",
    "clock_mhz": "MHz",
}


@pytest.fixture(scope="module")
def held() -> Ledger:
    """E1 the attempt, E2 its training, E3 its events, E4 its node's failure, E5 its saves, E6 a rank, E7 a GPU, E8 an exception."""
    book = Ledger()

    def ask(name: str, columns: str, *rows: tuple[Cell, ...]) -> None:
        named = tuple(ResultColumn(c, "VARCHAR", UNITS.get(c, ""), DOCS.get(c, "")) for c in columns.split())
        book.record(
            Result(name, f"SELECT * FROM {name}", {**JOB}, named, rows, len(rows), False, (Coverage(name, 1, 1),)),
            name,
            {},
        )

    end = "2026-05-01T09:00:00Z"
    ask(
        "job_attempts",
        "attempt state start_ts end_ts elapsed_s gpus",
        (1, "NODE_FAIL", "2026-05-01T08:00:00Z", end, 3600.0, 8),
    )
    ask("train_summary", "last_step total_steps span_min", (940, 2000, 55.5))
    ask("job_events", "event after_s", ("submitted", 0.0), ("ended", 4000.0))
    ask("node_failures", "node state since_ts before_end_s", ("cn-1", "DOWN", "2026-05-01T08:59:36Z", 24.0))
    ask(
        "checkpoints",
        "name step checkpoint_ts",
        ("saved", 200, "2026-05-01T08:20:00Z"),
        ("saved", 400, "2026-05-01T08:50:00Z"),
    )
    ask("rank_compare", "rank last_launch_ts", (0, "2026-05-01T08:58:00Z"))
    ask("gpu_summary", "node gpu free_gib total_gib temp_max_c clock_mhz", ("cn-1", 0, 0.7, 39.4, 66.0, 712.0))
    ask("exceptions", "name message", ("ValueError", "bad shape"))
    book.show_all()
    return book


passes = partial(gatekit.passes, good="The job ended as [[E1.state]].")


@pytest.mark.parametrize(
    "text",
    [
        "The job failed after [[E1.elapsed_s]].",
        "It ran for [[E1.elapsed_s]] on [[E1.gpus]] GPUs.",
        "Of [[E7.total_gib]] of the card only [[E7.free_gib]] were free.",
        "GPU [[E7.gpu]] of [[E7.node]] reached [[E7.temp_max_c]].",
        "It reached step [[E2.last_step]] of [[E2.total_steps]].",
        "The first saved step is [[E5.step]].",
        "Saving started at step [[E5.step]].",
        "Its last launch was at [[E6.last_launch_ts]].",
        "[[E8.name]] was raised.",
        "The job ended [[E3:1.after_s]] after it was submitted.",
        "The clock of GPU [[E7.gpu]] of [[E7.node]] was [[E7.clock_mhz]].",
        "Node [[E4.node]] was [[E4.state]] [[E4.before_end_s]] before the end of the job.",
    ],
)
def test_a_figure_by_its_name_passes(text: str, held: Ledger) -> None:
    assert passes(text, held)


@pytest.mark.parametrize(
    "text",
    [
        "The job was there [[E2.span_min]] before its end.",
        "The cancellation came [[E3:1.after_s]] into the run.",
        "[[E4.node]] was there again [[E4.before_end_s]] later.",
        "The job had [[E2.last_step]].",
        "Eight GPUs ran at [[E7.clock_mhz]].",
    ],
)
def test_a_figure_without_a_word_of_its_column_is_sent_back(text: str, held: Ledger) -> None:
    """The remedy says what the column holds."""
    assert "no word beside it says so" in unnamed(text, held)
    assert not passes(text, held)


@pytest.mark.parametrize(
    "text",
    [
        "The job gave up at [[E1.end_ts]].",
        "Node [[E4.node]] went away at [[E4.since_ts]].",
        "Node [[E4.node]] came back at [[E4.since_ts]].",
        "The job ended with an exception: [[E1.state]].",
        "A signal came at [[E1.end_ts]], the end.",
        "The program ended as [[E1.state]].",
        "The script stopped at [[E1.end_ts]].",
        "The job wrote nothing after [[E1.elapsed_s]].",
        "The data ended at [[E1.end_ts]].",
    ],
)
def test_what_nothing_speaks_of_is_not_told(text: str, held: Ledger) -> None:
    """Small verbs with a particle, and the things of every cluster, claim something too."""
    assert not passes(text, held)


@pytest.mark.parametrize(
    "text",
    [
        "The process stopped at [[E6.last_launch_ts]].",
        "Saving began at step [[E5:1.step]].",
        "Saving started only at [[E5:1.checkpoint_ts]].",
        "Saving ended at step [[E5.step]].",
        "The end came [[E3:1.after_s]] after the job had started.",
    ],
)
def test_one_of_several_is_neither_end_nor_beginning(text: str, held: Ledger) -> None:
    assert not passes(text, held)


@pytest.mark.parametrize(
    ("code", "text", "good"),
    [
        ("F1", "A bad node: [[E4.node]] was [[E4.state]].", True),
        ("F1", "A broken GPU took [[E4.node]] down.", False),
        ("F1", "A bad cable took [[E4.node]] down.", False),
        ("B2", "A broken GPU took [[E4.node]] down.", True),
        ("B2", "The node is dead: [[E4.node]] was [[E4.state]].", False),
    ],
)
def test_a_finding_blames_what_it_is_about(code: str, text: str, good: bool, held: Ledger) -> None:
    """Of a node that went down nobody knows that its card is broken, nor the other way round."""
    own = Assessment(
        code,
        "confirmed",
        attribution="infrastructure",
        headline="x",
        speaks_for=[Claim(text="[[E4.node]] was [[E4.state]].")],
    )
    report = check_answer(Answer(short="The job ended as [[E1.state]].", shows=[Claim(text=text)]), held, [own])
    assert any("blames hardware" in p for p in report.problems) != good


@pytest.mark.parametrize(
    ("said", "so"),
    [
        ("While throttled, the SM clock was [[E1.clock_throttled_mhz]]; otherwise it was [[E1.clock_free_mhz]].", True),
        ("While throttled, the SM clock was [[E1.clock_throttled_mhz]]; otherwise it was [[E1.power_w]].", False),
        ("While throttled, the SM clock was [[E1.clock_throttled_mhz]]; it was [[E1.clock_free_mhz]].", False),
        ("The SM clock was [[E1.clock_free_mhz]]; it had begun at [[E1.clock_free_mhz]].", True),
        ("The SM clock was [[E1.clock_free_mhz]]; it had begun at [[E1.clock_throttled_mhz]].", False),
    ],
)
def test_what_it_was_otherwise_is_of_the_measure_before_it(said: str, so: bool) -> None:
    book = Ledger()
    columns = {"clock_throttled_mhz": "MHz", "clock_free_mhz": "MHz", "power_w": "W"}
    docs = {"clock_throttled_mhz": "mean in those", "clock_free_mhz": "mean in the other busy samples"}
    book.record(gatekit.result("gpu_summary", columns, [(900.0, 1900.0, 300.0)], docs=docs), "gpu_summary", {})
    book.show_all()
    assert (unnamed(said, book) == "") is so

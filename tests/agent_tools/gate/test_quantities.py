"""Words that count, order and limit are held against every row of what is cited; that nothing was found is an observation."""

from __future__ import annotations

from functools import partial

import pytest

from agent_tools.evidence import FOUND, Ledger
from store.result import Cell, Coverage, Result, ResultColumn
from tests.agent_tools.gate import gatekit

JOB = {"job_id": "77"}
SCOPE: dict[str, Cell] = {
    **JOB,
    "nodes": "cn-1,cn-2",
    "from_ts": "2026-05-01T08:00:00Z",
    "to_ts": "2026-05-01T09:00:00Z",
}


def answer(name: str, columns: str, rows: list[tuple[Cell, ...]], params: dict[str, Cell], more: int = 0) -> Result:
    """A result of a query; `more` are rows that are not held."""
    named = tuple(ResultColumn(c, "VARCHAR", "") for c in columns.split())
    count = len(rows) + more
    return Result(
        name, f"SELECT * FROM {name}", params, named, tuple(rows), count, more > 0, (Coverage(name, 1, count),)
    )


@pytest.fixture
def held() -> Ledger:
    """E1 attempts, E2 exits of four ranks, E3 XIDs (none), E4 checkpoints, E5 XIDs of one node (none), E6 a cut answer, E7 GPUs,
    E8 signals, whose first row stands for three ranks."""
    book = Ledger()
    tries: list[tuple[Cell, ...]] = [
        (1, "PREEMPTED", 4, 2, "cn-1,cn-2"), (2, "PREEMPTED", 4, 2, "cn-1,cn-2"), (3, "COMPLETED", 4, 2, "cn-1,cn-2"),
    ]  # fmt: skip
    book.record(answer("job_attempts", "attempt state gpus node_count node_list", tries, JOB), "overview", {})
    ends: list[tuple[Cell, ...]] = [
        (f"cn-{1 + r // 2}", r, None if r != 3 else 7, 15 if r != 3 else None) for r in range(4)
    ]
    book.record(answer("process_exits", "node rank exit_code exit_signal", ends, JOB), "processes", {})
    book.record(answer("gpu_events", "node gpu xid", [], SCOPE), "gpu_events", {})
    saves: list[tuple[Cell, ...]] = [
        ("checkpoint", "saving", 10, 1),
        ("checkpoint", "saving", 20, 1),
        ("note", "end", 30, 1),
    ]
    book.record(answer("log_events", "kind name line_no times", saves, JOB), "log_events", {})
    book.record(answer("gpu_events", "node gpu xid", [], {**SCOPE, "nodes": "cn-1"}), "question", {})
    book.record(answer("rank_compare", "rank node", [(0, "cn-1"), (1, "cn-1")], JOB, more=2), "compare_ranks", {})
    book.record(
        answer(
            "gpu_summary",
            "node gpu sm",
            [("cn-1", 0, 0.5), ("cn-1", 1, 0.5), ("cn-2", 0, 0.5), ("cn-2", 1, 0.4)],
            SCOPE,
        ),
        "gpu_summary",
        {},
    )
    told: list[tuple[Cell, ...]] = [(0, 3, "SIGTERM"), (3, 1, "SIGSEGV")]
    book.record(answer("fatal_signals", "rank ranks signal_name", told, JOB), "question", {})
    book.show_all()
    for id in ("E3", "E5"):
        book.mark_shown(id, [0], [FOUND])
    return book


passes = partial(gatekit.passes, good="Attempt [[E1:2.attempt]] ended as [[E1:2.state]].")


TRUE = [
    "Two attempts ended as [[E1.state]].",
    "Two of the three attempts ended as [[E1.state]].",
    "The second attempt ended as [[E1:1.state]].",
    "Only the third attempt ended as [[E1:2.state]].",
    "All three attempts ran on [[E1.node_list]].",
    "Each attempt held [[E1.gpus]] GPUs.",
    "Only rank [[E2:3.rank]] exited with code [[E2:3.exit_code]].",
    "Three ranks got signal [[E2.exit_signal]].",
    "One of its four ranks exited with code [[E2:3.exit_code]].",
    "Two ranks ran on [[E2.node]].",
    "Two checkpoints were begun, the second at line [[E4:1.line_no]].",
    "Three GPUs have an sm of [[E7.sm]].",
    "No XID was logged ([[E3.row_count]]).",
    "No XID events were recorded on the job's GPUs ([[E3.row_count]] events).",
    "No GPU events were seen on its nodes while the job ran ([[E3.row_count]]).",
    "No XID was logged: [[E3.row_count]] events were found.",
    "No XID was seen on its two nodes ([[E3.row_count]]).",
]
FALSE = {
    "another number": [
        "Three attempts ended as [[E1.state]].",
        "One attempt ended as [[E1.state]].",
        "Two of the four attempts ended as [[E1.state]].",
        "Four ranks got signal [[E2.exit_signal]].",
        "Four ranks ran on [[E2.node]].",
        "Four GPUs have an sm of [[E7.sm]].",
        "One of its eight ranks exited with code [[E2:3.exit_code]].",
        "The job had two attempts, and the last ended as [[E1:2.state]].",
    ],
    "a row that stands for several": [
        "Only rank [[E8.rank]] was ended by [[E8.signal_name]].",
        "One rank was ended by [[E8.signal_name]].",
    ],
    "another order": [
        "The second attempt ended as [[E1:2.state]].",
        "Two checkpoints were begun, the second at line [[E4.line_no]].",
        "Two checkpoints were begun, the last at line [[E4.line_no]].",
    ],
    "more than that is so": [
        "Only the first attempt ended as [[E1.state]].",
        "Only rank [[E2.rank]] got signal [[E2.exit_signal]].",
        "All three attempts ended as [[E1.state]].",
        "Each GPU has an sm of [[E7.sm]].",
        "Every rank got signal [[E2.exit_signal]].",
        "Both attempts ended as [[E1.state]].",
    ],
    "denied, hedged, or of an answer that was cut": [
        "Two attempts did not end as [[E1.state]].",
        "At least two attempts ended as [[E1.state]].",
        "All but two attempts ended as [[E1.state]].",
        "Two ranks ran on [[E6.node]].",
        "Only rank [[E6.rank]] ran on [[E6.node]].",
    ],
    "other words than the rows have": [
        "Two checkpoints were saved, the last at line [[E4:1.line_no]].",
        "Two ranks raised an exception on [[E2.node]].",
        "Two ranks crashed on [[E2.node]].",
    ],
    "an empty answer to another question": [
        "No error was logged ([[E3.row_count]]).",
        "No error events were recorded on the job's GPUs ([[E3.row_count]] events).",
        "No events were recorded on the job's nodes ([[E3.row_count]] events).",
        "No XID events were recorded on the cluster's GPUs ([[E3.row_count]] events).",
        "No XID events were recorded on the job's GPUs before it ran ([[E3.row_count]] events).",
        "No XID events hit another job while this one ran ([[E3.row_count]] events).",
        "The job's GPUs were healthy, as no XID events were seen ([[E3.row_count]] events).",
        "[[E3.row_count]] events of the job's GPUs were harmless.",
        "XIDs ended [[E3.row_count]] times.",
        "No XID events were seen on any node ([[E3.row_count]] events).",
        "On its nodes errors were logged [[E3.row_count]] times.",
        "On other nodes XIDs were logged [[E3.row_count]] times.",
        "No GPU failed ([[E3.row_count]]).",
        "No exception was raised ([[E3.row_count]]).",
        "The GPUs are healthy ([[E3.row_count]]).",
        "No XID was logged, and nobody cancelled it ([[E3.row_count]]).",
        "XIDs were logged ([[E3.row_count]]).",
        "[[E3.row_count]] checkpoints were saved.",
        "No XID and no checkpoint was seen ([[E3.row_count]]).",
        "No XID was logged because the driver hung ([[E3.row_count]]).",
    ],
    "an empty answer that reaches less far": [
        "No XID was logged ([[E5.row_count]]).",
        "No XID events were recorded on the job's GPUs ([[E5.row_count]] events).",
    ],
}


@pytest.mark.parametrize("text", TRUE)
def test_what_the_rows_say_passes(text: str, held: Ledger) -> None:
    assert passes(text, held)


@pytest.mark.parametrize("text", [t for texts in FALSE.values() for t in texts])
def test_what_they_do_not_say_does_not(text: str, held: Ledger) -> None:
    assert not passes(text, held)


def test_an_empty_answer_that_nobody_stands_for_is_not_cited(held: Ledger) -> None:
    held.record(answer("gpu_events", "node gpu", [], SCOPE | {"gpus": None}), "question", {})
    assert not held.is_shown("E9", 0, FOUND)
    assert not passes("No XID was logged ([[E9.row_count]]).", held)


def test_a_number_word_before_what_it_counts_is_no_rank(held: Ledger) -> None:
    assert not passes("Three ranks raised an exception on [[E2:3.node]].", held)


def test_of_all_numbers_exactly_the_right_ones_pass(held: Ledger) -> None:
    """Every count of every value, told of what has it: passed where the rows have as many, and nowhere else."""
    words = dict(enumerate(["One", "Two", "Three", "Four", "Five", "Six"], 1))
    for id, noun, column in (
        ("E1", "attempt", "state"),
        ("E2", "rank", "exit_signal"),
        ("E2", "rank", "exit_code"),
        ("E7", "GPU", "sm"),
    ):
        rows = held.get(id).dicts()
        for row, said in enumerate(rows):
            if said[column] is None:
                continue
            right = sum(r[column] == said[column] for r in rows)
            for number, word in words.items():
                verb = {
                    "state": "ended as",
                    "exit_signal": "got signal",
                    "exit_code": "exited with code",
                    "sm": "have an sm of",
                }[column]
                text = f"{word} {noun}{'s' if number > 1 else ''} {verb} {held.get(id).ref(column, row)}."
                assert passes(text, held) == (number == right), text
            if noun == "attempt":
                only = f"Only the {['first', 'second', 'third'][row]} attempt ended as {held.get(id).ref(column, row)}."
                assert passes(only, held) == (right == 1), only

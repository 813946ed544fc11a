"""What went on, stopped, was done or is another's is refused where its cell says otherwise; who is to blame, and what none bears out."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agent_tools.evidence import Ledger
from agent_tools.families.base import Assessment
from agent_tools.gate.agreement import disagreement
from agent_tools.gate.answer_gate import check_answer
from agent_tools.gate.blame import blames_hardware
from agent_tools.gate.causes import cause_word
from agent_tools.gate.extremes import extremes
from agent_tools.gate.findings import contradictions
from agent_tools.gate.phases import untrained
from agent_tools.questions.answer import Answer
from agent_tools.references import resolve
from store.result import Cell
from tests.agent_tools.gate.gatekit import result

DOCS = {
    "completed_ts": "last sample in which it completed a collective",
    "launched_ts": "last sample in which it launched a kernel",
    "completed_late": "collectives completed in the last minutes",
    "load_start_message": "the last message that a checkpoint is about to be loaded",
    "elapsed_s": "time running",
    "peak_gib": "highest memory in use",
}


@pytest.fixture(scope="module")
def held() -> Ledger:
    """E1 two attempts, E2 collectives, E3 a loading that began, E4 two GPUs, E5 a job that waits for another, E6 a tally."""
    book = Ledger()

    def ask(name: str, columns: str, *rows: tuple[Cell, ...], **params: Cell) -> None:
        units = {"wait_s": "s", "elapsed_s": "s", "peak_gib": "GiB"}
        made = result(name, {c: units.get(c, "") for c in columns.split()}, list(rows), docs=DOCS)
        book.record(replace(made, params=params or {"job_id": "4812"}), name, {})

    ask("job_attempts", "attempt state wait_s elapsed_s", (1, "PREEMPTED", 900.0, 60.0), (2, "FAILED", 20.0, 70.0))
    times: tuple[Cell, ...] = ("2026-06-02T10:04:00Z", "2026-06-02T10:05:00Z")
    ask("nccl_progress", "rank completed_ts launched_ts completed_late", (0, *times, 44))
    ask("resume_signs", "load_start_message", ("loading checkpoint from /m/ck-7",))
    ask("gpu_summary", "node gpu peak_gib", ("rk-1", 0, 70.0), ("rk-2", 3, 30.0))
    ask("job_overview", "state dependency", ("CANCELLED", "afterok:88"), job_id="90")
    ask("fleet_tally", "value jobs failed", ("rk-1", 9, 7), by="node")
    book.show_all()
    return book


def said(text: str) -> str:
    return text.replace("{", "[[").replace("}", "]]")


@pytest.mark.parametrize(("false", "true"), [
    ("Collectives went on completing after {E2.completed_ts}.", "Launches went on after {E2.completed_ts}."),
    ("Kernels were still launched after {E2.launched_ts}.", "No kernel was still launched after {E2.launched_ts}."),
    ("Collectives stopped before the end: {E2.completed_late} were completed in the last minutes.", "Collectives had not stopped before the end: {E2.completed_late} were completed in the last minutes."),
    ("The checkpoint was loaded, and the run resumed: {E3.load_start_message}.", "The checkpoint was to be loaded: {E3.load_start_message}."),
    ("Between the two attempts the job waited {E1.wait_s}.", "Between the two attempts the job waited {E1:1.wait_s}."),
    ("The job on which it depends was {E5.state}.", "The job that depends on another was {E5.state}."),
])  # fmt: skip
def test_what_the_cell_denies_is_turned_round(false: str, true: str, held: Ledger) -> None:
    assert disagreement(said(false), held)
    assert not disagreement(said(true), held)


def test_two_figures_are_those_of_the_two_who_are_named_in_turn(held: Ledger) -> None:
    true = "GPU {E4.gpu} of {E4.node} peaked at more than twice as much memory as GPU {E4:1.gpu} of {E4:1.node}: {E4.peak_gib} against {E4:1.peak_gib}."
    turned = "GPU {E4:1.gpu} of {E4:1.node} peaked at more than twice as much memory as GPU {E4.gpu} of {E4.node}: {E4.peak_gib} against {E4:1.peak_gib}."
    assert check_answer(Answer(short=said(true)), held, []).ok
    assert not check_answer(Answer(short=said(turned)), held, []).ok


def test_who_is_to_blame_is_hardware_where_it_is_said_so() -> None:
    for false in (
        "The GPUs are to blame: [[E6.message]].",
        "Node [[E6.node]] was at fault.",
        "The card is the culprit.",
    ):
        assert blames_hardware(false)
    for true in ("The GPUs are not to blame.", "Neither the GPUs nor the code is to blame.", "The user is to blame."):
        assert not blames_hardware(true)


def test_one_that_makes_many_fail_states_a_cause() -> None:
    assert cause_word("Node [[E6.value]] made [[E6.failed]] of its [[E6.jobs]] jobs fail.")
    assert not cause_word("Node [[E6.value]] made [[E6.jobs]] jobs, of which [[E6.failed]] failed.")


def test_training_that_nobody_reported_neither_stopped_nor_came_to_a_step(held: Ledger) -> None:
    cells = [resolve("E1.elapsed_s", held)]
    for false in ("Training stopped after [[E1.elapsed_s]].", "It got to its first step after [[E1.elapsed_s]]."):
        assert untrained(false, cells, held)
    for true in ("It never got to its first step: [[E1.elapsed_s]].", "No training stopped in [[E1.elapsed_s]]."):
        assert not untrained(true, cells, held)


def test_a_clause_that_cites_nothing_bears_no_superlative_out(held: Ledger) -> None:
    assert extremes("It was the longest of all; it ended as [[E1.state]].", held)
    assert not extremes("It was long; the attempt ended as [[E1.state]].", held)


def test_what_a_finding_says_has_not_come_has_not() -> None:
    head = "The job has not started, because its start time has not come."
    contradicts = contradictions([Assessment("A4", "confirmed", attribution="scheduler", headline=head)])
    for false in (
        "Its start time has come, yet it is [[E5.state]].",
        "Its start time had now come.",
        "The job has started.",
    ):
        assert contradicts(false, ["E5.state"])
    for true in ("Its start time has not come: [[E5.state]].", "Its start time may come.", "No start time has come."):
        assert not contradicts(true, ["E5.state"])

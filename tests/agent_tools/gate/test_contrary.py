"""What a sentence puts the wrong way round in small words is refused, and its true twin passes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agent_tools.evidence import Ledger
from agent_tools.families.base import Assessment
from agent_tools.gate.agreement import disagreement
from agent_tools.gate.answer_gate import check_answer
from agent_tools.gate.blame import blames_hardware, without_blame
from agent_tools.gate.contrary import contrary
from agent_tools.gate.extremes import extremes
from agent_tools.questions.answer import Answer
from agent_tools.verdict import Claim
from store.result import Cell
from tests.agent_tools.gate.gatekit import result

DOCS = {
    "risen_ts": "when it first rose",
    "event_ts": "when it came",
    "begin_ts": "when the state began",
    "start_loss": "median of the first tenth",
}


@pytest.fixture(scope="module")
def held() -> Ledger:
    """E1 a node's states, E2 a counter, E3 an event, E4 saves, E5 the training, E6 its loss, E7 a tally, E8 how long nodes were held,
    E9 a loss that turned NaN, E10 a card's memory, E11 what is free, E12 the reasons of one GPU, E13 two GPUs."""
    book = Ledger()

    def ask(name: str, columns: str, *rows: tuple[Cell, ...]) -> None:
        book.record(result(name, dict.fromkeys(columns.split(), ""), list(rows), docs=DOCS), name, {})

    t = "2026-06-02T10:{}:00Z".format
    ask(
        "node_states",
        "node state begin_ts until_ts",
        ("rk-4", "DOWN", t("11"), t("40")),
        ("rk-4", "IDLE", t("40"), None),
    )
    ask("gpu_counter_rises", "counter rise risen_ts", ("ecc_dbe_total", 3, t("32")))
    ask("gpu_events", "xid event_ts", (48, t("30")))
    ask("save_pace", "saves steps", (24, 24), (5, 24))
    ask("train_summary", "last_step total_steps", (240, 240), (180, 240))
    ask("loss_shape", "best_loss best_step last_loss last_step start_loss end_loss", (1.9, 120, 2.4, 240, 6.1, 2.5))
    ask("fleet_tally", "value failed gpu_hours_held", ("ada", 7, 30.0), ("bo", 2, 91.0), ("cy", 4, 12.0))
    ask("quiet_end", "elapsed_min steps", (41.0, 0))
    ask("loss_shape", "last_loss last_good_loss last_good_step last_step trailing_bad", (2.2, 2.2, 190, 240, 5))
    ask("gpu_summary", "peak_gib last_gib", (61.0, 0.7))
    ask(
        "nodes_free",
        "node gpus_free cpus_free all_gpus all_free",
        ("rk-1", 3, 2, 12, 5),
        ("rk-2", 2, 0, 12, 5),
        ("rk-3", 0, 5, 12, 5),
    )
    one = result("gpu_throttle_reasons", {"reason": "", "minutes": ""}, [("power brake", 12)])
    book.record(replace(one, params={"job_id": "4812", "of_node": "rk-1", "of_gpu": 3}), "gpu_throttle_reasons", {})
    ask("gpu_summary", "node gpu temp_max_c", ("rk-1", 3, 71.0), ("rk-1", 4, 66.0))
    book.show_all()
    return book


TURNED = [
    ("Node {E1.node} was {E1.state} until {E1.begin_ts}.", "Node {E1.node} was {E1.state} from {E1.begin_ts} on."),
    ("Node {E1:1.node} was {E1:1.state} up to {E1:1.begin_ts}.", "Node {E1.node} was {E1.state} until {E1.until_ts}."),
    ("Since then the loss fell from {E6.start_loss} to {E6.end_loss}.", "The best loss was at step {E6.best_step}; since then it went to {E6.last_loss}."),
    ("The counter rose first, at {E2.risen_ts}; the XID came at {E3.event_ts}.", "The XID came first, at {E3.event_ts}; the counter rose at {E2.risen_ts}."),
    ("At {E3.event_ts} the XID came, but the counter rose first, at {E2.risen_ts}.", "The counter rose first at {E2.risen_ts}."),
    ("The run saved at only {E4.saves} of its steps.", "The run saved at only {E4:1.saves} of its steps."),
    ("The run saved at only {E4.saves} of its {E4.steps} steps.", "The run saved at {E4.saves} of its {E4.steps} steps."),
    ("It ended before all {E5.total_steps} planned steps.", "It ended before all {E5:1.total_steps} planned steps: it had reached {E5:1.last_step}."),
    ("The loss was at its best, {E6.best_loss}, at the last step, {E6.last_step}.", "The loss was at its best, {E6.best_loss}, at step {E6.best_step}."),
    ("The last loss was {E6.last_loss}, at step {E6.best_step}.", "The last loss was {E6.last_loss}, at step {E6.last_step}."),
    ("The loss was {E9.last_loss} at step {E9.last_step}.", "The loss was {E9.last_loss} at step {E9.last_good_step}."),
    ("At step {E9.last_step} the loss was {E9.last_loss}.", "At step {E6.last_step} the loss was {E6.last_loss}."),
    ("At step {E9.last_step} the loss stood at {E9.last_good_loss}.", "At step {E9.last_good_step} the loss stood at {E9.last_good_loss}."),
    ("The job failed before it was submitted, after {E8.elapsed_min} min.", "The job failed after {E8.elapsed_min} min."),
    ("The node crashed after {E8.elapsed_min} min.", "The program crashed after {E8.elapsed_min} min."),
    ("Memory rose from {E10.last_gib} to a peak of {E10.peak_gib}.", "Memory fell from a peak of {E10.peak_gib} to {E10.last_gib}."),
    ("The loss rose from {E6.end_loss} to {E6.start_loss}.", "The loss fell from {E6.start_loss} to {E6.end_loss}."),
    ("{E11.all_free} of {E11.all_gpus} GPUs are free, all of them on {E11:2.node}.", "{E11.all_free} of {E11.all_gpus} GPUs are free, all of them on {E11.node} and {E11:1.node}."),
    ("{E11.all_free} GPUs are free, all on nodes {E11.node} and {E11:2.node}.", "{E11.gpus_free} GPUs are free on node {E11.node}."),
]  # fmt: skip


@pytest.mark.parametrize(("false", "true"), TURNED)
def test_what_is_turned_round_is_refused(false: str, true: str, held: Ledger) -> None:
    assert contrary(_said(false), held)
    assert not contrary(_said(true), held)


TWO_SUPERLATIVES = [
    ("{E7:1.value} had the fewest failures, {E7:1.failed}, and held the fewest GPU hours, {E7:1.gpu_hours_held}.",
     "{E7:1.value} had the fewest failures, {E7:1.failed}, and held the most GPU hours, {E7:1.gpu_hours_held}."),
    ("{E7:1.value} had the most failures, {E7:1.failed}, and {E7.value} the fewest, {E7.failed}.",
     "{E7.value} had the most failures, {E7.failed}, and {E7:1.value} the fewest, {E7:1.failed}."),
    ("The loss of the first attempt fell from {E6.start_loss} to {E6.end_loss}.", "The last loss was {E6.last_loss}."),
]  # fmt: skip


@pytest.mark.parametrize(("false", "true"), TWO_SUPERLATIVES)
def test_each_superlative_is_of_the_figure_behind_it(false: str, true: str, held: Ledger) -> None:
    assert extremes(_said(false), held)
    assert not extremes(_said(true), held)


def test_a_finding_that_there_was_none_is_not_turned_into_one(held: Ledger) -> None:
    """`reported no step` says nothing that would bear out `reported a step`."""
    found = Assessment(
        "C1",
        "confirmed",
        confidence=0.9,
        attribution="undetermined",
        headline="The ranks hung at the start.",
        speaks_for=[Claim(text="The job held its nodes for [[E8.elapsed_min]] min and reported no step.")],
    )

    def passes(text: str) -> bool:
        return check_answer(Answer(short=_said(text)), held, [found]).ok

    assert passes("The job held its nodes for {E8.elapsed_min} min and never reported a step.")
    assert not passes("The job held its nodes for {E8.elapsed_min} min and reported a step.")
    assert not passes("The job held its nodes for {E8.elapsed_min} min and reported several steps.")


def test_a_question_that_was_asked_of_one_gpu_tells_nothing_of_another(held: Ledger) -> None:
    text = "GPU {E13.gpu} of {E13.node} was throttled for {E12.reason}."
    assert disagreement(_said(text.replace("E13", "E13:1")), held)
    assert not disagreement(_said(text), held)


@pytest.mark.parametrize("state", ["RUNNING", "PENDING", "FAILED"])
def test_a_job_that_goes_on_did_not_end(state: str) -> None:
    book = Ledger()
    made = result("job_attempts", {"attempt": "", "state": "", "elapsed_s": "s"}, [(1, state, 400.0)])
    book.record(replace(made, params={"job_id": "4812"}), "job_attempts", {})
    book.show_all()
    goes_on = state != "FAILED"
    assert bool(contrary("The job ended after [[E1.elapsed_s]].", book)) is goes_on
    assert bool(contrary("It failed after [[E1.elapsed_s]].", book)) is goes_on
    assert not contrary("The job has not ended: it has run for [[E1.elapsed_s]].", book)


def test_hardware_that_is_said_not_to_be_at_fault_is_not_blamed() -> None:
    """So the denial has to be borne out as any other, instead of being left out as a part of the blame."""
    denied = "The hardware is not at fault: the code that ran on it is."
    assert not blames_hardware(denied)
    assert without_blame(denied) == denied
    for blame in (
        "The hardware is at fault.",
        "The hardware is not only slow: it has a fault.",
        "The memory is not at fault: a broken card is.",
        "The hardware is not at fault on the first node: the second has a faulty GPU.",
    ):
        assert blames_hardware(blame)


def _said(text: str) -> str:
    return text.replace("{", "[[").replace("}", "]]")

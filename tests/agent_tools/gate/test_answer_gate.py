"""The gate for answers: figures and names from shown cells, causes from somebody who can know, hardware never by guess."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from agent_tools.evidence import Ledger
from agent_tools.families.base import Assessment
from agent_tools.gate.answer_gate import check_answer
from agent_tools.questions.answer import Answer
from agent_tools.verdict import Claim, Missing
from store import Reader, Writer
from store.rows import SlurmJob, Verdict

T = datetime(2026, 3, 1, 10, tzinfo=UTC)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    """E1: two jobs on gpu-07; job 5 has a stored verdict F1, job 6 has none."""
    rows = [
        SlurmJob(
            job_id=n, attempt=1, name="run", user="ada", state=s, node_list="gpu-07", gpus=8, start_ts=T, end_ts=e, ts=e
        )
        for n, s, e in (("5", "NODE_FAIL", T + timedelta(hours=2)), ("6", "FAILED", T + timedelta(hours=1)))
    ]
    stored = Verdict(job_id="5", attempt=1, ts=T, family="F1", attribution="infrastructure", confidence=0.9)
    Writer(tmp_path / "lake", durable=False).append([*rows, stored], batch="b")
    with Reader(tmp_path / "lake") as reader:
        ledger = Ledger()
        ledger.ask(reader, "find_jobs", node="gpu-07")
        ledger.show_all()
        yield ledger


def problems(ledger: Ledger, short: str, assessments: tuple[Assessment, ...] = (), **fields: object) -> list[str]:
    return check_answer(Answer.model_validate({"short": short, **fields}), ledger, assessments).problems


def test_an_answer_of_shown_cells_passes(ledger: Ledger):
    assert not problems(ledger, "Job [[E1.job_id]] ended in [[E1.state]] on [[E1.node_list]].")


def test_figures_are_cells(ledger: Ledger):
    assert "no shown cell" in problems(ledger, "There were 17 failures on [[E1.node_list]].")[0]
    assert "E9" in problems(ledger, "See [[E9.state]].")[0]


@pytest.mark.parametrize(
    "guess",
    [
        "Job [[E1:1.job_id]] failed because of [[E1:1.node_list]].",
        "[[E1:1.node_list]] killed job [[E1:1.job_id]].",
        "The failure of [[E1:1.job_id]] was due to [[E1:1.node_list]].",
    ],
)
def test_a_cause_that_nobody_stated_is_refused_and_a_hypothesis_is_called_one(ledger: Ledger, guess: str):
    assert "states a cause that nothing it cites states" in problems(ledger, guess)[0]
    answer = Answer(short="See [[E1:1.state]].", implies=[Claim(text=guess, status="established")])
    report = check_answer(answer, ledger, ())
    assert report.ok
    assert report.answer.implies[0].status == "hypothesis"


def test_a_stored_verdict_states_a_cause(ledger: Ledger):
    said = "Node [[E1.node_list]] killed job [[E1.job_id]]: its verdict is [[E1.family]]."
    assert not problems(ledger, said)


@pytest.mark.parametrize(
    "blame",
    [
        "[[E1:1.node_list]] has a faulty GPU, says [[E1:1.state]].",
        "The GPU of [[E1:1.node_list]] died: [[E1:1.state]].",
        "This is a hardware problem of [[E1:1.node_list]].",
        "Nothing but a hardware fault fits [[E1:1.state]].",
    ],
)
def test_hardware_is_blamed_only_with_a_verdict_that_does(ledger: Ledger, blame: str):
    assert "blames hardware" in problems(ledger, blame)[0]


def test_hardware_may_be_blamed_where_the_verdict_does_and_denied_anywhere(ledger: Ledger):
    assert not problems(ledger, "The node [[E1.node_list]] failed with a hardware fault: [[E1.family]].")
    clean = Assessment(
        "B2",
        "ruled_out",
        attribution="infrastructure",
        counterfactual="No hardware fault was reported: [[E1:1.state]].",
    )
    denied = "No hardware fault was reported for [[E1:1.job_id]]: [[E1:1.state]]."
    assert not problems(ledger, denied, (clean,))
    assert problems(ledger, denied), "that nothing was seen is no finding"


@pytest.mark.parametrize("advice", ["Take node {} out of service.", "Replace the GPU of {}.", "Send node {} back."])
def test_what_only_broken_hardware_needs_is_advised_where_the_rules_offer_it(ledger: Ledger, advice: str):
    """A node that a finding blames, and another."""
    said = "Job [[E1.job_id]] on [[E1.node_list]] has the verdict [[E1.family]]."
    guilty, other = (Claim(text=advice.format(cell)) for cell in ("[[E1.node_list]]", "[[E1:1.job_id]]"))
    fault = Assessment("B2", "confirmed", headline="A counter of [[E1.node_list]] rose", actions=[guilty])
    assert not problems(ledger, said, (fault,), actions=[guilty])
    assert problems(ledger, said, (fault,), actions=[other])
    assert "is quoted" in problems(ledger, said, actions=[guilty])[0]


def test_an_assessment_of_an_opened_job_backs_a_cause(ledger: Ledger):
    own = Assessment(
        "A3", "confirmed", attribution="job", headline="x", speaks_for=[Claim(text="It ended in [[E1:1.state]].")]
    )
    said = "It failed because it ended so: [[E1:1.state]]."
    assert problems(ledger, said)
    assert not problems(ledger, said, (own,))
    other = "It failed because of the network: [[E1:1.state]]."
    assert problems(ledger, other, (own,)), "the assessment speaks of no network"
    known = Assessment("C1", "confirmed", attribution="job", headline="The network was down: [[E1:1.state]].")
    assert not problems(ledger, other, (known,))


def test_an_answer_that_cites_nothing_says_what_is_missing(ledger: Ledger):
    assert "short cites nothing" in problems(ledger, "All is well.")[0]
    missing = [Missing(text="Whether it is the same node.", signal="accounting with node lists")]
    assert not problems(ledger, "The telemetry does not say.", cannot_answer=missing)

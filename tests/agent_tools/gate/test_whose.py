"""Of which job a cell is, of a part or of the whole, and whether it trained by then: false is refused, and its true twin passes."""

from __future__ import annotations

import pytest

from agent_tools.gate.answer_gate import check_answer
from agent_tools.gate.citations import Gate
from agent_tools.questions.answer import Answer
from agent_tools.verdict import Claim, Draft
from tests.agent_tools.gate.wordkit import Book, book

MORE = {"cut": ("cut-json-line", "4812"), "bad": ("bad-record", "4809"), "hang": ("collective-hang", "4831")}
WHOSE = [
    ("The job had <kill.job_overview.gpus> GPUs and <nan.job_overview.cpus> CPUs.", "The job had <kill.job_overview.gpus> GPUs and <kill.job_overview.cpus> CPUs."),
    ("The run ended as <down.job_overview.state> after <kill.job_overview.elapsed_s>.", "The run ended as <down.job_overview.state> after <down.job_overview.elapsed_s>."),
    ("Slurm recorded exit code <hang.slurm_messages.exit_code> for job <hang.job_overview.job_id>.", "Slurm recorded exit code <hang.job_overview.exit_code> for job <hang.job_overview.job_id>."),
    ("Job <hang.job_overview.job_id> ended with exit code <hang.slurm_messages.exit_code>.", "Job <kill.job_overview.job_id> ended with exit code <kill.slurm_messages.exit_code>."),
    ("<cut.exceptions.name> was raised during training.", "<bad.exceptions.name> was raised during training."),
    ("Training had started when <cut.exceptions.name> was raised.", "Training had started when <bad.exceptions.name> was raised."),
    ("<cut.exceptions.cause_name> came while training.", "<bad.exceptions.name> came during training."),
    ("On average it took <nan.job_overview.elapsed_s>.", "The average SM activity was <wide.gpu_summary.sm_mean>."),
    ("The exception at line <cut.exceptions:2.line_no> is the first.", "The exception at line <cut.exceptions.line_no> is the first."),
    ("What was raised at line <cut.exceptions:1.line_no> was the first in the log.", "What was raised at line <cut.exceptions.line_no> was the first in the log."),
    ("The first exception is at line <cut.exceptions:1.line_no>.", "The first exception is at line <cut.exceptions.line_no>."),
    ("<cut.exceptions.name> stopped training.", "<cut.exceptions.name> ended the job."),
]  # fmt: skip


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Book:
    """The evidence of eight jobs: `cut` crashed before training, `bad` in it."""
    return book(tmp_path_factory.mktemp("lake"), MORE, besides=[("kill", "similar_jobs")])


def passes(text: str, shown: Book, job: str = "") -> bool:
    return check_answer(Answer(short=shown.said(text)), shown.ledger, shown.found, job=job).ok


@pytest.mark.parametrize("text", [false for false, _ in WHOSE])
def test_what_is_of_another_is_refused(shown: Book, text: str) -> None:
    assert not passes(text, shown)


@pytest.mark.parametrize("text", [true for _, true in WHOSE])
def test_what_is_its_own_passes(shown: Book, text: str) -> None:
    assert passes(text, shown)


def test_a_cell_of_another_job_than_the_answer_s_stands_beside_its_id(shown: Book) -> None:
    """Several jobs were opened on the way; a reader takes `the job` for the one that stands above the answer."""
    bare, named = (
        "The job waited <nan.job_overview.wait_s>.",
        "Job <nan.job_overview.job_id> waited <nan.job_overview.wait_s>.",
    )
    assert passes(bare, shown, job=shown.jobs["nan"])
    assert not passes(bare, shown, job=shown.jobs["kill"])
    assert passes(named, shown, job=shown.jobs["kill"])


OF_ROWS = [
    ("The job ended at step <kill.similar_jobs:1.last_step>.", "Job <kill.similar_jobs:1.job_id> ended at step <kill.similar_jobs:1.last_step>."),
    ("The job ran on <find_jobs:2.node_list>.", "The job ran on <kill.job_overview.node_list>."),
    ("The run lasted <nan.job_overview.elapsed_s>.", "The run lasted <kill.job_overview.elapsed_s>."),
    ("The job's last loss was <down.train_summary.last_loss>.", "The job's last loss was <kill.train_summary.last_loss>."),
    ("Training had reached step <down.train_summary.last_step>.", "Training had reached step <kill.train_summary.last_step>."),
]  # fmt: skip


def verdict(text: str, shown: Book, job: str) -> list[str]:
    """What the gate says of a verdict on a job that shows one sentence."""
    good = shown.said("Job <kill.job_overview.job_id> ended as <kill.job_overview.state>.")
    draft = Draft(
        family="U0", confidence=0.3, attribution="undetermined", headline=good, shows=[Claim(text=shown.said(text))]
    )
    return Gate().check(draft, shown.ledger, [], job=job).problems


@pytest.mark.parametrize("text", [false for false, _ in OF_ROWS])
def test_what_is_of_another_job_is_refused_in_a_verdict_as_in_an_answer(shown: Book, text: str) -> None:
    assert any("is of job" in why for why in verdict(text, shown, shown.jobs["kill"]))
    assert not passes(text, shown, job=shown.jobs["kill"])


@pytest.mark.parametrize("text", [true for _, true in OF_ROWS])
def test_what_is_of_its_own_job_or_names_the_other_passes_in_both(shown: Book, text: str) -> None:
    assert verdict(text, shown, shown.jobs["kill"]) == []
    assert passes(text, shown, job=shown.jobs["kill"])


def test_a_pruned_verdict_loses_what_is_of_another_job(shown: Book) -> None:
    text = shown.said("The run lasted <nan.job_overview.elapsed_s>.")
    draft = Draft(family="U0", confidence=0.3, attribution="undetermined", headline="", shows=[Claim(text=text)])
    assert Gate().prune(draft, shown.ledger, [], job=shown.jobs["kill"]).draft.shows == []
    assert Gate().prune(draft, shown.ledger, [], job=shown.jobs["nan"]).draft.shows

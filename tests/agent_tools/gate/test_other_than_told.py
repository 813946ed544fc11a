"""Of another limit, doer, save, attempt or side than is told: false is refused, and its true twin passes."""

from __future__ import annotations

import pytest

from agent_tools.evidence import Ledger
from agent_tools.families.base import Assessment
from agent_tools.gate.answer_gate import check_answer
from agent_tools.questions.answer import Answer
from agent_tools.verdict import Claim
from tests.agent_tools.gate.gatekit import result
from tests.agent_tools.gate.wordkit import Book, book, sides

DOCS = {"peak_gib": "highest memory", "limit_gib": "memory.max"}
MORE = {
    "disk": ("disk-full", "4810"),
    "wall": ("time-limit", "73101"),
    "meet": ("no-rendezvous-torchrun", "4825"),
}
SAID = [
    ("The job ran into its time limit after <meet.rendezvous_events.timeout_s>.", "The limit that was hit was <meet.rendezvous_events.timeout_s>."),
    ("The job hit its time limit of <meet.job_overview.time_limit_min>.", "The job ran into its time limit of <wall.job_overview.time_limit_min>."),
    ("The job was stopped by its time limit of <kill.job_overview.time_limit_min>.", "The job had a time limit of <kill.job_overview.time_limit_min>."),
    ("The rendezvous timed out after <meet.job_overview.elapsed_s> on <meet.rendezvous_events.ranks> ranks.", "The rendezvous timed out after <meet.rendezvous_events.timeout_s> on <meet.rendezvous_events.ranks> ranks."),
    ("The root cause of <meet.exceptions.cause_name> is <meet.exceptions.name>.", "The root cause of <meet.exceptions.name> is <meet.exceptions.cause_name>."),
    ("User <kill.job_overview.user> had lowered the loss to <kill.train_summary.last_loss>.", "User <kill.job_overview.user> submitted the job at <kill.job_overview.submit_ts>."),
    ("User <disk.job_overview.user> filled the device.", "The job of user <disk.job_overview.user> ended as <disk.job_overview.state>."),
    ("User <kill.job_overview.user> sent the signal <kill.fatal_signals.signal_name>.", "Job <find_jobs.job_id> of <find_jobs.user> ended on <find_jobs.node_list> after <find_jobs.elapsed_s>."),
    ("Before the exception no step was reported (<disk.exceptions.steps_after>).", "After the exception no further step was reported (<disk.exceptions.steps_after>)."),
    ("After the exception no further checkpoint was saved (<disk.exceptions.steps_after>).", "After the exception no step was reported (<disk.exceptions.steps_after>)."),
    ("Job <kill.similar_jobs:1.job_id>, which ran on the same node before, completed.", "Job <kill.job_overview.job_id> ended as <kill.job_overview.state>."),
]  # fmt: skip


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Book:
    """The evidence of jobs that ran into several limits."""
    return book(
        tmp_path_factory.mktemp("lake"), MORE | {"late": ("healthy-ddp", "4824")}, besides=[("kill", "similar_jobs")]
    )


test_what_is_told_of_another_is_refused, test_what_is_told_of_its_own_passes = sides(SAID)


def held() -> Ledger:
    """An allocation that failed on GPU 7, what GPUs 0 and 7 used, the saves, the last step, and the job's memory."""
    found = Ledger()
    asked = {"job_id": "4812"}
    found.record(result("oom_events", {"gpu": "", "requested_gib": "GiB"}, [(7, 4.4)]), "oom_events", asked)
    used = {"node": "", "gpu": "", "peak_gib": "GiB"}
    found.record(result("gpu_summary", used, [("n1", 0, 20.0), ("n1", 7, 38.0)]), "gpu_summary", asked)
    saves = {"name": "", "step": "", "message": ""}
    rows = [("saved", 100, "saved checkpoint 100"), ("saved", 200, "saved checkpoint 200")]
    found.record(result("checkpoints", saves, [*rows]), "checkpoints", asked)
    found.record(result("train_summary", {"last_step": "", "reports": ""}, [(230, 23)]), "train_summary", asked)
    memory = {"node": "", "peak_gib": "GiB", "limit_gib": "GiB", "used": "ratio", "oom_kills": ""}
    found.record(result("cgroup_peaks", memory, [("n1", 30.0, 100.0, 0.3, 0)], docs=DOCS), "cgroup_peaks", asked)
    found.show_all()
    return found


FOUND = Assessment(
    "B1",
    "confirmed",
    confidence=0.9,
    attribution="job",
    headline="GPU [[E1.gpu]] ran out of memory: [[E1.requested_gib]] were asked for.",
    speaks_for=[Claim(text="The sampled peak was [[E2.peak_gib]] on GPU [[E2.gpu]] of [[E2.node]].")],
)


@pytest.mark.parametrize(
    ("false", "true"),
    [
        (
            "GPU [[E2.gpu]] of [[E2.node]] ran out of memory.",
            "GPU [[E1.gpu]] ran out of memory: [[E1.requested_gib]] were requested.",
        ),
        ("The checkpoint of step [[E4.last_step]] was saved.", "The checkpoint of step [[E3:1.step]] was saved."),
        (
            "Checkpoints were saved at steps [[E3.step]], [[E3:1.step]] and [[E4.last_step]].",
            "Checkpoints were saved at steps [[E3.step]] and [[E3:1.step]].",
        ),
        (
            "Host memory was the limit: the peak was [[E5.peak_gib]] of [[E5.limit_gib]].",
            "The peak of host memory was [[E5.peak_gib]] of [[E5.limit_gib]].",
        ),
    ],
)
def test_the_finding_of_one_is_not_that_of_another(false: str, true: str) -> None:
    assert not check_answer(Answer(short=false), held(), [FOUND]).ok
    assert check_answer(Answer(short=true), held(), [FOUND]).problems == []

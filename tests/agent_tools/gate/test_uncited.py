"""What to do is quoted from what the rules offer, or only looks; what is open takes nothing for granted."""

from __future__ import annotations

from typing import Any

import pytest

from agent_tools.families.base import Assessment
from agent_tools.gate.answer_gate import check_answer
from agent_tools.gate.citations import Gate
from agent_tools.questions.answer import Answer
from agent_tools.verdict import Claim, Draft, Missing
from tests.agent_tools.gate.gatekit import assessments, draft, ledger, result

HELD = ledger()
ACTIONS = [
    "Shard the optimizer, lower the batch size, or use less: fewer workers, smaller prefetch.",
    "Go on from step [[E1.restarts]] on [[E1.node]].",
    "If it happens again on [[E1.node]], drain the node, and tell the operators.",
    "Nothing has to be done about the card.",
]
ASKED = ("Why the plan is too large.", "the run's configuration")
FOUND = [
    Assessment(
        "B1",
        "confirmed",
        confidence=0.9,
        attribution="job",
        headline="Rank [[E2.rank]] asked for [[E2.requested_bytes]]",
        speaks_for=[Claim(text="Rank [[E2.rank]] asked for [[E2.requested_bytes]].")],
        actions=[Claim(text=t) for t in ACTIONS],
        missing=[Missing(text=ASKED[0], signal=ASKED[1])],
    ),
    *assessments()[1:],
]
GOOD = "Rank [[E2:1.rank]] asked for [[E2:1.requested_bytes]]."

QUOTED = {
    ACTIONS[0]: ACTIONS[0],
    "shard the optimizer, lower the batch size, or use less: fewer workers, smaller prefetch": ACTIONS[0],
    "**Shard the optimizer**, lower the `batch size`, or use less: fewer workers, smaller prefetch.": ACTIONS[0],
    "Lower the batch size.": "Lower the batch size.",
    "Use fewer workers.": "Fewer workers.",
    "Shard the optimizer, and lower the batch size": "Shard the optimizer; lower the batch size.",
    "Lower the batch size; go on from step [[E1.restarts]] on gpu-07.": (
        "Lower the batch size; Go on from step [[E1.restarts]] on [[E1.node]]."
    ),
    "Go on from step 2 on gpu-07.": ACTIONS[1],
    "If it happens again on gpu-07, drain the node, and tell the operators.": ACTIONS[2],
}
NOT_QUOTED = [
    "Drain the node.",
    "Drain the node, and tell the operators.",
    "Go on from step [[E1.gpus]] on [[E1.node]].",
    "Go on from step [[E1.restarts]].",
    "Lower the batch size so that it fits.",
    "Lower the batch size, since the loader leaked.",
    "Shard the optimizer of the broken rank.",
    "Raise the batch size.",
    "Ask for a longer time limit.",
    "Wait for a repair.",
]
LOOKING = [
    "Check the ECC counters of [[E1.node]] with nvidia-smi.",
    "Look for XIDs in the kernel log of [[E1.node]].",
    "Check the kernel log of [[E1.node]] around [[E1.end_ts]] for an OOM kill.",
    "Look at the log of rank [[E2.rank]] first, then compare it with the log of another rank.",
    "Compare the configuration with that of an earlier run.",
    "Please check whether other jobs on [[E1.node]] failed too.",
    "Ask the owner of the job whether the batch size was changed.",
    "Ask the operators for the kernel log of [[E1.node]].",
    "Find out how much memory each worker holds.",
    "Verify that the checkpoint can be read.",
    "Query `gpu_sample` for the memory of each GPU over time.",
    "Run `dcgmi diag` on [[E1.node]].",
    "Record the memory of each rank in the next run.",
    "Check clocks, temperature and PCIe link width of the GPUs.",
    "Read the last lines of the log, and look for warnings.",
    "Find out why rank [[E2.rank]] asked for [[E2.requested_bytes]].",
    "Find out why the plan is too large.",
    "Read the last lines of rank [[E2.rank]]'s log.",
    "Check for core dumps.",
]
TAKEN_FOR_GRANTED = [
    "Check the leak of the loader.",
    "Check the kernel log of [[E1.node]] for the OOM kill of rank [[E2:1.rank]].",
    "Compare rank [[E2.rank]], the culprit, with the others.",
    "Look at the node, which was overloaded.",
    "Check the loader, because it stalled.",
    "Check the disk: it was full.",
    "Check the node and restart the job.",
    "Check the log and limit memory.",
    "Check the log, then end the job.",
    "Check the log and cap [[E1.node]].",
    "A user killed the job of [[E1.node]].",
    "Check the low clocks of the GPU.",
    "Check the affected node.",
    "Compare rank [[E2.rank]], the reason, with the others.",
    "Read the kernel log: nothing is there.",
    "Look at the node that failed.",
    "Compare rank [[E2.rank]] with those that asked.",
    "Inspect the core dump of [[E1.node]].",
    "Ask who else used the memory of [[E1.node]].",
    "Check whether the job ran before its data was lost.",
    "Ask the team to give the GPUs back.",
    "Ask for more memory.",
    "Ask the user why the job was cancelled.",
    "Check when the node went down.",
    "Find out who took the GPU.",
    "Run the job with a smaller batch.",
    "See how the neighbour crashed the job.",
    "Check whether the second crash came from the same rank.",
    'Look at "the broken card".',
    "Look at the `broken card`.",
]
OPEN = [
    "Whether the GPU had ECC errors.",
    "Whether another process held memory on the card.",
    "Whether a node of the job went down.",
    "Whether the loader leaked.",
    "Whether the scheduler preempted another job.",
    "Whether the dataset is copied per worker.",
    "How much memory each process used.",
    "Why rank [[E2.rank]] asked for [[E2.requested_bytes]].",
    "Whether the cause is the loader or the network.",
    "The telemetry does not say whether a process was killed.",
    "No log says how much memory the job used.",
    "It is not known why the plan is too large.",
    "Why the plan is too large is not recorded.",
    "Memory of the processes over time.",
    *ASKED,
]

SLIPPED = {
    "who did it": [
        "Tell the user who deleted the checkpoint to stop doing that.",
        "Ask the administrator who cancelled it.",
        "Upgrade the driver that crashed.",
        "Free the memory leaked by the data loader.",
        "Look at the InfiniBand link that flapped.",
    ],
    "a trouble that nothing shows": [
        "Clean up the full disk and resubmit.",
        "Investigate the thermal throttling on [[E1.node]].",
        "Look at the ECC errors of [[E1.node]].",
        "Move the job off the overheated GPU.",
        "Rerun after the network outage is over.",
        "Wait for the power failure to end.",
        "Restore the deleted files from backup.",
        "Warn the users of [[E1.node]] about its fault.",
    ],
    "a reason": [
        "Restart the job now that the file server is back.",
        "Given the overheating, improve the cooling of the rack.",
        "Retrain from scratch as the weights are poisoned.",
        "Since [[E1.node]] is unstable, set it aside.",
        "Resume from the last checkpoint, which is intact.",
    ],
    "a statement": [
        "Note that the GPU is failing.",
        "Keep in mind that rank [[E2:1.rank]] hung before.",
        "Use another node, the GPU there is fine.",
    ],
    "somebody of whom nothing speaks": [
        "Tell the other team to release the memory they took.",
        "Tell the neighbour on [[E1.node]] to stop its job.",
        "Have the intruder removed from [[E1.node]].",
        "Ask the owner of the competing process to stop it.",
        "Wait until the other jobs on [[E1.node]] have finished.",
        "Get the colleague to give back the GPU.",
        "Move the run away from the neighbouring users of [[E1.node]].",
        "Stop the miner on [[E1.node]].",
        "Have the crypto job removed.",
        "Ask the person on [[E1.node]] to log off.",
        "Report the person responsible for killing rank [[E2:1.rank]].",
        "Ask the operator why [[E1.node]] was drained.",
        "Ask the user why they preempted the job.",
        "See how the neighbour crashed the job.",
        "See how the user crashed the node.",
    ],
    "what somebody did": [
        "Undo yesterday's change of the batch size.",
        "Roll back the last driver update.",
        "Go back to the version from before the upgrade.",
        "Resume from the checkpoint that was saved at step [[E4.step]].",
        "Restore the snapshot of step [[E4.step]].",
        "Reload the weights saved at step [[E4.step]].",
    ],
    "what was otherwise before": [
        "Switch the loader back to the old format.",
        "Go back to the previous container image.",
        "Restore the batch size.",
        "Revert to the earlier driver version.",
        "Turn the flag back on.",
        "Use the original learning rate.",
        "Return to the configuration that worked.",
        "Check the recent kernel patch.",
        "Ask what the update made last night has changed.",
        "Stop loading the validation set into memory.",
    ],
    "that nothing is so": [
        "Raise the limit above [[E1.elapsed_s]]; nothing else is wrong.",
        "Rerun it; no process has leaked.",
        "Rerun it; nobody was at fault.",
        "Lower the learning rate, since the loss exploded.",
    ],
    "a verdict on a machine": [
        "Do not use [[E1.node]] any more.",
        "Stop scheduling on [[E1.node]].",
        "Avoid [[E1.node]] in the next run.",
        "Ask the vendor for a new GPU for [[E1.node]].",
        "Get a node with working GPUs.",
        "Take [[E1.node]] out of the partition.",
    ],
}
SUPPOSED = [
    "The telemetry does not show any leak.",
    "No log has an exception.",
    "Nothing in the kernel log of [[E1.node]].",
    "The memory of the host, not the GPU.",
    "Who deleted the checkpoint.",
    "Why the loader leaked memory.",
    "How long the node had been overheating.",
    "Whether the ECC errors came before the crash.",
    "Which of the ranks had deadlocked.",
    "The exact time of the power failure.",
    "The name of the user who cancelled the job.",
    "At what temperature the card shut down.",
    "Whether the driver update before this run changed the memory layout.",
    "Whether the previous image was slower.",
    "Whether the old format needed less memory.",
    "Whether the newly installed library is slower.",
]


def answer(found: list[Assessment] = FOUND, **fields: Any) -> list[str]:
    return check_answer(Answer.model_validate({"short": GOOD, **fields}), HELD, found).problems


def verdict(preferred: Draft | None = None, **fields: Any) -> list[str]:
    return Gate().check(draft(**fields), HELD, FOUND, preferred).problems


@pytest.mark.parametrize(("text", "shown"), QUOTED.items())
def test_what_is_offered_may_be_given_in_other_marks_and_in_parts(text: str, shown: str) -> None:
    report = check_answer(Answer.model_validate({"short": GOOD, "actions": [{"text": text}]}), HELD, FOUND)
    assert (report.problems, [c.text for c in report.answer.actions]) == ([], [shown])
    assert verdict(actions=[{"text": text}]) == []


@pytest.mark.parametrize("text", [*NOT_QUOTED, *(t for kind in SLIPPED.values() for t in kind), *TAKEN_FOR_GRANTED])
def test_advice_slips_nothing_in(text: str) -> None:
    assert answer(actions=[{"text": text}])
    assert verdict(actions=[{"text": text}])


@pytest.mark.parametrize("text", LOOKING)
def test_to_look_is_free(text: str) -> None:
    assert answer(actions=[{"text": text}]) == verdict(actions=[{"text": text}]) == []


@pytest.mark.parametrize(
    "text", [*SUPPOSED, "Why the GPU ran out of memory.", "Which job took its place.", "How long the node was down."]
)
def test_an_open_question_slips_nothing_in(text: str) -> None:
    assert answer(cannot_answer=[{"text": text, "signal": "the kernel log"}])
    assert verdict(cannot_decide=[{"text": text, "signal": "the kernel log"}])
    assert answer(cannot_answer=[{"text": "Whether it happened before.", "signal": text}])


@pytest.mark.parametrize("text", OPEN)
def test_a_question_may_be_left_open(text: str) -> None:
    missing = [{"text": text, "signal": "the kernel log"}]
    assert answer(cannot_answer=missing) == verdict(cannot_decide=missing) == []


def test_a_refusal_names_what_may_be_quoted() -> None:
    (said,) = answer(actions=[{"text": "Replace the card."}])
    assert "'Replace' is no word for looking" in said and ACTIONS[0] in said
    both = answer(actions=[{"text": "Replace the card."}, {"text": "Lower the rate."}])
    assert [ACTIONS[0] in said for said in both] == [True, False], "once is enough"
    (said,) = answer(cannot_answer=[{"text": "Who deleted the checkpoint."}])
    assert "'Who' is taken for granted" in said and ASKED[0] in said


def test_a_trouble_that_a_cited_row_has_may_be_looked_at() -> None:
    assert answer(actions=[{"text": "Look at the errors of rank [[E2.rank]] in [[E2.exception]]."}]) == []
    assert answer(actions=[{"text": "Look at the errors of [[E1.node]]."}])


def test_what_is_offered_on_one_job_is_no_advice_on_another() -> None:
    """Two jobs are open: the advice for one of them is given beside its own cells only, or with cells of its own."""
    held = ledger()
    other = held.record(result("other", {"job_id": "", "state": ""}, [("4900", "COMPLETED")]), "other", {})
    held.mark_shown(other.id)
    well = Assessment(
        "G1",
        "confirmed",
        headline=f"Job [[{other.id}.job_id]] ended as [[{other.id}.state]].",
        actions=[Claim(text="Nothing has to be done.")],
    )
    for short, action, ok in (
        (GOOD, "Nothing has to be done.", False),
        (GOOD, "Lower the batch size.", True),
        (f"Job [[{other.id}.job_id]] ended as [[{other.id}.state]].", "Nothing has to be done.", True),
        (f"Job [[{other.id}.job_id]] ended as [[{other.id}.state]].", "No action is needed.", True),
        (f"Job [[{other.id}.job_id]] ended as [[{other.id}.state]].", "Lower the batch size.", False),
        (f"Job [[{other.id}.job_id]] ended as [[{other.id}.state]].", ACTIONS[1], True),
    ):
        made = Answer.model_validate({"short": short, "actions": [{"text": action}]})
        assert check_answer(made, held, [*FOUND, well]).ok == ok, (short, action)

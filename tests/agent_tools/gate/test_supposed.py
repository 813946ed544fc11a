"""Under "what to do" and "what it cannot answer" nothing is cited, so nothing may be taken for granted there of which nothing speaks."""

from __future__ import annotations

from typing import Any

import pytest

from agent_tools.gate.answer_gate import check_answer
from agent_tools.gate.citations import Gate
from agent_tools.gate.supposed import supposed
from agent_tools.questions.answer import Answer
from tests.agent_tools.gate.gatekit import assessments, draft, ledger

HELD, FOUND = ledger(), assessments()
GOOD = "Rank [[E2:1.rank]] asked for [[E2:1.requested_bytes]]."

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
ADVICE = [
    "Ask for less memory per rank.",
    "Lower the batch size or shard the optimizer.",
    "Check the ECC counters of [[E1.node]] with nvidia-smi -q.",
    "Look for XIDs in the kernel log of [[E1.node]].",
    "Look at the log around the failure for earlier warnings.",
    "Keep [[E1.node]] in service; nothing here speaks against it.",
    "If it happens again on [[E1.node]], drain the node and run the diagnostics.",
    "Exclude [[E1.node]] once to see whether it follows the node.",
    "Make sure that no stray process is left on [[E1.node]].",
    "Verify that the checkpoint can be loaded before resuming.",
    "Compare the configuration with the last run that completed.",
    "Use a GPU with more memory.",
    "Ask the owner of the job what changed since the last run.",
    "Ask the operators whether another job ran on [[E1.node]].",
    "Find out whether the other jobs on [[E1.node]] failed too.",
    "Ask your team for a smaller model.",
    "Ask the person on call to look at [[E1.node]].",
    "Ask the administrators whether something kills processes on [[E1.node]].",
    "Stop the job before it runs into the limit.",
    "Stop the training early.",
    "Tell the owner of the account about it.",
    "Find out why rank [[E2:1.rank]] asked for so much memory.",
    "Save a checkpoint more often, and resume from the last one.",
    "Go on from any checkpoint of the run.",
    "Go back to an earlier checkpoint.",
    "Compare with the previous attempt.",
    "Look at the earlier lines of the log.",
    "If the batch size was raised, put it back to what it was.",
    "Look at the change in memory between the steps.",
    "Ask the team responsible for the cluster whether the kernel log of [[E1.node]] tells more.",
    "Ask whoever is responsible for [[E1.node]] to look at it.",
    "Nothing else has to be done.",
    "Stop training once the loss is flat.",
    "Don't blame the ranks that waited.",
    "Lower the batch size; no other step is needed.",
]
OPEN = [
    "Whether the GPU had ECC errors.",
    "Whether another process held memory on the card.",
    "How much memory was free before the request.",
    "Who else used the node.",
    "Why rank [[E2:1.rank]] asked for so much memory.",
    "What the job was doing at that moment.",
    "Whether a node of the job went down.",
    "When the job failed.",
    "Which job took its place is not in the data.",
    "Whether anything changed since the last run.",
    "Whether the earlier attempts failed in the same way.",
]


def answer(**fields: Any) -> list[str]:
    return check_answer(Answer.model_validate({"short": GOOD, **fields}), HELD, FOUND).problems


def verdict(**fields: Any) -> list[str]:
    return Gate().check(draft(**fields), HELD, FOUND).problems


@pytest.mark.parametrize("text", [t for kind in SLIPPED.values() for t in kind])
def test_advice_slips_nothing_in(text: str) -> None:
    assert answer(actions=[{"text": text}])
    assert verdict(actions=[{"text": text}])


@pytest.mark.parametrize("text", SUPPOSED)
def test_an_open_question_slips_nothing_in(text: str) -> None:
    assert answer(cannot_answer=[{"text": text, "signal": "the kernel log"}])
    assert verdict(cannot_decide=[{"text": text, "signal": "the kernel log"}])
    assert answer(cannot_answer=[{"text": "Whether it happened before.", "signal": text}])


@pytest.mark.parametrize("text", ADVICE)
def test_advice_may_be_given(text: str) -> None:
    assert answer(actions=[{"text": text}]) == verdict(actions=[{"text": text}]) == []


@pytest.mark.parametrize("text", OPEN)
def test_a_question_may_be_left_open(text: str) -> None:
    missing = [{"text": text, "signal": "the kernel log"}]
    assert answer(cannot_answer=missing) == verdict(cannot_decide=missing) == []


def test_what_was_shown_may_be_taken_for_granted() -> None:
    """The same words, where something shown speaks of them."""
    for place, text, word in (
        ("advice", "Look at the ECC errors of [[E1.node]].", "ecc"),
        ("advice", "Ask the administrator who cancelled it.", "cancelled"),
        ("open", "Why the loader leaked memory.", "leaked"),
    ):
        assert supposed(text, place, lambda _: False) == word
        assert supposed(text, place, lambda said, known=(word, "errors", "memory"): said.lower() in known) == ""

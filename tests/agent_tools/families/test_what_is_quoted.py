"""What a verdict says of its evidence: the line that tells most, only what a line says, and no question that it has answered."""

from __future__ import annotations

from pathlib import Path

from tests.agent_tools.families.logkit import drafted

STEPS = "".join(f"step {n}/900 loss {2 + 6 / (1 + n / 40):.4f} lr 3.0e-04 gnorm 0.41\n" for n in range(1, 60))


def test_a_hang_is_told_by_the_line_that_names_the_collective(tmp_path: Path) -> None:
    late = (
        "[rank5]:[E808 05:20:33.118 ProcessGroupNCCL.cpp:632] [Rank 5] Watchdog caught collective operation timeout: "
    )
    work = "WorkNCCL(SeqNum=814, OpType=_ALLGATHER_BASE, NumelIn=1363, NumelOut=2726, Timeout(ms)=600000) ran for 600004 milliseconds before timing out.\n"
    early = "Exception raised from checkTimeout at /pytorch/torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:635 (most recent call first):\n"
    draft = drafted(STEPS + early + late + work, tmp_path)
    assert draft.family == "C2" and draft.headline.startswith("The job hung in [["), draft.headline


def test_a_node_that_is_named_is_not_asked_for(tmp_path: Path) -> None:
    named = (
        "srun: error: Node failure on n7\n"
        "slurmstepd: error: *** JOB 7 ON n6 CANCELLED AT 2026-03-02T21:45:09 DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***\n"
    )
    draft = drafted(STEPS + named, tmp_path)
    assert draft.family == "F1" and draft.headline.startswith("The cluster lost [[")
    assert not any("need not be the node" in c.text for c in draft.shows)
    assert [m.text for m in draft.cannot_decide if m.text.startswith("W")] == [
        "Why the node failed.",
        "When it went down.",
    ]


def test_slurmstepds_word_of_a_kill_does_not_tell_whose_memory_it_was(tmp_path: Path) -> None:
    said = "slurmstepd: error: Detected 1 oom_kill event in StepId=7.0. Some of the step tasks have been OOM Killed.\n"
    draft = drafted(STEPS + said, tmp_path)
    assert draft.family == "A2"
    assert any("memory limit, or the memory of the whole host" in c.text for c in draft.implies)


def test_the_last_state_of_a_bar_is_not_quoted_as_its_first(tmp_path: Path) -> None:
    bar = "".join(
        f"\rSteps: {n:3d}%|████      | {n}/100 [00:{n % 60:02d}<00:10,  1.10it/s, loss={'nan' if n > 40 else 0.41}, lr=0.0001]"
        for n in range(1, 101)
    )
    draft = drafted("Running training\n" + bar + "\n", tmp_path)
    assert (draft.family, draft.mode) == ("E1", "non_finite")
    assert not any("first of them reads" in c.text for c in draft.shows)

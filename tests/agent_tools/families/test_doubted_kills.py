"""a2_signal_kill: slurmstepd's words of a memory kill that accounting contradicts are a program's own."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest

from agent_tools import differential
from agent_tools.families import a2_signal_kill as a2
from agent_tools.references import render_text
from store.rows import HostEvent, SlurmStep
from tests.agent_tools.families.world import JOB, T, World, judge

LOSSES = [2.0, 1.9, 1.8, 1.7, 1.6]


@pytest.mark.parametrize(
    ("told", "killed", "status", "confidence"),
    [
        ({"state": "FAILED", "exit_code": 1, "node_list": "n1"}, False, "suspected", 0.45),
        ({"state": "FAILED", "exit_code": 1, "node_list": "n1"}, True, "confirmed", 0.7),
        ({"state": "FAILED", "exit_code": 1, "node_list": "n1,n2"}, False, "confirmed", 0.94),
        ({"state": "FAILED", "exit_code": 1, "node_list": "n[1-2]"}, False, "confirmed", 0.94),
        ({"state": "FAILED", "exit_code": 0, "exit_signal": 9, "node_list": "n1"}, False, "confirmed", 0.94),
        ({"state": "OUT_OF_MEMORY", "exit_code": 0, "exit_signal": 125, "node_list": "n1"}, False, "confirmed", 0.94),
    ],
)
def test_slurms_own_words_of_a_kill_are_doubted_where_accounting_has_that_step_otherwise(
    told: dict[str, object], killed: bool, status: str, confidence: float, tmp_path: Path
) -> None:
    """Of a step on several nodes a failed task's status may cover the kill."""
    world = World(tmp_path).job("FAILED").add(SlurmStep(job_id=JOB, attempt=1, step_id="0", **told))  # type: ignore[arg-type]
    words = (
        "slurmstepd: error: Detected 1 oom_kill event in StepId=4812.0. Some of the step tasks have been OOM Killed."
    )
    world.say("host_oom", "oom_kill", words, severity="fatal", detail=json.dumps({"job": JOB, "step": "0"}))
    if killed:
        world.say("slurm", "task_exit", "n1: task 0: Killed", signal=9, host="n1", detail='{"tasks": "0"}')
    found = judge(world, a2.assess)
    assert (found.status, found.confidence) == (status, confidence)
    assert any("records the step as" in c.text for c in found.speaks_against) is (confidence != 0.94)


@pytest.mark.parametrize(("state", "nodes", "family"), [("COMPLETED", "n1,n2", "U0"), ("OUT_OF_MEMORY", "n1", "A2")])
def test_a_step_that_completed_saw_no_kill_whatever_was_printed(
    state: str, nodes: str, family: str, tmp_path: Path
) -> None:
    world = World(tmp_path).job("COMPLETED").train(LOSSES)
    world.add(SlurmStep(job_id=JOB, attempt=1, step_id="0", state=state, exit_code=0, exit_signal=0, node_list=nodes))
    words = (
        "slurmstepd: error: Detected 1 oom_kill event in StepId=4812.0. Some of the step tasks have been OOM Killed."
    )
    world.say("host_oom", "oom_kill", words, severity="fatal", detail=json.dumps({"job": JOB, "step": "0"}))
    draft = differential.draft(world.facts())
    assert (draft.family == "A2") is (family == "A2"), draft.headline


@pytest.mark.parametrize(
    ("ended_min", "last", "family"),
    [(2, 100, "G1"), (2, 60, "A2"), (55, 100, "A2")],
    ids=["before the work", "the work is not done", "in the work itself"],
)
def test_a_helper_that_ran_out_of_memory_before_the_work_leaves_the_run_well(
    ended_min: int, last: int, family: str, tmp_path: Path
) -> None:
    """`srun prepare || true`, and then all steps of the plan: what was killed was not needed."""
    world = World(tmp_path).job("COMPLETED", 60)
    start = 1 if ended_min == 55 else 5
    for i in range(last // 2):
        world.train([9 * 0.97**i], first_step=2 * i + 2, total_steps=100, every_s=60.0 * (start + i))
    world.add(
        SlurmStep(job_id=JOB, attempt=1, step_id="0", state="OUT_OF_MEMORY", exit_code=0, exit_signal=125, node_list="n1",
                  start_ts=T, end_ts=T + timedelta(minutes=ended_min), elapsed_s=ended_min * 60.0)
    )  # fmt: skip
    words = "slurmstepd-n1: error: Detected 1 oom-kill event(s) in StepId=4812.0."
    world.say("host_oom", "oom_kill", words, severity="fatal", detail=json.dumps({"job": JOB, "step": "0"}))
    facts = world.facts()
    draft = differential.draft(facts)
    assert draft.family == family, draft.headline
    warned = ["".join(part.text for part in render_text(w.text, facts.ledger)) for w in draft.warnings]
    assert any("Detected 1 oom-kill event(s)" in w for w in warned) is (family == "G1"), warned


END = T + timedelta(minutes=60)
EARLY = 'earlyoom: sending SIGTERM to process 5120 uid 4100 "python3": badness 1190, VmRSS 471000 MiB'


def by_earlyoom(folder: Path, before_s: float, signal: int = 15, node: str = "n1") -> World:
    world = World(folder).job("FAILED", exit_code=143).train([2.0, 1.9, 1.8, 1.7, 1.6])
    world.say("slurm", "task_exit", "srun: error: n1: task 1: Terminated", signal=signal, host=node)
    return world.add(
        HostEvent(
            node="n1",
            ts=END - timedelta(seconds=before_s),
            event="oom_kill",
            pid=5120,
            process_name="python3",
            constraint="CONSTRAINT_NONE",
            message=EARLY,
        )
    )


def test_a_program_of_the_node_that_ends_processes_for_memory_is_heard(tmp_path: Path) -> None:
    found = judge(by_earlyoom(tmp_path, 5.0), a2.assess)
    assert found.status == "confirmed"
    assert "earlyoom on" in " ".join(c.text for c in found.speaks_for)


def test_what_it_ended_long_before_was_not_this_end(tmp_path: Path) -> None:
    found = judge(by_earlyoom(tmp_path, 900.0), a2.assess)
    assert found.status != "confirmed"

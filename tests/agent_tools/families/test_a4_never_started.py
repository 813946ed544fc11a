from __future__ import annotations

from pathlib import Path

import pytest

from agent_tools.families.a4_never_started import assess
from agent_tools.pending import reason
from store.rows import LogEvent, LogLine, SlurmJob
from tests.agent_tools.families.world import World, judge

REASONS = [
    "Resources", "Priority", "Dependency", "QOSMaxGRESPerUser", "QOSMaxJobsPerUserLimit", "AssocGrpGRES", "AssocGrpCPUMinutesLimit",
    "AssocGrpBillingMinutes", "QOSMaxCpuPerUserLimit", "QOSGrpNodeLimit", "MaxNodePerAccount", "ReqNodeNotAvail, UnavailableNodes:n1",
    "PartitionTimeLimit", "PartitionNodeLimit", "PartitionDown", "Licenses", "BeginTime", "JobHeldUser", "JobHeldAdmin",
    "BadConstraints", "launch failed requeued held", "JobArrayTaskLimit", "Reservation", "InvalidAccount", "InvalidQOS",
    "DependencyNeverSatisfied", "QOSMaxWallDurationPerJobLimit", "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions",
]  # fmt: skip


@pytest.mark.parametrize("word", REASONS)
def test_every_reason_of_slurm_has_plain_words_and_a_release(word: str) -> None:
    known = reason(word)
    assert known is not None
    assert known.why and known.release


def test_limits_of_memory_and_of_jobs_are_told_apart() -> None:
    memory, jobs = reason("QOSMaxMemoryPerUser"), reason("QOSMaxJobsPerUserLimit")
    assert memory is not None and jobs is not None and memory.why != jobs.why


@pytest.mark.parametrize(
    ("word", "whose"), [("Resources", "scheduler"), ("JobHeldAdmin", "infrastructure"), ("BadConstraints", "user")]
)
def test_a_pending_job_is_explained_by_its_reason(tmp_path: Path, word: str, whose: str) -> None:
    a = judge(World(tmp_path).job("PENDING", start_ts=None, state_reason=word), assess)
    assert (a.status, a.mode, a.attribution) == ("confirmed", "pending", whose)
    assert a.confidence >= 0.95
    assert a.actions


def test_a_job_that_ran_and_waits_again_is_not_it(tmp_path: Path) -> None:
    world = World(tmp_path).job("PENDING", start_ts=None, state_reason="BeginTime", restarts=1)
    assert judge(world, assess).confidence <= 0.3


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("submit_failed", "sbatch: error: Batch job submission failed: Invalid account"),
        (
            "allocation_failed",
            "srun: error: Unable to allocate resources: Requested node configuration is not available",
        ),
        ("execve_failed", "slurmstepd: error: execve(): train: No such file or directory"),
        ("container_failed", "slurmstepd: error: pyxis: failed to import docker image"),
        ("prolog_failed", "slurmstepd: error: Prolog failed"),
    ],
)
def test_a_launch_that_slurm_says_failed(tmp_path: Path, name: str, message: str) -> None:
    a = judge(World(tmp_path).say("slurm", name, message), assess)
    assert (a.status, a.mode) == ("confirmed", "launch")
    assert a.confidence >= 0.8


def test_exit_status_127_and_the_shells_words(tmp_path: Path) -> None:
    world = World(tmp_path).job("FAILED", 0.05, exit_code=127).text("slurm_script: line 9: torchrun: command not found")
    a = judge(world, assess)
    assert (a.status, a.mode, a.confidence >= 0.9) == ("confirmed", "launch", True)


def test_the_same_words_without_the_status_are_weaker(tmp_path: Path) -> None:
    full = World(tmp_path).job("FAILED", 0.05, exit_code=127).text("slurm_script: line 9: torchrun: command not found")
    assert judge(full.without(SlurmJob), assess).confidence < judge(full, assess).confidence


def test_a_missing_module_command_before_a_run_that_trains_is_noise(tmp_path: Path) -> None:
    world = World(tmp_path).text("slurm_script: line 3: module: command not found").train([3.0, 2.9, 2.8])
    assert judge(world, assess).status == "ruled_out"


def test_an_exception_of_the_program_is_not_it(tmp_path: Path) -> None:
    world = World(tmp_path).job("FAILED", 0.1).say("exception", "ModuleNotFoundError", "No module named 'peft'")
    world.say("slurm", "task_exit", "n1: task 0: Exited with exit code 1", exit_code=1)
    assert judge(world, assess).status == "ruled_out"


def test_files_that_slurm_could_not_open_leave_no_log(tmp_path: Path) -> None:
    a = judge(World(tmp_path).job("FAILED", 0.01, exit_code=0, exit_signal=53), assess)
    assert (a.status, a.mode) == ("confirmed", "launch")


def test_with_nothing_to_go_on_it_is_undecidable(tmp_path: Path) -> None:
    world = World(tmp_path).job("PENDING", start_ts=None, state_reason="Resources").text("x")
    a = judge(world.without(SlurmJob, LogLine, LogEvent), assess)
    assert (a.status, "slurm_job" in a.missing[0].signal) == ("undecidable", True)

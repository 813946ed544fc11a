"""A4: jobs that wait, with the scheduler's reason, and launches that failed; against programs that failed at once."""

from __future__ import annotations

from collections.abc import Callable

from evals.scenarios.cases import Variant
from evals.scenarios.endings import at_start, attempt_before, node_state, raised
from evals.scenarios.faults import blind, sound
from evals.scenarios.plan import Plan, healthy
from evals.scenarios.settings import placed, unseen
from evals.scorers.base import Expected

_LIVE = (
    "gpu_sample",
    "cuda_sample",
    "nccl_sample",
    "process",
    "cgroup_sample",
    "log_line",
    "host_sample",
    "host_event",
    "gpu_event",
)


def _waits(reason: str, attribution: str | None = None) -> Callable[[int], tuple[Plan, Expected]]:
    def make(seed: int) -> tuple[Plan, Expected]:
        plan = healthy(seed)
        plan.stop("PENDING")
        plan.slurm |= {"state_reason": reason, "node_list": None, "node_count": None}
        return plan.without(*_LIVE), Expected(("A4",), "pending", attribution, facts=(reason,))

    return make


def _launch(code: int, *texts: str) -> Callable[[int], tuple[Plan, Expected]]:
    def make(seed: int) -> tuple[Plan, Expected]:
        plan = at_start(seed)
        plan.silent = True
        plan.minutes = 0.1
        plan.exit_code = code
        plan.say(0.05, *(t.format(job=plan.job_id, node=plan.nodes[0], user=plan.user) for t in texts))
        return plan.without("process"), Expected(("A4",), "launch")

    return make


def _program(seed: int) -> tuple[Plan, Expected]:
    plan = at_start(seed)
    raised(plan, plan.minutes - 0.2, "ModuleNotFoundError: No module named 'apex'")
    return plan, Expected(("A1",), "env", "job")


def _waited(seed: int) -> tuple[Plan, Expected]:
    return healthy(seed), sound()


def _gone(seed: int) -> tuple[Plan, Expected]:
    plan, _ = _launch(1, "x")(seed)
    return plan.without("log_line"), blind("log_line")


def _held(seed: int) -> tuple[Plan, Expected]:
    plan, expected = _waits("JobHeldUser")(seed)
    return plan, expected


def _container(seed: int) -> tuple[Plan, Expected]:
    plan, expected = _launch(
        1,
        "slurmstepd: error: pyxis: failed to import docker image",
        "slurmstepd: error: pyxis: printing enroot log file:",
        "slurmstepd: error: pyxis:     [ERROR] Could not process JSON input",
        "slurmstepd: error: pyxis: couldn't start container",
        "srun: error: {node}: task 0: Exited with exit code 1",
    )(seed)
    return plan, expected


def _requeued(seed: int) -> tuple[Plan, Expected]:
    """It ran, was evicted, and waits for its next attempt."""
    plan = healthy(seed)
    attempt_before(plan, "PREEMPTED", "preempted")
    plan.stop("PENDING")
    plan.slurm |= {"state_reason": "Priority", "node_list": None, "node_count": None}
    return plan.without(*_LIVE), Expected(("F2",), "preemption", "scheduler")


def _arguments(seed: int) -> tuple[Plan, Expected]:
    """The program ran, and refused what it was given."""
    plan = at_start(seed)
    plan.exit_code = 2
    plan.say(
        0.35, "usage: train.py [-h] [--config CONFIG] [--lr LR]", "train.py: error: unrecognized arguments: --lrr 0.1"
    )
    return plan, Expected(("A1",), "config", "job")


def _recovered(seed: int) -> tuple[Plan, Expected]:
    """Slurm's words about a helper that it could not start, in a run that did what it should."""
    plan = healthy(seed)
    plan.say(
        0.02, "bash: nvtop: command not found", "srun: warning: can't run 1 processes on 2 nodes, setting nnodes to 1"
    )
    return plan, sound()


def _unreadable(seed: int) -> tuple[Plan, Expected]:
    """bash gives up at the line where its grammar ends."""
    plan, _ = _launch(
        2, "/var/spool/slurmd/job{job}/slurm_script: line 23: syntax error near unexpected token `done'",
        "/var/spool/slurmd/job{job}/slurm_script: line 23: `done'",
    )(seed)  # fmt: skip
    return plan, Expected(("A4",), "launch", facts=("could not read the job script",))


def _refused(seed: int) -> tuple[Plan, Expected]:
    """A prolog fails under a job that may not be sent back: Slurm cancels it itself, in root's name."""
    plan = healthy(seed)
    plan.silent = True
    plan.minutes = 0.05
    plan.stop("CANCELLED")
    plan.slurm |= {"cancelled_by": "0"}
    node_state(plan, plan.nodes[-1], plan.minutes, "DRAINED", "Prolog error")
    return plan.without(*_LIVE), Expected(("A4",), "launch", "infrastructure", facts=("Prolog error",))


VARIANTS = (
    Variant("resources", "fault", _waits("Resources")),
    Variant("priority", "fault", _waits("Priority")),
    Variant("limit", "fault", _waits("AssocGrpGRES")),
    Variant("dependency", "fault", _waits("Dependency")),
    Variant("nodes", "fault", _waits("ReqNodeNotAvail, UnavailableNodes:n001")),
    Variant("path", "fault", _launch(127, "/var/spool/slurmd/job{job}/slurm_script: line 14: /home/{user}/venv/bin/python: No such file or directory")),
    Variant("permission", "fault", _launch(126, "/var/spool/slurmd/job{job}/slurm_script: line 9: ./run.sh: Permission denied")),
    Variant("prolog", "fault", _launch(1, "srun: error: Task launch for StepId={job}.0 failed on node {node}: Job prolog failed", "srun: error: Application launch failed: Job prolog failed")),
    Variant("program", "twin", _program),
    Variant("waited", "healthy", _waited),
    Variant("gone", "blind", _gone),
    Variant("held", "fault", _held),
    Variant("container", "fault", _container),
    Variant("begin", "fault", _waits("BeginTime")),
    Variant("quota", "fault", _waits("QOSMaxGRESPerUser")),
    Variant("array-limit", "fault", _waits("JobArrayTaskLimit")),
    Variant("never", "fault", _waits("DependencyNeverSatisfied")),
    Variant("partition", "fault", _waits("PartitionTimeLimit")),
    *placed("resources", _waits("Resources"), "array"),
    *placed("path", _launch(127, "/var/spool/slurmd/job{job}/slurm_script: line 14: /home/{user}/venv/bin/python: No such file or directory"), "printed", "beside", "shared"),
    *placed("waited", _waited, "exporter", "shared", kind="healthy"),
    *unseen("container", _container, "log_line", "log_line", ways=("lost",)),
    *unseen("resources", _waits("Resources"), "slurm_job", "slurm_job", "slurm_job_event", "slurm_step", ways=("bare", "lost")),
    Variant("refused", "fault", _refused),
    *unseen("refused", _refused, "slurm_node_state", "slurm_node_state", ways=("bare", "lost")),
    Variant("unheard", "fault", _waits("ExpansionWindow")),
    Variant("requeued", "twin", _requeued),
    Variant("arguments", "twin", _arguments),
    Variant("recovered", "healthy", _recovered),
    Variant("unreadable", "fault", _unreadable),
)  # fmt: skip

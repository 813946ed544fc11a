"""F3: the wall in full progress; against hangs that the wall only ended, and crashes shortly before it."""

from __future__ import annotations

from collections.abc import Callable

from evals.scenarios.cases import Variant
from evals.scenarios.endings import crash, raised, time_limit
from evals.scenarios.faults import activity, blind, but, everyone, frozen, no_launches, only, sound
from evals.scenarios.plan import Plan, healthy
from evals.scorers.base import Expected


def _wall(
    style: str | None, gpus: int | None = None, duty: float | None = None
) -> Callable[[int], tuple[Plan, Expected]]:
    def make(seed: int) -> tuple[Plan, Expected]:
        plan = healthy(seed, style=style, gpus=gpus)
        plan.duty = duty or plan.duty
        return time_limit(plan), Expected(("F3",), None, "job")

    return make


def _bare(seed: int) -> tuple[Plan, Expected]:
    plan = healthy(seed)
    time_limit(plan)
    return plan.without(
        "gpu_sample", "cuda_sample", "nccl_sample", "process", "cgroup_sample", "host_sample"
    ), Expected(("F3",), None, "job")


def _hung(seed: int) -> tuple[Plan, Expected]:
    plan = healthy(seed, gpus=8, minutes=90)
    gpu = plan.some_gpu()
    plan.progress_until = 40.0
    plan.gpu_changes.append(activity(plan, 0.995, 0.04, but(gpu), 40))
    plan.gpu_changes.append(activity(plan, 0.0, 0.0, only(gpu), 40))
    plan.cuda_changes.append(no_launches(everyone, 40))
    plan.nccl_changes.append(frozen(gpu, 40))
    return time_limit(plan), Expected(("C2",), extra={"culprit": {"rank": gpu.rank}})


def _idle(seed: int) -> tuple[Plan, Expected]:
    plan = healthy(seed, gpus=1, minutes=90)
    plan.progress_until = 30.0
    plan.gpu_changes.append(activity(plan, 0.0, 0.0, everyone, 30))
    plan.cuda_changes.append(no_launches(everyone, 30))
    return time_limit(plan), Expected(("C3",))


def _crashed(seed: int) -> tuple[Plan, Expected]:
    plan, _, minute = crash(seed)
    plan.limit_min = plan.minutes + 2
    raised(plan, minute, "ZeroDivisionError: division by zero")
    return plan, Expected(("A3",), None, "job")


def _in_time(seed: int) -> tuple[Plan, Expected]:
    plan = healthy(seed)
    plan.limit_min = plan.minutes * 1.01
    return plan, sound()


def _gone(seed: int) -> tuple[Plan, Expected]:
    plan = time_limit(healthy(seed))
    return plan.without("log_line", "slurm_job", "slurm_step", "slurm_job_event"), blind("slurm_job")


VARIANTS = (
    Variant("megatron", "fault", _wall("megatron"), 2),
    Variant("trainer", "fault", _wall("trainer"), 2),
    Variant("plain", "fault", _wall("plain"), 2),
    Variant("one", "fault", _wall(None, 1), 1),
    Variant("large", "fault", _wall(None, 32), 1),
    Variant("bare", "fault", _bare, 2),
    Variant("hung", "twin", _hung, 2),
    Variant("idle", "twin", _idle, 2),
    Variant("crashed", "twin", _crashed, 1),
    Variant("in-time", "healthy", _in_time, 1),
    Variant("gone", "blind", _gone, 1),
)

"""F4: cancelled, by whom; against the wall, preemption, and jobs that had already failed."""

from __future__ import annotations

from collections.abc import Callable

from evals.scenarios.cases import Variant
from evals.scenarios.endings import cancelled, crash, raised, time_limit
from evals.scenarios.faults import blind, sound
from evals.scenarios.plan import Plan, healthy
from evals.scorers.base import Expected


def _by(
    who: str | None, mode: str, attribution: str | None, gpus: int | None = None
) -> Callable[[int], tuple[Plan, Expected]]:
    def make(seed: int) -> tuple[Plan, Expected]:
        plan = healthy(seed, gpus=gpus)
        return cancelled(plan, who or plan.user, plan.minutes * 0.7), Expected(("F4",), mode, attribution)

    return make


def _before_start(seed: int) -> tuple[Plan, Expected]:
    plan = healthy(seed)
    plan.stop("CANCELLED", minute=0.0)
    plan.slurm |= {
        "start_ts": None,
        "elapsed_s": 0.0,
        "state_reason": "Dependency",
        "dependency": "afterok:4001(unfulfilled)",
        "cancelled_by": plan.user,
        "node_list": None,
    }
    plan.silent = True
    return plan.without(
        "gpu_sample", "cuda_sample", "nccl_sample", "process", "cgroup_sample", "log_line", "host_sample"
    ), Expected(("F4",))


def _failed_first(seed: int) -> tuple[Plan, Expected]:
    plan, _, minute = crash(seed)
    raised(plan, minute, "KeyError: 'labels'", "data_collator.py")
    cancelled(plan, plan.user)
    plan.state, plan.exit_code = "FAILED", 1
    del plan.slurm["cancelled_by"]
    return plan, Expected(("A3",), None, "job")


def _wall(seed: int) -> tuple[Plan, Expected]:
    return time_limit(healthy(seed)), Expected(("F3",))


def _finished(seed: int) -> tuple[Plan, Expected]:
    return healthy(seed), sound()


def _gone(seed: int) -> tuple[Plan, Expected]:
    plan, _ = _by(None, "user", "user")(seed)
    return plan.without("log_line", "slurm_job", "slurm_step", "slurm_job_event"), blind("slurm_job")


VARIANTS = (
    Variant("own", "fault", _by(None, "user", "user"), 4),
    Variant("root", "fault", _by("root", "operator", None), 2),
    Variant("large", "fault", _by(None, "user", "user", 32), 1),
    Variant("waiting", "fault", _before_start, 2),
    Variant("failed", "twin", _failed_first, 2),
    Variant("wall", "twin", _wall, 1),
    Variant("finished", "healthy", _finished, 1),
    Variant("gone", "blind", _gone, 1),
)

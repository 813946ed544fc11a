"""U0: nothing decides, whatever happened; against cases that a single source decides."""

from __future__ import annotations

from collections.abc import Callable

from evals.scenarios.cases import Variant
from evals.scenarios.endings import at_start, crash, raised
from evals.scenarios.faults import blind, sound
from evals.scenarios.hosts import JOB_TABLES, NODE_TABLES
from evals.scenarios.plan import Plan, healthy
from evals.scenarios.settings import placed
from evals.scorers.base import Expected

_ALL = (*JOB_TABLES, *NODE_TABLES, "slurm_step")


def _bare(*kept: str) -> Callable[[int], tuple[Plan, Expected]]:
    """A failed job of which only these tables are known, and none of them says why."""

    def make(seed: int) -> tuple[Plan, Expected]:
        plan, _, _ = crash(seed)
        return plan.without(*(t for t in _ALL if t not in kept)), blind(
            "slurm_job" if "slurm_job" not in kept else "log_line"
        )

    return make


def _wrappers(seed: int) -> tuple[Plan, Expected]:
    plan, _, minute = crash(seed)
    raised(
        plan, minute, "subprocess.CalledProcessError: Command '['python', 'train.py']' returned non-zero exit status 1."
    )
    return plan.without("process", "gpu_event", "gpu_sample"), Expected(("U0",), decided=False)


def _log_decides(seed: int) -> tuple[Plan, Expected]:
    plan, _, minute = crash(seed)
    raised(plan, minute, "KeyError: 'labels'", "data_collator.py")
    return plan.without(*(t for t in _ALL if t != "log_line")), Expected(("A3",), None, "job")


def _finished(seed: int) -> tuple[Plan, Expected]:
    return healthy(seed), sound()


def _exit_only(seed: int) -> tuple[Plan, Expected]:
    """Failed at once, and nobody kept what it printed."""
    plan = at_start(seed)
    return plan.without("log_line", "process"), blind("log_line")


def _silent_many(seed: int) -> tuple[Plan, Expected]:
    plan, _, _ = crash(seed, gpus=256, minutes=30)
    return plan.without(*(t for t in _ALL if t not in ("slurm_job", "slurm_node_state"))), blind("log_line")


VARIANTS = (
    Variant("accounting", "fault", _bare("slurm_job"), 2),
    Variant("metrics", "fault", _bare("gpu_sample", "slurm_job")),
    Variant("log", "fault", _bare("log_line"), 2),
    Variant("processes", "fault", _bare("slurm_job", "cgroup_sample", "cuda_sample")),
    Variant("wrappers", "fault", _wrappers),
    Variant("decided", "twin", _log_decides),
    Variant("finished", "healthy", _finished),
    Variant("gone", "blind", _bare("slurm_job", "slurm_node_state")),
    Variant("at-once", "blind", _exit_only),
    Variant("wide", "fault", _silent_many),
    *placed("accounting", _bare("slurm_job"), "array", kind="blind"),
    *placed("decided", _log_decides, "array", kind="twin"),
    *placed("finished", _finished, "shared", "printed", kind="healthy"),
)

"""E2: runs that should resume and did not, or crashed while loading; against resumes that worked and first runs."""

from __future__ import annotations

from collections.abc import Callable

from evals.scenarios.cases import Variant
from evals.scenarios.endings import at_start, raised
from evals.scenarios.faults import blind, sound
from evals.scenarios.plan import Plan, healthy
from evals.scorers.base import Expected

_FLAG = "sbatch train.sbatch --resume-from-checkpoint /scratch/run/checkpoint-500"


def _silent(line: str, dependency: str | None = None) -> Callable[[int], tuple[Plan, Expected]]:
    def make(seed: int) -> tuple[Plan, Expected]:
        plan = healthy(seed)
        plan.slurm |= {"submit_line": line.replace("500", str(plan.stride * 30)), "dependency": dependency}
        if dependency is not None:
            plan.say(
                0.35, f"{plan.at(0.35):%Y-%m-%d %H:%M:%S},100 INFO setup: no checkpoint found, starting from scratch"
            )
        return plan, Expected(("E2",), "silent", "job")

    return make


def _load(text: str) -> Callable[[int], tuple[Plan, Expected]]:
    def make(seed: int) -> tuple[Plan, Expected]:
        plan = at_start(seed)
        plan.slurm["submit_line"] = _FLAG
        plan.say(
            0.3, f"{plan.at(0.3):%Y-%m-%d %H:%M:%S},100 INFO setup: loading checkpoint from /scratch/run/checkpoint-500"
        )
        raised(plan, plan.minutes - 0.2, text, "checkpointing.py")
        return plan, Expected(("E2",), "load_crash", "job")

    return make


def _resumed(seed: int) -> tuple[Plan, Expected]:
    plan = healthy(seed)
    plan.slurm["submit_line"] = _FLAG
    plan.first_step, good = 500, plan.loss
    plan.loss = lambda share: good(0.35 + 0.65 * share)
    plan.say(
        0.35,
        f"{plan.at(0.35):%Y-%m-%d %H:%M:%S},100 INFO setup: loading checkpoint from /scratch/run/checkpoint-500",
        f"{plan.at(0.4):%Y-%m-%d %H:%M:%S},200 INFO setup: resumed from step 500",
    )
    return plan, sound()


def _first(seed: int) -> tuple[Plan, Expected]:
    plan = healthy(seed)
    plan.say(0.35, f"{plan.at(0.35):%Y-%m-%d %H:%M:%S},100 INFO setup: training from scratch")
    return plan, sound()


def _startup(seed: int) -> tuple[Plan, Expected]:
    plan = at_start(seed)
    raised(plan, plan.minutes - 0.2, "ModuleNotFoundError: No module named 'deepspeed'")
    return plan, Expected(("A1",), "env", "job")


def _gone(seed: int) -> tuple[Plan, Expected]:
    plan, _ = _load("x")(seed)
    return plan.without("log_line"), blind("log_line")


VARIANTS = (
    Variant("flag", "fault", _silent(_FLAG), 3),
    Variant("dependency", "fault", _silent(_FLAG, "afterany:4810"), 2),
    Variant("mismatch", "fault", _load("RuntimeError: Error(s) in loading state_dict for GPT:\n\tsize mismatch for wte.weight: copying a param with shape torch.Size([50257, 1024]) from checkpoint, the shape in current model is torch.Size([50304, 1024])."), 2),
    Variant("broken", "fault", _load("RuntimeError: PytorchStreamReader failed reading zip archive: failed finding central directory"), 2),
    Variant("none", "fault", _load("ValueError: No valid checkpoint found in output directory (/scratch/run)"), 1),
    Variant("resumed", "twin", _resumed, 2),
    Variant("startup", "twin", _startup, 1),
    Variant("first", "healthy", _first, 2),
    Variant("gone", "blind", _gone, 1),
)  # fmt: skip

"""E2: runs that should resume and did not, or crashed while loading; against resumes that worked and first runs."""

from __future__ import annotations

from collections.abc import Callable

from evals.scenarios.cases import Variant
from evals.scenarios.endings import at_start, attempt_before, raised
from evals.scenarios.faults import blind, sound
from evals.scenarios.plan import Plan, healthy
from evals.scenarios.settings import placed, unseen
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


def _first_of_a_chain(seed: int) -> tuple[Plan, Expected]:
    """The script always asks to resume, and in its first run there is nothing to go on from."""
    plan = healthy(seed)
    plan.slurm["submit_line"] = "sbatch train.sbatch --resume auto"
    plan.say(0.35, f"{plan.at(0.35):%Y-%m-%d %H:%M:%S},100 INFO setup: no checkpoint found, starting from scratch")
    return plan, sound()


def _startup(seed: int) -> tuple[Plan, Expected]:
    plan = at_start(seed)
    raised(plan, plan.minutes - 0.2, "ModuleNotFoundError: No module named 'deepspeed'")
    return plan, Expected(("A1",), "env", "job")


def _gone(seed: int) -> tuple[Plan, Expected]:
    plan, _ = _load("x")(seed)
    return plan.without("log_line"), blind("log_line")


def _evicted(seed: int) -> tuple[Plan, Expected]:
    """Evicted, run again, and begun at the beginning although a checkpoint was named."""
    plan, _ = _silent(_FLAG)(seed)
    attempt_before(plan, "PREEMPTED", "preempted")
    return plan, Expected(("E2",), "silent", "job", extra={"warning": "preempted"})


def _evicted_load(seed: int) -> tuple[Plan, Expected]:
    """Evicted while it saved; the rerun cannot read what it finds."""
    plan, _ = _load("RuntimeError: PytorchStreamReader failed reading zip archive: failed finding central directory")(
        seed
    )
    attempt_before(plan, "PREEMPTED", "preempted")
    return plan, Expected(
        ("E2",), "load_crash", "job", extra={"warning": "preempted", "timeline": (r"preempted", r"ended, FAILED")}
    )


def _one_log(seed: int) -> tuple[Plan, Expected]:
    """Sent back and run again into the same log, where the steps and the loss begin anew."""
    plan = healthy(seed, style="plain")
    plan.slurm["restarts"] = 1
    total = plan.steps * 2
    for n in range(1, 41):
        minute, share = -60.0 + n, n / 40
        plan.say(
            minute,
            f"{plan.at(minute):%Y-%m-%d %H:%M:%S},100 INFO train: step {n * plan.stride}/{total} loss {plan.loss(share):.4f} "
            f"grad_norm {plan.grad(share):.3f} lr 1.000e-04 3.000 s/it",
        )
        if n % 10 == 0:
            plan.say(
                minute + 0.01,
                f"{plan.at(minute):%Y-%m-%d %H:%M:%S},900 INFO train: saved checkpoint to /scratch/run/step_{n * plan.stride}.pt",
            )
    plan.say(
        -19.0,
        f"slurmstepd: error: *** JOB {plan.job_id} ON {plan.nodes[0]} CANCELLED AT {plan.at(-19):%Y-%m-%dT%H:%M:%S} DUE TO JOB REQUEUE ***",
    )
    return plan, Expected(("E2",), "silent", "job")


VARIANTS = (
    Variant("flag", "fault", _silent(_FLAG), 2),
    Variant("dependency", "fault", _silent(_FLAG, "afterany:4810")),
    Variant("mismatch", "fault", _load("RuntimeError: Error(s) in loading state_dict for GPT:\n\tsize mismatch for wte.weight: copying a param with shape torch.Size([50257, 1024]) from checkpoint, the shape in current model is torch.Size([50304, 1024]).")),
    Variant("broken", "fault", _load("RuntimeError: PytorchStreamReader failed reading zip archive: failed finding central directory")),
    Variant("none", "fault", _load("ValueError: No valid checkpoint found in output directory (/scratch/run)")),
    Variant("resumed", "twin", _resumed),
    Variant("startup", "twin", _startup),
    Variant("first", "healthy", _first),
    Variant("first-of-chain", "healthy", _first_of_a_chain),
    Variant("gone", "blind", _gone),
    Variant("evicted", "fault", _evicted),
    Variant("evicted-load", "fault", _evicted_load),
    *placed("flag", _silent(_FLAG), "printed", "exporter", "array", "latent", "beside"),
    *placed("mismatch", _load("RuntimeError: Error(s) in loading state_dict for GPT:\n\tsize mismatch for lm_head.weight: copying a param with shape torch.Size([32000, 4096]) from checkpoint, the shape in current model is torch.Size([32064, 4096])."), "printed", "array", "shared"),
    *placed("resumed", _resumed, "printed", "array", "exporter", kind="twin"),
    *placed("first", _first, "printed", "coarse", kind="healthy"),
    *unseen("flag", _silent(_FLAG), "log_line", "log_line", ways=("lost", "bare")),
    Variant("one-log", "fault", _one_log),
)  # fmt: skip

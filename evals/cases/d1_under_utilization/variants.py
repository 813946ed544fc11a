"""D1: a GPU that works in bursts and waits for input, against bounds with another name, few steps and small models."""

from __future__ import annotations

from collections.abc import Callable

from evals.scenarios.cases import Variant
from evals.scenarios.endings import crash, raised
from evals.scenarios.faults import activity, blind, sound
from evals.scenarios.plan import Plan, healthy
from evals.scenarios.settings import placed, unseen
from evals.scorers.base import Expected


def _gaps(plan: Plan, gap_s: float) -> None:
    rng = plan.rng
    plan.cuda_changes.append(
        lambda v, g, m: (
            v.update(launches=v["launches"] // 8, max_launch_gap_s=round(gap_s * rng.uniform(0.7, 1.3), 2))
            if v["launches"]
            else None
        )
    )


def _starved(engine: float, gap_s: float, gpus: int | None = None) -> Callable[[int], tuple[Plan, Expected]]:
    def make(seed: int) -> tuple[Plan, Expected]:
        plan = healthy(seed, gpus=gpus or (1, 2, 4, 8)[seed % 4])
        plan.gpu_changes.append(activity(plan, engine, engine * 0.5))
        _gaps(plan, gap_s)
        return plan, Expected(("D1",), None, "job")

    return make


def _mild(seed: int) -> tuple[Plan, Expected]:
    plan = healthy(seed, gpus=4)
    plan.gpu_changes.append(activity(plan, 0.28, 0.15))
    _gaps(plan, 1.5)
    return plan, sound(warning="Low duty cycle")


def _hard_stalls(seed: int) -> tuple[Plan, Expected]:
    plan = healthy(seed, gpus=2)
    plan.gpu_changes.append(activity(plan, 0.2, 0.12))
    _gaps(plan, 14.0)
    return plan, Expected(("D1",), None, "job")


def _few_steps(seed: int) -> tuple[Plan, Expected]:
    plan = healthy(seed, gpus=2, minutes=20)
    plan.steps, plan.stride, plan.saves_every = 3, 1, None
    plan.gpu_changes.append(activity(plan, 0.05, 0.02))
    return plan, Expected(("E3",), None, "job")


def _saves(seed: int) -> tuple[Plan, Expected]:
    plan = healthy(seed, gpus=4)
    plan.stride, plan.steps, plan.saves_every = 1, 80, 1
    plan.gpu_changes.append(activity(plan, 0.15, 0.08))
    return plan, Expected(("D2",), "save_storm")


def _small(seed: int) -> tuple[Plan, Expected]:
    plan = healthy(seed, gpus=1)
    plan.gpu_changes.append(activity(plan, 0.55, 0.25))
    return plan, sound("healthy")


def _noisy(seed: int) -> tuple[Plan, Expected]:
    plan = healthy(seed)
    plan.gpu_changes.append(activity(plan, 0.5, 0.3, start=plan.minutes * 0.4, end=plan.minutes * 0.6))
    return plan, sound("healthy")


def _gone(seed: int) -> tuple[Plan, Expected]:
    plan, _ = _starved(0.06, 4.0)(seed)
    return plan.losing("gpu_sample").without("cuda_sample"), blind("gpu_sample")


def _then_failed(seed: int) -> tuple[Plan, Expected]:
    """Starved, and then dead of its own: the crash is the family."""
    plan, _, minute = crash(seed, gpus=4)
    plan.gpu_changes.append(activity(plan, 0.06, 0.03))
    _gaps(plan, 5.0)
    raised(plan, minute, "OSError: [Errno 5] Input/output error: '/data/shard-0042.tar'", "shards.py")
    return plan, Expected(("A3",), "storage", "infrastructure", extra={"warning": "Low duty cycle"})


def _diverged(seed: int) -> tuple[Plan, Expected]:
    """Starved and not learning: what the model is worth comes first."""
    plan = healthy(seed, gpus=4)
    plan.gpu_changes.append(activity(plan, 0.06, 0.03))
    _gaps(plan, 5.0)
    good = plan.loss
    plan.loss = lambda share: good(share) if share < 0.5 else float("nan")
    return plan, Expected(("E1",), "non_finite", "job", extra={"warning": "stood idle"})


VARIANTS = (
    Variant("severe", "fault", _starved(0.05, 6.0), 3),
    Variant("very-low", "fault", _starved(0.02, 9.0)),
    Variant("many", "fault", _starved(0.08, 3.0, 16)),
    Variant("stalls", "fault", _hard_stalls),
    Variant("mild", "twin", _mild),
    Variant("few-steps", "twin", _few_steps),
    Variant("saves", "twin", _saves),
    Variant("small", "twin", _small),
    Variant("noisy", "healthy", _noisy),
    Variant("gone", "blind", _gone),
    Variant("failed", "twin", _then_failed),
    Variant("diverged", "twin", _diverged),
    Variant("wide", "fault", _starved(0.06, 5.0, 128)),
    *placed(
        "severe",
        _starved(0.05, 6.0),
        "coarse",
        "delayed",
        "uuids",
        "indices",
        "array",
        "latent",
        "shared",
        "roomy",
        "exporter",
    ),
    *placed("small", _small, "coarse", "shared", kind="twin"),
    *placed("noisy", _noisy, "delayed", "roomy", kind="healthy"),
    *unseen(
        "severe",
        _starved(0.05, 6.0),
        "gpu_sample",
        "gpu_sample",
        also=("cuda_sample",),
        until=0.1,
        ways=("bare", "stale"),
    ),
)

"""G1: health on positive evidence, over sizes and noise; against what merely prints no error."""

from __future__ import annotations

from collections.abc import Callable

from evals.scenarios.cases import Variant
from evals.scenarios.faults import activity, blind, no_launches, sound
from evals.scenarios.plan import Plan, Values, healthy
from evals.scorers.base import Expected


def _size(gpus: int | None, style: str | None = None) -> Callable[[int], tuple[Plan, Expected]]:
    def make(seed: int) -> tuple[Plan, Expected]:
        return healthy(seed, gpus=gpus, style=style), sound("healthy")

    return make


def _slow(seed: int) -> tuple[Plan, Expected]:
    plan = healthy(seed)
    plan.gpu_changes.append(activity(plan, 0.6, 0.14))
    return plan, sound("healthy_but_slow")


def _patchy(seed: int) -> tuple[Plan, Expected]:
    plan = healthy(seed, gpus=8)
    rng = plan.rng

    def change(values: Values, gpu: object, minute: float) -> None:
        if rng.random() < 0.2:
            values.update(sm_active=None, engine_active=None)
        if rng.random() < 0.1:
            values.update(temp_c=None, power_w=None, throttle_reasons=None)

    plan.gpu_changes.append(change)
    return plan, sound("healthy")


def _log_only(seed: int) -> tuple[Plan, Expected]:
    plan = healthy(seed)
    return plan.without(
        "gpu_sample", "gpu_event", "cuda_sample", "nccl_sample", "process", "cgroup_sample", "host_sample", "host_event"
    ), sound("healthy")


def _idle(seed: int) -> tuple[Plan, Expected]:
    plan = healthy(seed, gpus=1)
    plan.silent = True
    plan.gpu_changes.append(activity(plan, 0.0, 0.0))
    plan.cuda_changes.append(no_launches(lambda _: True, 0.0))
    return plan, Expected(("U0",), decided=False)


def _flat(seed: int) -> tuple[Plan, Expected]:
    plan = healthy(seed)
    level = plan.loss(0.0)
    plan.loss = lambda share: level
    plan.rate = lambda share: 0.0
    plan.grad = lambda share: 0.0
    return plan, Expected(("E1",), "flat", "job")


def _gone(seed: int) -> tuple[Plan, Expected]:
    plan = healthy(seed)
    return plan.without("log_line").losing("gpu_sample"), blind("log_line")


VARIANTS = (
    Variant("any", "fault", _size(None), 6),
    Variant("one", "fault", _size(1), 2),
    Variant("megatron", "fault", _size(16, "megatron"), 2),
    Variant("trainer", "fault", _size(4, "trainer"), 2),
    Variant("plain", "fault", _size(8, "plain"), 2),
    Variant("large", "fault", _size(64), 1),
    Variant("slow", "fault", _slow, 2),
    Variant("log", "fault", _log_only, 2),
    Variant("idle", "twin", _idle, 2),
    Variant("flat", "twin", _flat, 2),
    Variant("patchy", "healthy", _patchy, 2),
    Variant("gone", "blind", _gone, 2),
)

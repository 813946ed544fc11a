"""E3: completed runs of a handful of steps; against crashes, stopped runs and short runs of many steps."""

from __future__ import annotations

from collections.abc import Callable

from evals.scenarios.cases import Variant
from evals.scenarios.endings import cancelled, crash, raised
from evals.scenarios.faults import activity, blind, sound
from evals.scenarios.plan import Plan, healthy
from evals.scenarios.settings import placed, unseen
from evals.scorers.base import Expected


def _few(
    steps: int,
    style: str | None = None,
    engine: float | None = None,
    saves: int | None = None,
    certainty: tuple[float, float] = (0.75, 1.0),
) -> Callable[[int], tuple[Plan, Expected]]:
    def make(seed: int) -> tuple[Plan, Expected]:
        plan = healthy(seed, minutes=6 + seed % 20, style=style)
        plan.steps, plan.stride, plan.saves_every = steps, 1, saves
        if engine is not None:
            plan.gpu_changes.append(activity(plan, engine, engine / 2))
        return plan, Expected(("E3",), None, "job", extra={"certainty": certainty})

    return make


def _none(seed: int) -> tuple[Plan, Expected]:
    """A trainer whose data gave no batch: more steps are no remedy then."""
    plan, _ = _few(0, "trainer")(seed)
    return plan, Expected(("E3",), None, "job", facts=("no batch to train on",))


def _crashed(seed: int) -> tuple[Plan, Expected]:
    plan, _, minute = crash(seed, minutes=12)
    plan.steps, plan.stride, plan.saves_every = 3, 1, None
    plan.progress_until = None
    raised(plan, minute, "IndexError: index out of range in self", "model.py")
    return plan, Expected(("A3",), None, "job")


def _stopped(seed: int) -> tuple[Plan, Expected]:
    plan = healthy(seed, minutes=12)
    plan.steps, plan.stride, plan.saves_every = 4, 1, None
    return cancelled(plan, plan.user), Expected(("F4",), "user", "user")


def _short(seed: int) -> tuple[Plan, Expected]:
    return healthy(seed, minutes=9), sound()


def _gone(seed: int) -> tuple[Plan, Expected]:
    plan, _ = _few(2)(seed)
    return plan.without("log_line").losing("gpu_sample"), blind("log_line")


def _wide(seed: int) -> tuple[Plan, Expected]:
    plan = healthy(seed, gpus=256, minutes=12)
    plan.steps, plan.stride, plan.saves_every = 2, 1, None
    return plan, Expected(("E3",), None, "job")


def _hours(seed: int) -> tuple[Plan, Expected]:
    """A handful of steps: all of it is wasted."""
    plan, _ = _few(2)(seed)
    held = plan.minutes / 60 * len(plan.gpus)
    return plan, Expected(("E3",), None, "job", extra={"hours": {"held": held, "wasted": held}})


def _diverged(seed: int) -> tuple[Plan, Expected]:
    """Three steps with a rising loss say nothing of the loss."""
    plan, _ = _few(3)(seed)
    plan.loss = lambda share: 8.0 + 4 * share
    return plan, Expected(("E3",), None, "job")


VARIANTS = (
    Variant("one", "fault", _few(1)),
    Variant("three", "fault", _few(3)),
    Variant("megatron", "fault", _few(4, "megatron")),
    Variant("trainer", "fault", _few(2, "trainer")),
    Variant("idle", "fault", _few(3, None, 0.04)),
    Variant("seven", "fault", _few(7, None, None, None, (0.5, 0.7))),
    Variant("saved", "fault", _few(2, "plain", None, 1)),
    Variant("crashed", "twin", _crashed),
    Variant("stopped", "twin", _stopped),
    Variant("short", "healthy", _short),
    Variant("gone", "blind", _gone),
    Variant("hours", "fault", _hours),
    Variant("rising", "fault", _diverged),
    Variant("wide", "fault", _wide),
    *placed("three", _few(3), "printed", "exporter", "array", "latent", "beside", "shared"),
    *placed("short", _short, "printed", "coarse", "shared", kind="healthy"),
    *unseen("three", _few(3), "log_line", "log_line", "gpu_sample", ways=("bare", "lost")),
    *placed("three", _few(3), "unaccounted"),
    Variant("none", "fault", _none),
)

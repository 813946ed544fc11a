"""A job whose log holds what an earlier run of it left there first: requeued with one output file, or started again by hand.

What ended the earlier run explains nothing of the last one, whether or not lines have times and whatever accounting tells.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Literal

from evals.scenarios import logs
from evals.scenarios.cases import Kind, Variant
from evals.scenarios.endings import attempt_before, crash, launcher_summary, raised, time_limit
from evals.scenarios.plan import Plan, healthy
from evals.scenarios.settings import Make
from evals.scorers.base import Expected

Told = Literal["all", "last", "none"]
"""Of which runs accounting tells."""


def after(first: Callable[[int], Plan], make: Make, told: Told = "last", *, clock: bool = True) -> Make:
    """`make`'s job, whose log begins with the run of `first`. Without a `clock` no line has a time."""

    def made(seed: int) -> tuple[Plan, Expected]:
        plan, expected = make(seed)
        before = first(seed + 1)
        home = f"/home/{before.user}/{before.name}/"
        before.job_id, before.name, before.user, before.style, before.site = (
            plan.job_id, plan.name, plan.user, plan.style, plan.site,
        )  # fmt: skip
        end = plan.start - timedelta(minutes=plan.rng.uniform(3, 40))
        before.start = end - timedelta(minutes=before.minutes)
        plan.left.append(logs.text(before).replace(home, f"/home/{plan.user}/{plan.name}/"))
        plan.clock_shown = clock
        if told == "all":
            length = round(before.minutes * 60)
            attempt_before(plan, "REQUEUED", "requeued", start_ts=before.start, end_ts=end, elapsed_s=length)
        elif told == "none":
            plan.without("slurm_job", "slurm_job_event", "slurm_step")
        return plan, expected

    return made


def appended(
    name: str, first: Callable[[int], Plan], make: Make, *told: Told, kind: Kind = "twin"
) -> tuple[Variant, ...]:
    """A variant of `after` for each of these, without times in the log; and one of the last run's accounting with them."""
    bare = [Variant(f"{name}-{t}", kind, after(first, make, t, clock=False)) for t in told]
    return (*bare, Variant(f"{name}-timed", kind, after(first, make)))


def caught(make: Make) -> Make:
    """`make`'s job, which is one run: early in it it ran out of memory, caught that, printed it and went on with smaller batches."""

    def made(seed: int) -> tuple[Plan, Expected]:
        plan, expected = make(seed)
        _out_of_memory(plan, plan.minutes * 0.2, plan.gpus[0].index)
        plan.say(plan.minutes * 0.2 + 0.06, "going on with half the batch size")
        return plan, expected

    return made


def ran_out(seed: int) -> Plan:
    """A run that asked for more memory than its card had."""
    plan, gpu, minute = crash(seed)
    _out_of_memory(plan, minute, gpu.index)
    launcher_summary(plan, gpu, minute, 1)
    return plan


def _out_of_memory(plan: Plan, minute: float, gpu: int | None) -> None:
    raised(
        plan,
        minute,
        f"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 4.50 GiB. GPU {gpu} has a total capacity of "
        f"{plan.card_gib:.2f} GiB of which 1.20 GiB is free.",
    )


def crashed(seed: int) -> Plan:
    """A run that an error of its own ended in training."""
    plan, gpu, minute = crash(seed)
    raised(plan, minute, "KeyError: 'token_type_ids'", "collate.py")
    launcher_summary(plan, gpu, minute, 1)
    return plan


def was_killed(seed: int) -> Plan:
    """A run whose launcher names a rank that a signal ended."""
    plan, gpu, minute = crash(seed)
    launcher_summary(plan, gpu, minute, -9, "SIGKILL")
    return plan


def hit_limit(seed: int) -> Plan:
    """A run that its time limit ended."""
    return time_limit(healthy(seed))

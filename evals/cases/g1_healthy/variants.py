"""G1: health on positive evidence, over sizes and noise; against what merely prints no error."""

from __future__ import annotations

from collections.abc import Callable

from evals.scenarios.appended import appended, caught, crashed, was_killed
from evals.scenarios.cases import Variant
from evals.scenarios.faults import activity, blind, counter, no_launches, only, sound, xid
from evals.scenarios.plan import Gpu, Plan, Values, healthy
from evals.scenarios.settings import neighbours, placed, unseen
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


def _spare(seed: int) -> tuple[Plan, Expected]:
    """Half of its GPUs were given for nothing: no process ever came to them."""
    plan = healthy(seed, gpus=8)

    def change(values: Values, gpu: Gpu, minute: float) -> None:
        if gpu.index >= 4:
            values.update(engine_active=0.0, sm_active=0.0, tensor_active=0.0, dram_active=0.0, fb_used_bytes=4 << 20)

    plan.gpu_changes.append(change)
    return plan, sound("healthy", warning="never used")


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


def _short_of_sm(seed: int) -> tuple[Plan, Expected]:
    """An exporter with its usual fields: engine and tensor activity, no SM activity."""
    plan = healthy(seed)
    plan.gpu_changes.append(lambda v, g, m: v.update(sm_active=None))
    return plan.without("cuda_sample", "nccl_sample", "process", "cgroup_sample", "host_sample"), sound("healthy")


def _two_warnings(seed: int) -> tuple[Plan, Expected]:
    plan = healthy(seed, gpus=8)
    plan.gpu_changes.append(activity(plan, 0.28, 0.24))
    plan.gpu_changes.append(counter("ecc_dbe_total", 1e9, 0, only(plan.gpus[2]), before=1))
    return plan, sound(warning=("Latent", "Low duty cycle"))


def _evicted_neighbours(seed: int) -> tuple[Plan, Expected]:
    """Beside a job whose GPU dies."""
    plan = healthy(seed, gpus=2)
    gpu = neighbours(plan, busy=True)[0]
    plan.beside_changes.append(counter("ecc_dbe_total", plan.minutes * 0.5, 6, only(gpu)))
    plan.extra.append(xid(plan, gpu, 48, plan.minutes * 0.5, "DBE (double bit error) ECC Error"))
    return plan, sound("healthy")


VARIANTS = (
    Variant("any", "fault", _size(None), 5),
    Variant("one", "fault", _size(1)),
    Variant("megatron", "fault", _size(16, "megatron")),
    Variant("trainer", "fault", _size(4, "trainer")),
    Variant("plain", "fault", _size(8, "plain")),
    Variant("large", "fault", _size(64)),
    Variant("slow", "fault", _slow),
    Variant("log", "fault", _log_only),
    Variant("idle", "twin", _idle),
    Variant("flat", "twin", _flat),
    Variant("patchy", "healthy", _patchy),
    Variant("gone", "blind", _gone),
    Variant("giant", "fault", lambda seed: (healthy(seed, gpus=1024, minutes=30), sound("healthy"))),
    Variant("no-sm", "fault", _short_of_sm),
    Variant("warned", "fault", _two_warnings),
    Variant("spare", "fault", _spare),
    Variant("neighbour", "fault", _evicted_neighbours),
    *placed(
        "any",
        _size(None),
        "coarse",
        "delayed",
        "uuids",
        "indices",
        "array",
        "latent",
        "shared",
        "roomy",
        "beside",
        "exporter",
        "printed",
        "strangers",
    ),
    *placed("slow", _slow, "coarse", "uuids"),
    *placed("flat", _flat, "printed", kind="twin"),
    *placed("patchy", _patchy, "coarse", "uuids", kind="healthy"),
    *unseen(
        "any",
        _size(None),
        "log_line",
        "log_line",
        "gpu_sample",
        also=("cuda_sample", "nccl_sample"),
        ways=("bare", "stale"),
    ),
    *appended("after-crash", crashed, _size(None), "last", kind="healthy"),
    *appended("after-kill", was_killed, _size(8), "last", kind="healthy"),
    Variant("caught-oom", "healthy", caught(_size(8))),
)

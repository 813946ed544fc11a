"""B1: requests that a card could not meet, with and without a full memory curve; against host memory and survivors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from evals.scenarios.appended import appended, crashed, hit_limit
from evals.scenarios.cases import Variant
from evals.scenarios.endings import at_start, attempt_before, crash, launcher_summary, raised
from evals.scenarios.faults import blind, counter, named, only, oom_kill, sound, xid
from evals.scenarios.plan import Gpu, Plan, Values, healthy
from evals.scenarios.settings import placed, unseen
from evals.scorers.base import Expected

GIB = 1 << 30


def _text(plan: Plan, gpu: Gpu, asked: float, free: float) -> str:
    held = plan.card_gib - free
    return (
        f"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {asked:.2f} GiB. GPU {gpu.index} has a total capacity of "
        f"{plan.card_gib:.2f} GiB of which {free:.2f} GiB is free. Including non-PyTorch memory, this process has {held:.2f} GiB memory "
        f"in use. Of the allocated memory {held - 1:.2f} GiB is allocated by PyTorch, and 412.00 MiB is reserved by PyTorch but unallocated."
    )


def _curve(plan: Plan, gpu: Gpu, minute: float, top: float) -> None:
    def change(values: Values, at: Gpu, now: float) -> None:
        if at.rank == gpu.rank and plan.setup_min <= now <= plan.minutes:
            values["fb_used_bytes"] = int(plan.card_gib * GIB * min(top, 0.6 + (top - 0.6) * now / minute))

    plan.gpu_changes.append(change)


def _midway(top: float | None) -> Callable[[int], tuple[Plan, Expected]]:
    def make(seed: int) -> tuple[Plan, Expected]:
        plan, gpu, minute = crash(seed)
        raised(plan, minute, _text(plan, gpu, plan.rng.uniform(1, 9), 0.7))
        launcher_summary(plan, gpu, minute, 1)
        if top is not None:
            _curve(plan, gpu, minute, top)
        return plan, Expected(("B1",), None, "job", extra={"certainty": (0.85, 1.0)})

    return make


def _first_step(seed: int) -> tuple[Plan, Expected]:
    plan = at_start(seed)
    raised(plan, plan.minutes - 0.3, _text(plan, plan.gpus[0], 1.15 * plan.card_gib, 0.75 * plan.card_gib))
    return plan, Expected(("B1",), None, "job")


def _at_load(seed: int) -> tuple[Plan, Expected]:
    plan = at_start(seed)
    raised(plan, plan.minutes - 0.3, _text(plan, plan.gpus[0], 2.5, 0.4), "model.py", 44)
    return plan, Expected(("B1",), None, "job")


def _with_latent(seed: int) -> tuple[Plan, Expected]:
    plan, expected = _midway(0.98)(seed)
    other = plan.gpus[-1]

    def change(values: Values, at: Gpu, now: float) -> None:
        if at.rank == other.rank:
            values["remapped_uncorrectable"] = 2

    plan.gpu_changes.append(change)
    return plan, expected


def _log_only(seed: int) -> tuple[Plan, Expected]:
    plan, expected = _midway(None)(seed)
    return plan.without("gpu_sample", "gpu_event", "cuda_sample", "nccl_sample", "process", "cgroup_sample"), expected


def _host(seed: int) -> tuple[Plan, Expected]:
    plan, gpu, minute = crash(seed)
    plan.process[gpu.rank] = {
        "end_ts": plan.at(minute),
        "exit_code": None,
        "exit_signal": 9,
        "signal_sender": "kernel-oom",
        "oom_killed": True,
    }
    plan.extra.append(oom_kill(plan, gpu, minute, 300, limit=True))
    launcher_summary(plan, gpu, minute, -9, "SIGKILL")
    return plan, Expected(("A2",), None, "job")


def _survived(seed: int) -> tuple[Plan, Expected]:
    plan = healthy(seed)
    minute = plan.minutes * 0.3
    plan.say(
        minute,
        f"{plan.at(minute):%Y-%m-%d %H:%M:%S},004 WARNING train: CUDA out of memory. Tried to allocate 2.00 GiB. Retrying with a smaller batch",
    )
    return plan, sound()


def _full_but_fine(seed: int) -> tuple[Plan, Expected]:
    plan = healthy(seed)
    plan.memory_gib = plan.card_gib * 0.985
    return plan, sound()


def _gone(seed: int) -> tuple[Plan, Expected]:
    plan, _ = _midway(0.99)(seed)
    return plan.without("log_line"), blind("log_line")


def _peers(seed: int) -> tuple[Plan, Expected]:
    """One rank runs out; the others lose it."""
    plan, gpu, minute = crash(seed, gpus=16, minutes=60)
    raised(plan, minute, _text(plan, gpu, 4.4, 0.9))
    raised(
        plan,
        minute + 0.3,
        "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:2021, remote process exited or there was a network error",
    )
    launcher_summary(plan, gpu, minute + 0.4, 1)
    _curve(plan, gpu, minute, 0.98)
    return plan, Expected(("B1",), None, "job", extra={"timeline": (r"Out of CUDA memory", r"ended, FAILED")})


def _evicted(seed: int) -> tuple[Plan, Expected]:
    plan, _ = _midway(0.98)(seed)
    attempt_before(plan, "PREEMPTED", "preempted")
    return plan, Expected(("B1",), None, "job", extra={"warning": "preempted"})


def _beside_fault(seed: int) -> tuple[Plan, Expected]:
    """A card that lost a page of memory at that very moment is no card that was asked for too much."""
    plan, gpu, minute = crash(seed)
    plan.gpu_changes.append(counter("ecc_dbe_total", minute, 2, only(gpu)))
    plan.extra.append(xid(plan, gpu, 48, minute, "DBE (double bit error) ECC Error", gpu.pid))
    raised(plan, minute, "RuntimeError: CUDA error: uncorrectable ECC error encountered")
    return plan, Expected(("B2",), None, "infrastructure", extra=named(gpu))


def beside_counter(own: bool, name: str) -> Callable[[int], tuple[Plan, Expected]]:
    """A serious counter that rises with the refused request: of another GPU a warning, of the very same one the cause."""

    def make(seed: int) -> tuple[Plan, Expected]:
        plan, gpu, minute = crash(seed, gpus=8)
        plan.site = replace(plan.site, identity="both")
        sick = gpu if own else plan.gpus[(gpu.rank + 3) % 8]
        plan.gpu_changes.append(counter(name, minute - 0.5, 2, only(sick)))
        raised(plan, minute, _text(plan, gpu, 3.5, 0.7))
        launcher_summary(plan, gpu, minute, 1)
        if own:
            return plan, Expected(("B2",), None, "infrastructure", extra=named(sick))
        return plan, Expected(("B1",), None, "job", extra={"warning": f"{name} of"} if name == "ecc_dbe_total" else {})

    return make


def _vague(text: str, top: float, low: float, high: float) -> Callable[[int], tuple[Plan, Expected]]:
    """A library's word for a failed allocation: mostly memory, and not surely. A card filled up to `top`, the fullest, says more."""

    def make(seed: int) -> tuple[Plan, Expected]:
        plan, gpu, minute = crash(seed)
        plan.memory_gib = min(plan.memory_gib, 0.95 * top * plan.card_gib)
        if plan.site.labelled:
            gpu = plan.gpus[0]  # srun's label says who printed it
        raised(plan, minute, text)
        launcher_summary(plan, gpu, minute, 1)
        _curve(plan, gpu, minute, top)
        return plan, Expected(
            ("B1",),
            None,
            "job",
            facts=("usually, and not always",),
            extra={"certainty": (low, high), "excluded": ("B2", "A2")},
        )

    return make


def _many(seed: int) -> tuple[Plan, Expected]:
    plan = at_start(seed, gpus=128)
    for gpu in plan.gpus[::16]:
        raised(plan, plan.minutes - 0.3, _text(plan, gpu, 1.1 * plan.card_gib, 0.8 * plan.card_gib))
    return plan, Expected(("B1",), None, "job")


VARIANTS = (
    Variant("full", "fault", _midway(0.99), 2),
    Variant("low-peak", "fault", _midway(0.7)),
    Variant("first-step", "fault", _first_step),
    Variant("load", "fault", _at_load),
    Variant("latent", "fault", _with_latent),
    Variant("log", "fault", _log_only),
    Variant("host", "twin", _host),
    Variant("survived", "twin", _survived),
    Variant("brim", "healthy", _full_but_fine),
    Variant("gone", "blind", _gone),
    Variant("peers", "fault", _peers),
    Variant("evicted", "fault", _evicted),
    Variant("ecc", "twin", _beside_fault),
    Variant("counter-elsewhere", "fault", beside_counter(False, "ecc_dbe_total")),
    Variant("corrected", "fault", beside_counter(False, "ecc_sbe_total")),
    Variant("many", "fault", _many),
    Variant(
        "library",
        "fault",
        _vague(
            "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`", 0.99, 0.85, 1.0
        ),
    ),
    Variant("convolution", "fault", _vague("RuntimeError: cuDNN error: CUDNN_STATUS_ALLOC_FAILED", 0.7, 0.5, 0.8)),
    *placed("full", _midway(0.99), "coarse", "uuids", "indices", "array", "shared", "beside", "exporter"),
    *placed("brim", _full_but_fine, "uuids", "coarse", kind="healthy"),
    *placed("host", _host, "array", kind="twin"),
    *unseen("full", _midway(0.99), "log_line", "log_line"),
    *placed("full", _midway(0.99), "unaccounted"),
    *appended("after-crash", crashed, _midway(0.99), "last", "all", "none"),
    *appended("after-limit", hit_limit, _first_step, "last"),
)

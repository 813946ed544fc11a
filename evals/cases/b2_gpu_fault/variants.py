"""B2: counters and XIDs that come up as the run ends, against latent ones, those of applications, and hearsay."""

from __future__ import annotations

from collections.abc import Callable

from evals.scenarios.cases import Variant
from evals.scenarios.endings import crash, raised
from evals.scenarios.faults import blind, counter, named, only, sound, xid
from evals.scenarios.plan import Gpu, Plan, healthy
from evals.scorers.base import Expected


def _fault(gpu: Gpu) -> Expected:
    return Expected(("B2",), None, "infrastructure", extra=named(gpu))


def _ecc(seed: int) -> tuple[Plan, Expected]:
    plan, gpu, minute = crash(seed)
    plan.gpu_changes.append(counter("ecc_dbe_total", minute, plan.rng.randrange(1, 9), only(gpu)))
    plan.extra.append(xid(plan, gpu, 48, minute, "DBE (double bit error) ECC Error", gpu.pid))
    raised(plan, minute, "RuntimeError: CUDA error: uncorrectable ECC error encountered")
    return plan, _fault(gpu)


def _bus(seed: int) -> tuple[Plan, Expected]:
    plan, gpu, minute = crash(seed)
    plan.extra.append(xid(plan, gpu, 79, minute, "GPU has fallen off the bus."))
    return plan, _fault(gpu)


def _remap(seed: int) -> tuple[Plan, Expected]:
    plan, gpu, minute = crash(seed)
    plan.gpu_changes.append(counter("remap_failure", minute, 1, only(gpu)))
    plan.gpu_changes.append(counter("remapped_uncorrectable", minute, 1, only(gpu), before=2))
    raised(plan, minute, "RuntimeError: CUDA error: unspecified launch failure")
    return plan, _fault(gpu)


def _nvlink(seed: int) -> tuple[Plan, Expected]:
    plan, gpu, minute = crash(seed)
    plan.extra.append(xid(plan, gpu, 74, minute, "NVLink: fatal error detected on link 3(0x0, 0x0, 0x10000, 0x0)"))
    raised(plan, minute, "RuntimeError: CUDA error: unspecified launch failure")
    return plan, _fault(gpu)


def _counter_only(seed: int) -> tuple[Plan, Expected]:
    plan, gpu, minute = crash(seed)
    plan.gpu_changes.append(counter("ecc_dbe_total", minute, 2, only(gpu)))
    return plan.without("gpu_event", "host_event"), _fault(gpu)


def _gsp(seed: int) -> tuple[Plan, Expected]:
    plan, gpu, minute = crash(seed)
    plan.extra.append(
        xid(plan, gpu, 119, minute, "Timeout after 6s of waiting for RPC response from GPU GSP!", gpu.pid)
    )
    plan.without("gpu_sample")
    return plan, _fault(gpu)


def _latent(seed: int) -> tuple[Plan, Expected]:
    plan = healthy(seed)
    gpu = plan.some_gpu()
    plan.gpu_changes.append(counter("remapped_uncorrectable", 1e9, 0, only(gpu), before=3))
    return plan, sound(warning="Latent")


def _latent_crash(seed: int) -> tuple[Plan, Expected]:
    plan, gpu, minute = crash(seed)
    plan.gpu_changes.append(counter("ecc_dbe_total", 1e9, 0, only(gpu), before=4))
    raised(plan, minute, "KeyError: 'labels'")
    return plan, Expected(("A3",), None, "job", extra={"warning": "Latent"})


def _application(code: int, words: str) -> Callable[[int], tuple[Plan, Expected]]:
    def make(seed: int) -> tuple[Plan, Expected]:
        plan, gpu, minute = crash(seed)
        plan.extra.append(xid(plan, gpu, code, minute, words, gpu.pid))
        raised(plan, minute, "RuntimeError: CUDA error: an illegal memory access was encountered")
        return plan, Expected(("A3",), None, "job")

    return make


def _contained(seed: int) -> tuple[Plan, Expected]:
    plan = healthy(seed)
    gpu = plan.some_gpu()
    plan.extra.append(
        xid(plan, gpu, 94, plan.minutes * 0.5, "Contained: CE User Channel (0x9). RST: No, D-RST: No", 77)
    )
    return plan, sound()


def _elsewhere(seed: int) -> tuple[Plan, Expected]:
    plan, _, minute = crash(seed)
    other = Gpu(0, "zz999", 2, "GPU-ffffffff-0000-0000-0000-000000000000", "00000000:43:00.0", 9, 0.0)
    plan.extra.append(xid(plan, other, 79, minute, "GPU has fallen off the bus."))
    raised(plan, minute, "ValueError: Expected input batch_size (8) to match target batch_size (7).")
    return plan, Expected(("A3",), None, "job")


def _hearsay(seed: int) -> tuple[Plan, Expected]:
    plan, gpu, minute = crash(seed)
    plan.say(minute, f"NVRM: Xid (PCI:0000:1b:00): 79, pid={gpu.pid}, GPU has fallen off the bus.")
    raised(plan, minute, "IndexError: list index out of range")
    return plan, Expected(("A3",), None, "job")


def _flag(seed: int) -> tuple[Plan, Expected]:
    plan = healthy(seed)
    gpu = plan.some_gpu()

    def change(values: dict[str, object], at: Gpu, minute: float) -> None:
        if at.rank == gpu.rank:
            values["health"] = "warning"
            values["ecc_sbe_total"] = 12 + int(minute / 20)

    plan.gpu_changes.append(change)
    return plan, sound()


def _noisy(seed: int) -> tuple[Plan, Expected]:
    plan = healthy(seed)
    for gpu in plan.gpus[:3]:
        plan.gpu_changes.append(counter("ecc_sbe_total", plan.minutes * 0.3, plan.rng.randrange(1, 40), only(gpu)))
        plan.gpu_changes.append(counter("pcie_replays", plan.minutes * 0.6, 3, only(gpu)))
    return plan, sound()


def _gone(seed: int) -> tuple[Plan, Expected]:
    plan, _, _ = crash(seed)
    return plan.without("gpu_event", "host_event", "gpu_sample"), blind("gpu_event")


VARIANTS = (
    Variant("ecc", "fault", _ecc, 3),
    Variant("bus", "fault", _bus, 2),
    Variant("remap", "fault", _remap, 2),
    Variant("nvlink", "fault", _nvlink, 2),
    Variant("counter", "fault", _counter_only, 2),
    Variant("gsp", "fault", _gsp, 2),
    Variant("latent", "twin", _latent, 2),
    Variant("latent-crash", "twin", _latent_crash, 2),
    Variant("xid-31", "twin", _application(31, "Ch 00000008, intr 10000000. MMU Fault: ENGINE GRAPHICS"), 2),
    Variant("xid-13", "twin", _application(13, "Graphics SM Warp Exception on (GPC 2, TPC 1, SM 0)"), 1),
    Variant("xid-94", "twin", _contained, 1),
    Variant("elsewhere", "twin", _elsewhere, 2),
    Variant("hearsay", "twin", _hearsay, 2),
    Variant("flag", "twin", _flag, 2),
    Variant("noisy", "healthy", _noisy, 2),
    Variant("gone", "blind", _gone, 2),
)

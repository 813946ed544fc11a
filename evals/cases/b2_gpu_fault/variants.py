"""B2: counters and XIDs that come up as the run ends, against latent ones, those of applications, and hearsay."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from evals.cases.b1_cuda_oom.variants import beside_counter
from evals.scenarios.cases import Variant
from evals.scenarios.endings import attempt_before, crash, launcher_summary, node_state, raised, time_limit
from evals.scenarios.faults import activity, blind, but, counter, frozen, named, no_launches, only, sound, xid
from evals.scenarios.plan import Gpu, Plan, healthy
from evals.scenarios.settings import neighbours, placed, unseen
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


def _pasted(error: str, xid_line: str, *, seen: bool, expected: Expected) -> Callable[[int], tuple[Plan, Expected]]:
    """Somebody prints a line in the shape of the kernel's beside a CUDA error. `seen`: the kernel's own log is there, and silent."""

    def make(seed: int) -> tuple[Plan, Expected]:
        plan, gpu, minute = crash(seed)
        plan.say(minute, f"NVRM: Xid (PCI:0000:1b:00): {xid_line.format(pid=gpu.pid)}")
        raised(plan, minute, f"RuntimeError: CUDA error: {error}")
        if not seen:
            plan.without("gpu_event", "host_event")
        return plan, expected

    return make


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


def _twice(seed: int) -> tuple[Plan, Expected]:
    """The same GPU ended the first attempt, and now the third; the second was evicted."""
    plan, gpu, minute = crash(seed, gpus=16)
    attempt_before(plan, "PREEMPTED", "preempted")
    attempt_before(plan, "FAILED", None, exit_code=1, exit_signal=0)
    before = (plan.attempts[0]["end_ts"] - plan.start).total_seconds() / 60
    plan.extra.append(xid(plan, gpu, 79, before - 0.5, "GPU has fallen off the bus."))
    plan.extra.append(xid(plan, gpu, 79, minute, "GPU has fallen off the bus."))
    return plan, Expected(("B2",), None, "infrastructure", extra=named(gpu, warning=("earlier attempt", "preempted")))


def _cascade(gpus: int) -> Callable[[int], tuple[Plan, Expected]]:
    """A GPU dies, the program on it gets an error, its peers lose it."""

    def make(seed: int) -> tuple[Plan, Expected]:
        plan, gpu, minute = crash(seed, gpus=gpus, minutes=50)
        plan.extra.append(xid(plan, gpu, 79, minute, "GPU has fallen off the bus."))
        raised(plan, minute + 0.1, "RuntimeError: CUDA error: unspecified launch failure")
        raised(
            plan,
            minute + 0.3,
            "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:2021, remote process exited or there was a network error",
        )
        launcher_summary(plan, gpu, minute + 0.4, 1)
        return plan, Expected(
            ("B2",),
            None,
            "infrastructure",
            extra=named(gpu, timeline=(r"fallen off the bus", r"Exception", r"ended, FAILED")),
        )

    return make


def _hung(seed: int) -> tuple[Plan, Expected]:
    """A GPU dies and the others wait for it to the wall."""
    plan = healthy(seed, gpus=16, minutes=70)
    gpu, at = plan.some_gpu(), 45.0
    plan.progress_until = at
    plan.gpu_changes += [activity(plan, 0.995, 0.04, but(gpu), at), activity(plan, 0.0, 0.0, only(gpu), at)]
    plan.cuda_changes.append(no_launches(lambda _: True, at))
    plan.nccl_changes.append(frozen(gpu, at))
    plan.extra.append(xid(plan, gpu, 79, at, "GPU has fallen off the bus."))
    time_limit(plan)
    return plan, Expected(
        ("B2",), None, "infrastructure", extra=named(gpu, timeline=(r"fallen off the bus", r"ended, TIMEOUT"))
    )


def _with_node(seed: int) -> tuple[Plan, Expected]:
    """The node is drained for its GPU half a minute after."""
    plan, gpu, minute = crash(seed, gpus=16)
    plan.extra.append(xid(plan, gpu, 79, minute, "GPU has fallen off the bus."))
    node_state(plan, gpu.node, plan.minutes + 0.5, "DRAINED", "gpu health check failed", "DRAIN")
    return plan, _fault(gpu)


def _two(seed: int) -> tuple[Plan, Expected]:
    """Two GPUs on two nodes: the first to fail is the cause, the other a warning."""
    plan, _, minute = crash(seed, gpus=32)
    gpu, other = plan.gpus[3], plan.gpus[-1]
    plan.extra.append(xid(plan, gpu, 79, minute, "GPU has fallen off the bus."))
    plan.extra.append(
        xid(plan, other, 74, minute + 0.4, "NVLink: fatal error detected on link 1(0x0, 0x0, 0x10000, 0x0)")
    )
    return plan, Expected(("B2",), None, "infrastructure", extra=named(gpu, warning=other.node))


def _whose(seed: int) -> tuple[Plan, Expected]:
    """A GPU dies on a node that is shared; whose it was nobody says."""
    plan, gpu, minute = crash(seed, gpus=2)
    neighbours(plan, busy=True)
    plan.extra.append(xid(plan, gpu, 79, minute, "GPU has fallen off the bus."))
    plan.site = replace(plan.site, identity="index")
    return plan.without("process", "cuda_sample", "nccl_sample", "log_line"), blind("process")


def _host(seed: int) -> tuple[Plan, Expected]:
    """Killed for host memory: no fault of a card."""
    plan, gpu, minute = crash(seed)
    plan.process[gpu.rank] = {
        "end_ts": plan.at(minute), "exit_code": None, "exit_signal": 9, "signal_sender": "kernel-oom", "oom_killed": True,
    }  # fmt: skip
    plan.gpu_changes.append(counter("ecc_sbe_total", minute, 3, only(gpu)))
    return plan, Expected(("A2",), None, "job", extra={"culprit": {"rank": gpu.rank}})


_ILLEGAL = "an illegal memory access was encountered"
_BUS_LINE = "79, pid={pid}, name=python, GPU has fallen off the bus."
_ECC_LINE = "48, pid={pid}, name=python, uncorrectable ECC error: GPU requires reset"
_PROGRAM = Expected(("A3",), None, "job")
_OPEN = blind("gpu_event")


def _lost(seed: int) -> tuple[Plan, Expected]:
    """The program gets an error of any cause, and the driver's tool no longer finds the device; nobody kept the kernel's log."""
    plan, gpu, minute = crash(seed)
    raised(plan, minute, "RuntimeError: CUDA error: unspecified launch failure")
    plan.say(minute + 0.4, f"Unable to determine the device handle for GPU{gpu.index}: Unknown Error")
    return plan.without("gpu_event", "host_event"), Expected(
        ("B2",), None, "infrastructure", extra={"certainty": (0.8, 0.9)}
    )


def _lost_alone(seed: int) -> tuple[Plan, Expected]:
    """Only the tool no longer finds the device: one witness, and a driver that was reloaded says the same."""
    plan, gpu, minute = crash(seed)
    plan.say(minute + 0.4, f"Unable to determine the device handle for GPU{gpu.index}: Unknown Error")
    return plan.without("gpu_event", "host_event"), Expected(
        ("B2",), None, "infrastructure", extra={"certainty": (0.5, 0.75)}
    )


_SWITCH = "00000000:c6:00.0"


def _switch(severity: str, error: str, expected: Callable[[Gpu], Expected]) -> Callable[[int], tuple[Plan, Expected]]:
    """An NVSwitch of a node of the job reports an error as the program fails."""

    def make(seed: int) -> tuple[Plan, Expected]:
        plan, gpu, minute = crash(seed, gpus=16)
        words = (
            f"nvidia-nvswitch{seed % 6}: SXid (PCI:{_SWITCH[4:]}): 20034, {severity}, Link {seed % 50} LTSSM Fault Up"
        )
        plan.extra.append(
            replace(
                xid(plan, gpu, 20034, minute, words),
                event="sxid",
                gpu=None,
                gpu_uuid=None,
                pci_bus_id=_SWITCH,
                message=words,
            )
        )
        raised(plan, minute + 0.1, error)
        return plan, expected(gpu)

    return make


def _at_switch(gpu: Gpu) -> Expected:
    return Expected(("B2",), None, "infrastructure", extra={"culprit": {"node": gpu.node}})


def _programs_own(gpu: Gpu) -> Expected:
    return Expected(("A3",), None, "job", extra={"warning": "NVSwitch"})


_LAUNCH = "RuntimeError: CUDA error: unspecified launch failure"
_KEY = "KeyError: 'labels'"

VARIANTS = (
    Variant("ecc", "fault", _ecc, 2),
    Variant("bus", "fault", _bus),
    Variant("remap", "fault", _remap),
    Variant("nvlink", "fault", _nvlink),
    Variant("counter", "fault", _counter_only),
    Variant("gsp", "fault", _gsp),
    Variant("latent", "twin", _latent),
    Variant("latent-crash", "twin", _latent_crash),
    Variant("xid-31", "twin", _application(31, "Ch 00000008, intr 10000000. MMU Fault: ENGINE GRAPHICS")),
    Variant("xid-13", "twin", _application(13, "Graphics SM Warp Exception on (GPC 2, TPC 1, SM 0)")),
    Variant("xid-43", "twin", _application(43, "Ch 00000010")),
    Variant("xid-45", "twin", _application(45, "Ch 00000008, errorString CTX SWITCH TIMEOUT")),
    Variant("xid-94", "twin", _contained),
    Variant("elsewhere", "twin", _elsewhere),
    Variant("hearsay", "twin", _hearsay),
    Variant("flag", "twin", _flag),
    Variant("noisy", "healthy", _noisy),
    Variant("gone", "blind", _gone),
    Variant("twice", "fault", _twice),
    Variant("cascade", "fault", _cascade(16)),
    Variant("cascade-many", "fault", _cascade(1024)),
    Variant("hung", "fault", _hung),
    Variant("with-node", "fault", _with_node),
    Variant("two", "fault", _two),
    Variant("host", "twin", _host),
    Variant("whose", "blind", _whose),
    *placed("ecc", _ecc, "coarse", "delayed", "uuids", "indices", "array", "shared", "roomy"),
    *placed("bus", _bus, "uuids", "indices"),
    *placed("counter", _counter_only, "exporter"),
    *placed("latent", _latent, "uuids", "shared", kind="twin"),
    *placed(
        "xid-31", _application(31, "Ch 00000008, intr 10000000. MMU Fault: ENGINE GRAPHICS"), "beside", kind="twin"
    ),
    *placed("noisy", _noisy, "beside", "coarse", kind="healthy"),
    Variant("pasted", "twin", _pasted(_ILLEGAL, _BUS_LINE, seen=False, expected=_PROGRAM)),
    Variant("pasted-ecc", "twin", _pasted(_ILLEGAL, _ECC_LINE, seen=False, expected=_PROGRAM)),
    Variant("pasted-seen", "twin", _pasted("unspecified launch failure", _BUS_LINE, seen=True, expected=_PROGRAM)),
    Variant("pasted-open", "blind", _pasted("unspecified launch failure", _BUS_LINE, seen=False, expected=_OPEN)),
    Variant("pasted-unknown", "blind", _pasted("unknown error", _ECC_LINE, seen=False, expected=_OPEN)),
    *unseen("counter", _counter_only, "gpu_event", "gpu_sample"),
    Variant("lost", "fault", _lost),
    Variant("lost-alone", "fault", _lost_alone),
    Variant("switch", "fault", _switch("Fatal", _LAUNCH, _at_switch)),
    Variant("switch-beside", "twin", _switch("Non-fatal", _KEY, _programs_own)),
    Variant("refused-there", "fault", beside_counter(True, "ecc_dbe_total")),
    Variant("refused-elsewhere", "twin", beside_counter(False, "ecc_dbe_total")),
)

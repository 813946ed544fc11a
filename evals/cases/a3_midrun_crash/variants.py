"""A3: exceptions of the application after training began, by class; against hardware that failed at that moment."""

from __future__ import annotations

from collections.abc import Callable

from evals.scenarios.cases import Variant
from evals.scenarios.endings import at_start, crash, launcher_summary, raised
from evals.scenarios.faults import blind, counter, named, only, sound, xid
from evals.scenarios.plan import Plan, healthy
from evals.scorers.base import Expected


def _raises(mode: str, text: str, frame: str = "train.py") -> Callable[[int], tuple[Plan, Expected]]:
    def make(seed: int) -> tuple[Plan, Expected]:
        plan, gpu, minute = crash(seed)
        raised(plan, minute, text, frame)
        launcher_summary(plan, gpu, minute, 1)
        return plan, Expected(("A3",), mode, "job")

    return make


def _hardware(seed: int) -> tuple[Plan, Expected]:
    plan, gpu, minute = crash(seed)
    plan.gpu_changes.append(counter("ecc_dbe_total", minute, 1, only(gpu)))
    plan.extra.append(xid(plan, gpu, 48, minute, "DBE (double bit error) ECC Error", gpu.pid))
    raised(plan, minute, "RuntimeError: CUDA error: unspecified launch failure")
    return plan, Expected(("B2",), None, "infrastructure", extra=named(gpu))


def _early(seed: int) -> tuple[Plan, Expected]:
    plan = at_start(seed)
    raised(plan, plan.minutes - 0.2, "KeyError: 'hidden_size'", "config.py")
    return plan, Expected(("A1",), None, "job")


def _handled(seed: int) -> tuple[Plan, Expected]:
    plan = healthy(seed)
    minute = plan.minutes * 0.4
    plan.say(
        minute,
        f"{plan.at(minute):%Y-%m-%d %H:%M:%S},009 WARNING data: skipped a broken record (UnicodeDecodeError), going on",
    )
    return plan, sound()


def _gone(seed: int) -> tuple[Plan, Expected]:
    plan, _, _ = crash(seed)
    return plan.without("log_line"), blind("log_line")


VARIANTS = (
    Variant("key", "fault", _raises("data", "KeyError: 'labels'", "data_collator.py"), 2),
    Variant("disk", "fault", _raises("storage", "OSError: [Errno 28] No space left on device"), 3),
    Variant("quota", "fault", _raises("storage", "OSError: [Errno 122] Disk quota exceeded: '/scratch/out/step_400.pt'"), 2),
    Variant("shape", "fault", _raises("code", "RuntimeError: The size of tensor a (4096) must match the size of tensor b (4095) at non-singleton dimension 1", "model.py"), 2),
    Variant("network", "fault", _raises("network", "requests.exceptions.ConnectionError: HTTPSConnectionPool(host='hub.example.org', port=443): Max retries exceeded with url: /api (Caused by NewConnectionError('Failed to establish a new connection'))"), 2),
    Variant("hardware", "twin", _hardware, 2),
    Variant("early", "twin", _early, 2),
    Variant("handled", "healthy", _handled, 2),
    Variant("gone", "blind", _gone, 2),
)  # fmt: skip

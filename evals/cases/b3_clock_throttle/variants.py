"""B3: severe throttle bits with clocks down and steps slower, against benign bits, hot cards and slow ranks."""

from __future__ import annotations

from collections.abc import Callable

from evals.scenarios.cases import Variant
from evals.scenarios.endings import crash, raised, time_limit
from evals.scenarios.faults import activity, blind, but, counter, named, only, sound
from evals.scenarios.plan import Gpu, Plan, Values, healthy
from evals.scenarios.settings import placed, unseen
from evals.scorers.base import Expected

HW_SLOWDOWN, HW_THERMAL, SW_THERMAL, POWER_BRAKE = 0x8, 0x40, 0x20, 0x80
SW_POWER_CAP, IDLE, APP_CLOCKS = 0x4, 0x1, 0x2
WORDS = {
    HW_THERMAL: "hardware thermal slowdown",
    POWER_BRAKE: "hardware power brake slowdown",
    SW_THERMAL: "software thermal slowdown",
    HW_SLOWDOWN: "hardware slowdown",
}


def _bits(plan: Plan, gpu: Gpu, bits: int, clock: float, temp: float, start: float, share: float = 1.0) -> None:
    rng = plan.rng

    def change(values: Values, at: Gpu, minute: float) -> None:
        if at.rank == gpu.rank and start <= minute < plan.minutes - 0.3 and rng.random() < share:
            values["throttle_reasons"] = bits
            values["sm_clock_mhz"] = clock / 1980 * plan.site.card.clock_mhz + rng.gauss(0, 20)
            values["temp_c"] = round(temp + rng.gauss(0, 1))

    plan.gpu_changes.append(change)


def _throttled(
    bits: int, clock: float, temp: float, from_share: float = 0.4, gpus: int | None = None
) -> Callable[[int], tuple[Plan, Expected]]:
    def make(seed: int) -> tuple[Plan, Expected]:
        plan = healthy(seed, gpus=gpus)
        gpu = plan.some_gpu()
        start = from_share * plan.minutes
        _bits(plan, gpu, bits, clock, temp, start, 0.9)
        plan.pace = lambda minute: 1.9 if minute > start else 1.0
        words = tuple(word for bit, word in WORDS.items() if bits & bit)
        return plan, Expected(("B3",), None, "infrastructure", facts=words, extra=named(gpu))

    return make


def _as_straggler(seed: int) -> tuple[Plan, Expected]:
    plan = healthy(seed, gpus=8)
    gpu = plan.some_gpu()
    _bits(plan, gpu, HW_THERMAL | HW_SLOWDOWN, 800, 91, plan.setup_min, 0.95)
    plan.gpu_changes.append(activity(plan, 0.97, 0.6, only(gpu)))
    plan.gpu_changes.append(activity(plan, 0.98, 0.2, but(gpu)))
    return plan, Expected(("B3",), None, "infrastructure", extra=named(gpu))


def _from_the_start(seed: int) -> tuple[Plan, Expected]:
    """It never was any faster: only the other cards show what its clock should be."""
    plan = healthy(seed, gpus=8)
    gpu = plan.some_gpu()
    _bits(plan, gpu, HW_THERMAL, 760, 90, 0.0, 0.9)
    # Between its bits, too, it runs as low as with them.
    plan.gpu_changes.append(
        lambda v, g, m: v.update(sm_clock_mhz=0.38 * plan.site.card.clock_mhz) if g.rank == gpu.rank else None
    )
    return plan, Expected(("B3",), None, "infrastructure", extra=named(gpu))


def _to_the_wall(seed: int) -> tuple[Plan, Expected]:
    plan = healthy(seed)
    gpu = plan.some_gpu()
    _bits(plan, gpu, HW_THERMAL, 700, 93, 0.3 * plan.minutes, 0.9)
    start = 0.3 * plan.minutes
    plan.pace = lambda minute: 2.2 if minute > start else 1.0
    time_limit(plan)
    return plan, Expected(("B3",), None, "infrastructure", extra=named(gpu))


def _benign(bits: int, clock: float, temp: float) -> Callable[[int], tuple[Plan, Expected]]:
    def make(seed: int) -> tuple[Plan, Expected]:
        plan = healthy(seed)
        for gpu in plan.gpus:
            _bits(plan, gpu, bits, clock, temp, plan.setup_min, 0.8)
        return plan, sound()

    return make


def _brief(seed: int) -> tuple[Plan, Expected]:
    plan = healthy(seed)
    _bits(plan, plan.some_gpu(), HW_SLOWDOWN, 1200, 80, plan.setup_min, 0.02)
    return plan, sound()


def _hot(seed: int) -> tuple[Plan, Expected]:
    plan = healthy(seed)
    _bits(plan, plan.some_gpu(), 0, 1960, 84, plan.setup_min)
    return plan, sound()


def _slow_rank(seed: int) -> tuple[Plan, Expected]:
    plan = healthy(seed, gpus=8)
    gpu = plan.some_gpu()
    plan.gpu_changes.append(activity(plan, 0.97, 0.58, only(gpu)))
    plan.gpu_changes.append(activity(plan, 0.98, 0.17, but(gpu)))
    return plan, Expected(("D3",), None, None, extra=named(gpu))


def _gone(seed: int) -> tuple[Plan, Expected]:
    plan, _ = _throttled(HW_THERMAL, 900, 90)(seed)
    return plan.losing("gpu_sample"), blind("gpu_sample")


def _rack(seed: int) -> tuple[Plan, Expected]:
    """Cooling fails for a rack: the cards of eight nodes of 128 throttle."""
    plan = healthy(seed, gpus=1024, minutes=30)
    nodes = plan.nodes[40:48]
    start = 0.4 * plan.minutes
    rng = plan.rng

    def change(values: Values, at: Gpu, minute: float) -> None:
        if at.node in nodes and start <= minute < plan.minutes - 0.3 and rng.random() < 0.9:
            values.update(
                throttle_reasons=HW_THERMAL | HW_SLOWDOWN, sm_clock_mhz=0.45 * plan.site.card.clock_mhz, temp_c=92
            )

    plan.gpu_changes.append(change)
    plan.pace = lambda minute: 2.0 if minute > start else 1.0
    return plan, Expected(
        ("B3",), None, "infrastructure", facts=("64", "8", WORDS[HW_THERMAL]), extra={"culprit": {"node": nodes[0]}}
    )


def _latent_too(seed: int) -> tuple[Plan, Expected]:
    """The card that throttles carries an old fault of its memory besides."""
    plan = healthy(seed)
    gpu = plan.some_gpu()
    start = 0.4 * plan.minutes
    _bits(plan, gpu, HW_THERMAL | HW_SLOWDOWN, 900, 91, start, 0.9)
    plan.gpu_changes.append(counter("ecc_dbe_total", 1e9, 0, only(gpu), before=4))
    plan.pace = lambda minute: 1.9 if minute > start else 1.0
    return plan, Expected(("B3",), None, "infrastructure", extra=named(gpu, warning="Latent"))


def _then_crash(seed: int) -> tuple[Plan, Expected]:
    """Throttled for a while, and then a plain error of the program."""
    plan, _, minute = crash(seed, gpus=8)
    _bits(plan, plan.some_gpu(), HW_SLOWDOWN, 1000, 88, plan.setup_min, 0.6)
    raised(plan, minute, "KeyError: 'labels'", "data_collator.py")
    return plan, Expected(("A3",), "data", "job", extra={"warning": "lowered its clocks"})


VARIANTS = (
    Variant("thermal", "fault", _throttled(HW_THERMAL | HW_SLOWDOWN, 900, 91), 2),
    Variant("power-brake", "fault", _throttled(POWER_BRAKE | HW_SLOWDOWN, 1000, 70)),
    Variant("slowdown", "fault", _throttled(HW_SLOWDOWN, 600, 75, 0.6)),
    Variant("unlike-nodes", "fault", _throttled(HW_THERMAL, 800, 90, gpus=12)),
    Variant("software-thermal", "fault", _throttled(SW_THERMAL, 1100, 88, 0.3)),
    Variant("straggler", "fault", _as_straggler),
    Variant("wall", "fault", _to_the_wall),
    Variant("from-start", "fault", _from_the_start),
    Variant("power-cap", "twin", _benign(SW_POWER_CAP, 1750, 64)),
    Variant("idle-bits", "twin", _benign(IDLE, 1970, 50)),
    Variant("application-clocks", "twin", _benign(APP_CLOCKS, 1410, 55)),
    Variant("brief", "twin", _brief),
    Variant("slow-rank", "twin", _slow_rank),
    Variant("hot", "healthy", _hot),
    Variant("gone", "blind", _gone),
    Variant("rack", "fault", _rack),
    Variant("latent", "fault", _latent_too),
    Variant("crashed", "twin", _then_crash),
    *placed(
        "thermal",
        _throttled(HW_THERMAL | HW_SLOWDOWN, 900, 91),
        "coarse",
        "delayed",
        "uuids",
        "indices",
        "array",
        "shared",
        "roomy",
        "exporter",
    ),
    *placed("power-cap", _benign(SW_POWER_CAP, 1750, 64), "coarse", "shared", kind="twin"),
    *placed("hot", _hot, "uuids", "delayed", kind="healthy"),
    *unseen(
        "thermal",
        _throttled(HW_THERMAL | HW_SLOWDOWN, 900, 91),
        "gpu_sample",
        "gpu_sample",
        ways=("bare", "stale"),
        until=0.3,
    ),
)

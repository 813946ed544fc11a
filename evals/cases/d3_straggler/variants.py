"""D3: one rank computes while its peers spin, against even slowness, imbalance that is normal, and other explanations."""

from __future__ import annotations

from collections.abc import Callable

from evals.scenarios.cases import Variant
from evals.scenarios.endings import crash, raised, time_limit
from evals.scenarios.faults import activity, blind, but, counter, named, only, sound, without_sm
from evals.scenarios.plan import Gpu, Plan, Values, healthy
from evals.scenarios.settings import placed, unseen
from evals.scorers.base import Expected


def _lag(plan: Plan, gpu: Gpu, own: float, peers: float) -> None:
    plan.gpu_changes.append(activity(plan, 0.96, own, only(gpu)))
    plan.gpu_changes.append(activity(plan, 0.985, peers, but(gpu)))


def _slow(
    own: float, peers: float, gpus: int | None = None, minutes: float | None = None
) -> Callable[[int], tuple[Plan, Expected]]:
    def make(seed: int) -> tuple[Plan, Expected]:
        plan = healthy(seed, gpus=gpus or (8, 16, 32, 4)[seed % 4], minutes=minutes)
        gpu = plan.some_gpu()
        _lag(plan, gpu, own, peers)
        return plan, Expected(("D3",), None, None, extra=named(gpu))

    return make


def _wall(seed: int) -> tuple[Plan, Expected]:
    plan = healthy(seed, gpus=16)
    gpu = plan.some_gpu()
    _lag(plan, gpu, 0.6, 0.15)
    time_limit(plan)
    return plan, Expected(("D3",), None, None, extra=named(gpu))


def _uniform(seed: int) -> tuple[Plan, Expected]:
    plan = healthy(seed, gpus=16)
    plan.gpu_changes.append(activity(plan, 0.985, 0.11))
    return plan, Expected(("D2",), "interconnect")


def _rank_zero(seed: int) -> tuple[Plan, Expected]:
    plan = healthy(seed, gpus=8)
    plan.gpu_changes.append(activity(plan, 0.96, 0.68, only(plan.gpus[0])))
    plan.gpu_changes.append(activity(plan, 0.96, 0.52, but(plan.gpus[0])))
    return plan, sound()


def _short(seed: int) -> tuple[Plan, Expected]:
    plan = healthy(seed, gpus=8)
    gpu = plan.some_gpu()
    plan.gpu_changes.append(activity(plan, 0.98, 0.2, but(gpu), plan.setup_min, plan.setup_min + 4))
    return plan, sound()


def _pipeline(seed: int) -> tuple[Plan, Expected]:
    plan = healthy(seed, gpus=8)

    def change(values: Values, gpu: Gpu, minute: float) -> None:
        if values["sm_active"]:
            values["sm_active"] = min(0.95, 0.45 + 0.03 * gpu.index + plan.rng.gauss(0, 0.02))

    plan.gpu_changes.append(change)
    return plan, sound()


def _engine(seed: int) -> tuple[Plan, Expected]:
    """One GPU's engine is open for less of the time, and its SMs do what those of its peers do."""
    plan = healthy(seed, gpus=8)
    gpu = plan.some_gpu()

    def change(values: Values, at: Gpu, minute: float) -> None:
        if at.rank == gpu.rank and values["engine_active"]:
            values["engine_active"] *= 0.62

    plan.gpu_changes.append(change)
    return plan, sound(excluded=("D3",))


def _gone(seed: int) -> tuple[Plan, Expected]:
    plan, _ = _slow(0.6, 0.16)(seed)
    return plan.losing("gpu_sample"), blind("gpu_sample")


def _latent_too(seed: int) -> tuple[Plan, Expected]:
    """The slow GPU carries an old fault: a warning, and no proof of why it is slow."""
    plan = healthy(seed, gpus=16)
    gpu = plan.some_gpu()
    _lag(plan, gpu, 0.58, 0.16)
    plan.gpu_changes.append(counter("remapped_uncorrectable", 1e9, 0, only(gpu), before=3))
    return plan, Expected(("D3",), None, None, extra=named(gpu, warning="Latent"))


def _then_crash(seed: int) -> tuple[Plan, Expected]:
    """A slow rank, and an error of the program that ends the run."""
    plan, _, minute = crash(seed, gpus=16)
    gpu = plan.some_gpu()
    _lag(plan, gpu, 0.58, 0.16)
    raised(plan, minute, "KeyError: 'labels'", "data_collator.py")
    return plan, Expected(("A3",), "data", "job", extra={"warning": "holds the others up"})


def _by_memory(seed: int) -> tuple[Plan, Expected]:
    plan, expected = _slow(0.58, 0.16, 8)(seed)
    without_sm(plan)
    return plan, expected


def _uneven_memory(seed: int) -> tuple[Plan, Expected]:
    """Stages of a pipeline read more memory one than the other, and all of them work."""
    plan, expected = _pipeline(seed)
    without_sm(plan)
    return plan, expected


VARIANTS = (
    Variant("strong", "fault", _slow(0.58, 0.16), 3),
    Variant("milder", "fault", _slow(0.5, 0.2)),
    Variant("two", "fault", _slow(0.62, 0.2, 2)),
    Variant("many", "fault", _slow(0.55, 0.15, 64)),
    Variant("unlike-nodes", "fault", _slow(0.55, 0.15, 12)),
    Variant("wall", "fault", _wall),
    Variant("uniform", "twin", _uniform),
    Variant("rank-zero", "twin", _rank_zero),
    Variant("warm-up", "twin", _short),
    Variant("pipeline", "healthy", _pipeline),
    Variant("engine", "twin", _engine),
    Variant("gone", "blind", _gone),
    Variant("giant", "fault", _slow(0.55, 0.15, 1024, 30)),
    Variant("latent", "fault", _latent_too),
    Variant("crashed", "twin", _then_crash),
    *placed(
        "strong", _slow(0.58, 0.16), "coarse", "delayed", "uuids", "indices", "array", "shared", "roomy", "exporter"
    ),
    *placed("rank-zero", _rank_zero, "coarse", "shared", kind="twin"),
    *placed("pipeline", _pipeline, "coarse", "roomy", "uuids", kind="healthy"),
    *unseen("strong", _slow(0.58, 0.16), "gpu_sample", "gpu_sample", until=0.1, ways=("bare", "stale")),
    Variant("by-memory", "fault", _by_memory),
    Variant("uneven-memory", "healthy", _uneven_memory),
)

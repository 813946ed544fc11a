"""The same fault somewhere else: shared nodes, poor telemetry, odd names. A setting changes what is seen and not what is true."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from evals.scenarios.cases import Kind, Variant
from evals.scenarios.faults import blind, counter, only, xid
from evals.scenarios.plan import Gpu, Plan, Values
from evals.scorers.base import Expected

Make = Callable[[int], tuple[Plan, Expected]]
Setting = Callable[[Plan, Expected], Expected]

RUNTIME = ("cuda_sample", "nccl_sample", "process", "cgroup_sample")
KERNEL = ("gpu_event", "host_event", "host_sample")


def placed(name: str, make: Make, *settings: str, kind: Kind = "fault", draws: int = 1) -> tuple[Variant, ...]:
    """A variant of `make` for each of these settings."""
    return tuple(Variant(f"{name}-{s}", kind, _in(make, SETTINGS[s]), draws) for s in settings)


def unseen(
    name: str,
    make: Make,
    missing: str,
    *tables: str,
    also: tuple[str, ...] = (),
    until: float = 0.4,
    ways: tuple[str, ...] = ("lost", "stale"),
) -> tuple[Variant, ...]:
    """`make` without what decides it: `tables` were not collected, their sources failed (lost), or fell silent (stale).

    `also` was never collected; `until` is the share of the run after which a stale source says nothing more.
    """
    return tuple(Variant(f"{name}-{way}", "blind", _blinded(make, missing, tables, also, until, way)) for way in ways)


def _blinded(make: Make, missing: str, tables: tuple[str, ...], also: tuple[str, ...], until: float, way: str) -> Make:
    def made(seed: int) -> tuple[Plan, Expected]:
        plan, _ = make(seed)
        plan.without(*also)
        if way == "bare":
            plan.without(*tables)
        elif way == "lost":
            plan.losing(*tables)
        else:
            plan.until |= dict.fromkeys(tables, until * plan.minutes)
        return plan, blind(missing)

    return made


def _in(make: Make, setting: Setting) -> Make:
    def made(seed: int) -> tuple[Plan, Expected]:
        plan, expected = make(seed)
        return plan, setting(plan, expected)

    return made


def _exporter(plan: Plan, expected: Expected) -> Expected:
    """A metrics exporter, accounting and the log; nothing of ours on the nodes."""
    plan.without(*RUNTIME, *KERNEL)
    return expected


def _printed(plan: Plan, expected: Expected) -> Expected:
    """Accounting and the log alone."""
    plan.without(*RUNTIME, *KERNEL, "gpu_sample", "slurm_node_state")
    return expected


def _coarse(plan: Plan, expected: Expected) -> Expected:
    """A sample a minute, clocks that disagree, many batches sent twice."""
    plan.site = replace(plan.site, gpu_every_s=60.0, runtime_every_s=60.0, skew_s=15.0, doubled=0.3)
    return expected


def _late(plan: Plan, expected: Expected) -> Expected:
    """GPU metrics begin after an eighth of the run, and an exporter is stuck for a while."""
    plan.site = replace(plan.site, late_min=plan.minutes / 8, stale=True)
    return expected


def _uuids(plan: Plan, expected: Expected) -> Expected:
    """GPUs are known by UUID alone."""
    plan.site = replace(plan.site, identity="uuid")
    return expected


def _indices(plan: Plan, expected: Expected) -> Expected:
    """GPUs are known by their index alone."""
    plan.site = replace(plan.site, identity="index")
    return expected


def _array(plan: Plan, expected: Expected) -> Expected:
    """A task of an array, whose steps and cgroups carry the task's own id."""
    whole, task = plan.job_id, plan.rng.randrange(200)
    plan.job_id = f"{whole}_{task}"
    plan.slurm |= {"job_id_raw": str(int(whole) + task + 1), "array_job_id": whole, "array_task_id": str(task)}
    for i, row in enumerate(plan.extra):
        if getattr(row, "job_id", None) == whole:
            plan.extra[i] = replace(row, job_id=plan.job_id)
    return expected


def _latent(plan: Plan, expected: Expected) -> Expected:
    """One of its GPUs carries an old fault, which did not rise."""
    plan.gpu_changes.append(counter("remapped_uncorrectable", 1e9, 0, only(plan.gpus[-1]), before=2))
    return replace(expected, extra=expected.extra | {"warning": _and(expected.extra.get("warning", ()), "Latent")})


def _and(said: str | tuple[str, ...], more: str) -> tuple[str, ...]:
    return (*((said,) if isinstance(said, str) else said), more)


def neighbours(plan: Plan, busy: bool) -> list[Gpu]:
    """GPUs of another job on every node of this one."""
    plan.site = replace(plan.site, identity="both")
    used = 1 + max(g.index for g in plan.gpus)
    for node in plan.nodes[:4]:
        for index in range(used, used + 2):
            uuid = f"GPU-{plan.rng.getrandbits(32):08x}-0000-{plan.rng.getrandbits(48):012x}"
            plan.beside.append(
                Gpu(-index, node, index, uuid, f"00000000:{0x1B + 0x0E * index:02X}:00.0", 700 + index, 0.0)
            )
    level = 0.9 if busy else 0.0

    def change(values: Values, gpu: Gpu, minute: float) -> None:
        values.update(engine_active=level, sm_active=level, tensor_active=level / 2, dram_active=level / 2)

    plan.beside_changes.append(change)
    return plan.beside


def _shared(plan: Plan, expected: Expected) -> Expected:
    """Another job works hard on GPUs of the same nodes."""
    neighbours(plan, busy=True)
    return expected


def _idle_beside(plan: Plan, expected: Expected) -> Expected:
    """GPUs of the same nodes stand idle."""
    neighbours(plan, busy=False)
    return expected


def _broken_beside(plan: Plan, expected: Expected) -> Expected:
    """A GPU of another job on the same node dies as this job ends."""
    gpu = neighbours(plan, busy=True)[0]
    minute = plan.minutes * 0.97
    plan.beside_changes.append(counter("ecc_dbe_total", minute, 3, only(gpu)))
    plan.extra.append(xid(plan, gpu, 79, minute, "GPU has fallen off the bus."))
    return expected


def _strangers(plan: Plan, expected: Expected) -> Expected:
    """A GPU on a shared node dies, and nothing tells which of its GPUs were this job's."""
    _broken_beside(plan, expected)
    plan.site = replace(plan.site, identity="index")
    plan.without(*RUNTIME)
    return expected


def _unaccounted(plan: Plan, expected: Expected) -> Expected:
    """Nothing of Slurm's is there, and a GPU of another job dies on the same node: processes alone tell whose GPUs are whose."""
    plan.without("slurm_job", "slurm_step", "slurm_job_event", "slurm_node_state")
    return _broken_beside(plan, expected)


SETTINGS: dict[str, Setting] = {
    "exporter": _exporter,
    "printed": _printed,
    "coarse": _coarse,
    "delayed": _late,
    "uuids": _uuids,
    "indices": _indices,
    "array": _array,
    "latent": _latent,
    "shared": _shared,
    "roomy": _idle_beside,
    "beside": _broken_beside,
    "strangers": _strangers,
    "unaccounted": _unaccounted,
}
"""By a name that a variant's name ends in."""

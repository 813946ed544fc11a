"""Changes that several families' cases share: what a signal looks like when something is wrong."""

from __future__ import annotations

from collections.abc import Callable

from evals.scenarios.plan import Change, Gpu, Plan, Values
from evals.scorers.base import Expected
from store.rows import GpuEvent, HostEvent

Who = Callable[[Gpu], bool]


def everyone(_: Gpu) -> bool:
    """All GPUs."""
    return True


def only(culprit: Gpu) -> Who:
    """One GPU."""
    return lambda gpu: gpu.rank == culprit.rank


def but(culprit: Gpu) -> Who:
    """All GPUs but one."""
    return lambda gpu: gpu.rank != culprit.rank


def activity(
    plan: Plan, engine: float, sm: float, who: Who = everyone, start: float | None = None, end: float = 1e9
) -> Change:
    """Engine and SM activity of some GPUs around these values between two minutes (from the set-up on)."""
    begin = plan.setup_min if start is None else start
    last = min(end, plan.minutes)
    wobble = plan.rng

    def change(values: Values, gpu: Gpu, minute: float) -> None:
        if who(gpu) and begin <= minute <= last:
            values["engine_active"] = min(1.0, max(0.0, engine * (1 + wobble.gauss(0, 0.02))))
            values["sm_active"] = min(1.0, max(0.0, sm * (1 + wobble.gauss(0, 0.05))))
            values["tensor_active"] = values["sm_active"] * 0.5
            values["dram_active"] = values["sm_active"] * 0.6
            values["power_w"] = plan.site.card.power_w * (0.15 + 0.72 * values["sm_active"] + 0.08 * engine)

    return change


def resting(plan: Plan) -> None:
    """Every GPU does nothing while the job waits for its saves, which are spread evenly over it."""
    period = (plan.minutes - plan.setup_min) / plan.saves

    def change(values: Values, gpu: Gpu, minute: float) -> None:
        if minute >= plan.setup_min and (minute - plan.setup_min) % period >= period - plan.save_min:
            values.update(engine_active=0.0, sm_active=0.0, tensor_active=0.0, dram_active=0.0)
            values["power_w"] = plan.site.card.power_w * 0.13

    plan.gpu_changes.append(change)


def without_sm(plan: Plan) -> None:
    """Its exporter gives what dcgm-exporter gives by default: engine, memory and tensor cores, and no SM activity."""
    plan.gpu_changes.append(lambda values, gpu, minute: values.update(sm_active=None))


def counter(name: str, at: float, by: int, who: Who, before: int = 0) -> Change:
    """A running counter that stands at `before` and rises by `by` at a minute."""

    def change(values: Values, gpu: Gpu, minute: float) -> None:
        if who(gpu):
            values[name] = before + (by if minute >= at else 0)

    return change


def no_launches(who: Who, start: float) -> Change:
    """No kernel is launched from a minute on."""

    def change(values: Values, gpu: Gpu, minute: float) -> None:
        if who(gpu) and minute > start:
            values.update(launches=0, graph_launches=0, h2d_bytes=0, d2h_bytes=0, max_launch_gap_s=values["interval_s"])

    return change


def frozen(culprit: Gpu | None, start: float) -> Change:
    """Collectives stop at a minute: peers hang in one, the culprit never enters it."""
    last: dict[int, int] = {}

    def change(values: Values, gpu: Gpu, minute: float) -> None:
        if minute <= start:
            return
        # What was in flight at the sample before has come to its end on every rank.
        done = last.setdefault(gpu.rank, int(values["done"]) + 1)
        if culprit is not None and gpu.rank == culprit.rank:
            values.update(enqueued=0, completed=0, in_flight=0, seq=done)
        else:
            values.update(enqueued=0, completed=0, in_flight=1, seq=done + 1, duration_ms=None)

    return change


def xid(plan: Plan, gpu: Gpu, code: int, minute: float, words: str, pid: int | None = None) -> GpuEvent:
    """A line of the kernel's log about a GPU."""
    named = f"pid={pid}, name=python, " if pid else ""
    bus = gpu.pci.split(":", 1)[1]
    known: Values = {"gpu": gpu.index, "gpu_uuid": gpu.uuid} if plan.site.identity == "both" else {}
    return GpuEvent(
        cluster=plan.cluster, node=gpu.node, ts=plan.at(minute), origin="kernel", **known,
        pci_bus_id=gpu.pci, event="xid", xid=code, pid=pid, process_name="python" if pid else None,
        message=f"NVRM: Xid (PCI:0000:{bus}): {code}, {named}{words}",
    )  # fmt: skip


def oom_kill(plan: Plan, gpu: Gpu, minute: float, rss_gib: float, limit: bool) -> HostEvent:
    """The kernel's word about a kill for memory."""
    kind = "CONSTRAINT_MEMCG" if limit else "CONSTRAINT_NONE"
    return HostEvent(
        cluster=plan.cluster, node=gpu.node, ts=plan.at(minute), origin="kernel", job_id=plan.job_id if limit else None,
        event="oom_kill", pid=gpu.pid, process_name="python", constraint=kind, rss_bytes=int(rss_gib * (1 << 30)),
        cgroup=f"/system.slice/slurmstepd.scope/job_{plan.job_id}/step_0",
        message=f"{'Memory cgroup out' if limit else 'Out'} of memory: Killed process {gpu.pid} (python)",
    )  # fmt: skip


def named(gpu: Gpu, **fields: object) -> dict[str, object]:
    """`extra` of an expectation that this GPU is to be named by node, and by what its site calls it."""
    return {"culprit": {"node": gpu.node, "gpu": (gpu.index, gpu.uuid, f"at {gpu.pci}")}, **fields}


def sound(mode: str | None = None, **extra: object) -> Expected:
    """A healthy job."""
    return Expected(("G1",), mode, "none", extra=dict(extra))


def blind(table: str, **extra: object) -> Expected:
    """Nobody can decide without this table."""
    return Expected(("U0",), decided=False, extra={"missing": table, **extra})

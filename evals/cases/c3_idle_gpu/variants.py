"""C3: one GPU held and not used, against starts, finished work, jobs of many GPUs and slow input."""

from __future__ import annotations

from dataclasses import replace

from evals.scenarios.cases import Variant
from evals.scenarios.endings import attempt_before
from evals.scenarios.faults import activity, blind, everyone, no_launches, sound
from evals.scenarios.plan import Plan, healthy
from evals.scenarios.settings import Make, placed, unseen
from evals.scorers.base import Expected


def _idle(seed: int, *, at: float, silent: bool) -> Plan:
    plan = healthy(seed, gpus=1, minutes=60 + seed % 50)
    plan.silent = silent
    plan.progress_until = at
    plan.gpu_changes.append(activity(plan, 0.0, 0.0, everyone, min(at, plan.setup_min) if silent else at))
    plan.cuda_changes.append(no_launches(everyone, at))
    plan.stop("RUNNING")
    return plan


def _never(seed: int) -> tuple[Plan, Expected]:
    return _idle(seed, at=0.0, silent=True), Expected(("C3",))


def _after_work(seed: int) -> tuple[Plan, Expected]:
    plan = _idle(seed, at=25.0, silent=False)
    return plan, Expected(("C3",))


def _cancelled(seed: int) -> tuple[Plan, Expected]:
    plan = _idle(seed, at=20.0, silent=False)
    plan.stop("CANCELLED")
    plan.slurm["cancelled_by"] = plan.user
    return plan, Expected(("C3",))


def _wall(seed: int) -> tuple[Plan, Expected]:
    plan = _idle(seed, at=0.0, silent=True)
    plan.stop("TIMEOUT")
    plan.limit_min = plan.minutes
    return plan, Expected(("C3",))


def _unattached(seed: int) -> tuple[Plan, Expected]:
    plan = _idle(seed, at=0.0, silent=True)
    plan.cuda_changes.append(lambda v, g, m: v.update(attached=False, api_time_s=0.0))
    plan.gpu_changes.append(lambda v, g, m: v.update(fb_used_bytes=0, processes=0))
    return plan, Expected(("C3",))


def _stack(seed: int) -> tuple[Plan, Expected]:
    plan = _idle(seed, at=30.0, silent=False)
    plan.process[0] = {
        "end_ts": None, "exit_signal": None, "signal_sender": None,
        "host_stack": "futex_wait\npthread_cond_timedwait\nqueue.get (queue.py:180)\n_next_data (dataloader.py:1320)",
    }  # fmt: skip
    return plan, Expected(("C3",), facts=("queue.get",))


def _metrics_only(seed: int) -> tuple[Plan, Expected]:
    plan = _idle(seed, at=0.0, silent=True)
    return plan.without("cuda_sample", "process", "cgroup_sample"), Expected(("C3",))


def _started(seed: int) -> tuple[Plan, Expected]:
    plan = healthy(seed, gpus=1, minutes=4.0)
    plan.setup_min = 3.9
    plan.silent = True
    plan.stop("RUNNING")
    return plan, Expected(("U0",), decided=False)


def _working(seed: int) -> tuple[Plan, Expected]:
    plan = healthy(seed, gpus=1, minutes=50)
    plan.gpu_changes.append(activity(plan, 0.0, 0.0, everyone, 20.0, 24.0))
    return plan, sound()


def _starved(seed: int) -> tuple[Plan, Expected]:
    plan = healthy(seed, gpus=1)
    plan.gpu_changes.append(activity(plan, 0.07, 0.03))
    return plan, Expected(("D1",), None, "job")


def _many(seed: int) -> tuple[Plan, Expected]:
    plan = healthy(seed, gpus=16)
    plan.silent = True
    plan.gpu_changes.append(activity(plan, 0.0, 0.0, everyone, 0.0))
    plan.cuda_changes.append(no_launches(everyone, 0.0))
    plan.nccl_changes.append(lambda v, g, m: v.update(gone=True))
    plan.stop("TIMEOUT")
    plan.limit_min = plan.minutes
    return plan, Expected(("C1",))


def _gone(seed: int) -> tuple[Plan, Expected]:
    plan = _idle(seed, at=0.0, silent=True)
    return plan.without("gpu_sample", "cuda_sample"), blind("gpu_sample")


def _reading(seed: int) -> tuple[Plan, Expected]:
    """Stuck in a read of the file system."""
    plan = _idle(seed, at=22.0, silent=False)
    plan.process[0] = {
        "end_ts": None, "exit_signal": None, "signal_sender": None,
        "host_stack": "rpc_wait_bit_killable\nnfs4_proc_open\nopenat (libc)\nopen_shard (data.py:61)",
    }  # fmt: skip
    return plan, Expected(("C3",), facts=("openat",))


def _evicted(seed: int) -> tuple[Plan, Expected]:
    plan = _idle(seed, at=18.0, silent=False)
    attempt_before(plan, "PREEMPTED", "preempted")
    return plan, Expected(("C3",), extra={"warning": "preempted"})


def _hours(seed: int) -> tuple[Plan, Expected]:
    """Nothing was ever done: all of it is wasted."""
    plan = _idle(seed, at=0.0, silent=True)
    plan.stop("TIMEOUT")
    plan.limit_min = plan.minutes
    return plan, Expected(("C3",), extra={"hours": {"held": plan.minutes / 60, "wasted": plan.minutes / 60}})


def _glimpsed(every_min: float, until_min: float | None = None) -> Make:
    """Idle in every sample that there is, and there are too few of them, or they lie too close together."""

    def made(seed: int) -> tuple[Plan, Expected]:
        plan = _idle(seed, at=0.0, silent=True).without("cuda_sample", "process", "cgroup_sample", "slurm_job")
        plan.site = replace(plan.site, gpu_every_s=60 * every_min, late_min=0.0, doubled=0.0, stale=False)
        if until_min is not None:
            plan.until["gpu_sample"] = until_min
        return plan, blind("gpu_sample")

    return made


def _counted_briefly(seed: int) -> tuple[Plan, Expected]:
    """Launches were counted for a few minutes only."""
    plan = _idle(seed, at=0.0, silent=True).without("gpu_sample", "process", "cgroup_sample", "slurm_job")
    plan.until["cuda_sample"] = 8.0
    return plan, blind("gpu_sample")


VARIANTS = (
    Variant("never", "fault", _never, 2),
    Variant("after-work", "fault", _after_work),
    Variant("cancelled", "fault", _cancelled),
    Variant("wall", "fault", _wall),
    Variant("unattached", "fault", _unattached),
    Variant("stack", "fault", _stack),
    Variant("metrics", "fault", _metrics_only),
    Variant("started", "twin", _started),
    Variant("starved", "twin", _starved),
    Variant("many", "twin", _many),
    Variant("working", "healthy", _working),
    Variant("gone", "blind", _gone),
    Variant("once", "blind", _glimpsed(200.0)),
    Variant("few", "blind", _glimpsed(5.0, until_min=16.0)),
    Variant("seldom", "blind", _glimpsed(12.5)),
    Variant("briefly", "blind", _glimpsed(0.25, until_min=8.0)),
    Variant("counted-briefly", "blind", _counted_briefly),
    Variant("reading", "fault", _reading),
    Variant("evicted", "fault", _evicted),
    Variant("hours", "fault", _hours),
    *placed("never", _never, "coarse", "uuids", "indices", "array", "latent", "shared", "beside"),
    *placed("after-work", _after_work, "coarse", "exporter", "delayed"),
    *placed("working", _working, "shared", "roomy", "coarse", kind="healthy"),
    *unseen("never", _never, "gpu_sample", "gpu_sample", "cuda_sample", until=0.1),
    *placed("never", _never, "unaccounted"),
)

"""C2: ranks that worked together freeze, told from GPUs, launches and collectives; against slow, paused and idle jobs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from evals.scenarios.appended import appended, hit_limit
from evals.scenarios.cases import Variant
from evals.scenarios.endings import at_start, attempt_before, cancelled, time_limit
from evals.scenarios.faults import activity, blind, but, frozen, no_launches, only, sound, without_sm
from evals.scenarios.plan import Gpu, Plan, healthy
from evals.scenarios.settings import placed, unseen
from evals.scorers.base import Expected
from store.rows import NcclSample


def _freeze(seed: int, gpus: int | None = None, minutes: float | None = None) -> tuple[Plan, Gpu, float]:
    plan = healthy(seed, gpus=gpus or (4, 8, 16, 32)[seed % 4], minutes=minutes or 70 + seed % 40)
    gpu = plan.some_gpu()
    at = plan.rng.uniform(0.35, 0.6) * plan.minutes
    plan.stop("TIMEOUT")
    plan.progress_until = at
    plan.gpu_changes.append(activity(plan, 0.995, 0.04, but(gpu), at))
    plan.gpu_changes.append(activity(plan, 0.0, 0.0, only(gpu), at))
    plan.cuda_changes.append(no_launches(lambda _: True, at))
    plan.nccl_changes.append(frozen(gpu, at))
    return plan, gpu, at


def _lost_peer(seed: int) -> tuple[Plan, Expected]:
    plan, gpu, at = _freeze(seed)
    time_limit(plan)
    plan.process[gpu.rank] = {
        "end_ts": plan.at(at),
        "exit_code": None,
        "exit_signal": 9,
        "signal_sender": "kernel-oom",
        "oom_killed": True,
    }
    return plan, Expected(("C2",), extra={"culprit": {"rank": gpu.rank}})


def _never_entered(seed: int) -> tuple[Plan, Expected]:
    plan, gpu, _ = _freeze(seed)
    time_limit(plan)
    return plan, Expected(("C2",), extra={"culprit": {"rank": gpu.rank}})


def _all_spin(seed: int) -> tuple[Plan, Expected]:
    plan, _, at = _freeze(seed)
    time_limit(plan)
    plan.gpu_changes[:] = [activity(plan, 0.995, 0.05, start=at)]
    plan.nccl_changes[:] = [frozen(None, at)]
    return plan, Expected(("C2",))


def _cancelled(seed: int) -> tuple[Plan, Expected]:
    plan, gpu, _ = _freeze(seed)
    cancelled(plan, plan.user)
    return plan, Expected(("C2",), extra={"culprit": {"rank": gpu.rank}})


def _still_held(seed: int) -> tuple[Plan, Expected]:
    plan, gpu, _ = _freeze(seed)
    plan.stop("RUNNING")
    return plan, Expected(("C2",), extra={"culprit": {"rank": gpu.rank}})


def _no_nccl(seed: int) -> tuple[Plan, Expected]:
    plan, _, _ = _freeze(seed)
    time_limit(plan)
    return plan.without("nccl_sample"), Expected(("C2",))


def _watchdog(seed: int) -> tuple[Plan, Expected]:
    plan, gpu, at = _freeze(seed)
    plan.stop("FAILED", minute=at + 10.4, exit_code=1)
    for peer in plan.gpus:
        if peer.rank != gpu.rank:
            stamp = f"{plan.at(at + 10):%Y-%m-%d %H:%M:%S}"
            plan.say(
                at + 10,
                f"[rank{peer.rank}]:[E ProcessGroupNCCL.cpp:632] [Rank {peer.rank}] Watchdog caught collective operation timeout: "
                f"WorkNCCL(SeqNum=4431, OpType=ALLREDUCE, NumelIn=1048576, NumelOut=1048576, Timeout(ms)=600000) ran for 600042 milliseconds before timing out.",
                f"[{stamp}] last enqueued NCCL work: 4431, last completed NCCL work: 4430.",
            )
    return plan.without("nccl_sample", "cuda_sample", "gpu_sample"), Expected(
        ("C2",), extra={"culprit": {"rank": gpu.rank}}
    )


def _slow(seed: int) -> tuple[Plan, Expected]:
    plan = healthy(seed, gpus=16)
    plan.gpu_changes.append(activity(plan, 0.99, 0.1))
    return plan, Expected(("D2",), "interconnect")


def _pause(seed: int) -> tuple[Plan, Expected]:
    plan = healthy(seed, gpus=8, minutes=90)
    start = 50.0
    plan.gpu_changes.append(activity(plan, 0.3, 0.15, start=start, end=start + 6))
    plan.nccl_changes.append(lambda v, g, m: v.update(enqueued=0, completed=0) if start < m < start + 6 else None)
    return plan, sound()


def _saving(seed: int) -> tuple[Plan, Expected]:
    """A checkpoint that takes minutes: nothing is launched, no collective runs, and then it goes on."""
    plan = healthy(seed, gpus=16, minutes=100)
    start, end = 50.0, 58.0
    plan.gpu_changes.append(activity(plan, 0.0, 0.0, start=start, end=end))
    plan.cuda_changes.append(lambda v, g, m: v.update(launches=0) if start < m < end else None)
    plan.nccl_changes.append(lambda v, g, m: v.update(enqueued=0, completed=0) if start < m < end else None)
    plan.say(start, f"{plan.at(start):%Y-%m-%d %H:%M:%S},010 INFO train: saving the state of the optimizer")
    return plan, sound()


def _compiling(seed: int) -> tuple[Plan, Expected]:
    plan = healthy(seed, gpus=8, minutes=80)
    plan.setup_min = 18.0
    plan.say(1.0, f"{plan.at(1.0):%Y-%m-%d %H:%M:%S},101 INFO setup: compiling the model with torch.compile")
    return plan, sound()


def _at_the_wall(seed: int) -> tuple[Plan, Expected]:
    plan = healthy(seed, gpus=8)
    time_limit(plan)
    return plan, Expected(("F3",))


def _noisy(seed: int) -> tuple[Plan, Expected]:
    plan = healthy(seed, gpus=16)
    plan.nccl_changes.append(lambda v, g, m: v.update(completed=int(v["completed"] * 0.6)) if int(m) % 7 == 0 else None)
    return plan, sound()


def _gone(seed: int) -> tuple[Plan, Expected]:
    plan, _, _ = _freeze(seed)
    time_limit(plan)
    plan.silent = True
    return plan.without("nccl_sample", "cuda_sample", "gpu_sample", "process"), blind("gpu_sample", open=("C2",))


def _log_alone(seed: int) -> tuple[Plan, Expected]:
    """Nothing was watched, and the log's own times tell that it stood still for more than half of the run."""
    plan, _, _ = _freeze(seed)
    time_limit(plan)
    plan.style, plan.progress_until = "megatron", 0.4 * plan.minutes
    return plan.without("nccl_sample", "cuda_sample", "gpu_sample", "process"), Expected(("C2",))


def _clockless(seed: int) -> tuple[Plan, Expected]:
    """The log has no times and nobody followed the ranks: that the GPUs only spin at the end tells it alone."""
    plan, _, at = _freeze(seed)
    time_limit(plan)
    plan.style = "trainer"
    plan.gpu_changes[:] = [activity(plan, 0.995, 0.01, start=at)]
    return plan.without("nccl_sample", "cuda_sample", "process"), Expected(("C2",), facts=("come to a standstill",))


def _launched_no_more(seed: int) -> tuple[Plan, Expected]:
    """Neither times in the log, nor collectives, nor SM activity: only that nothing is launched any more."""
    plan, _, _ = _freeze(seed)
    time_limit(plan)
    plan.style = "trainer"
    without_sm(plan)
    return plan.without("nccl_sample", "process"), Expected(("C2",), facts=("no rank launched anything",))


def _many(seed: int) -> tuple[Plan, Expected]:
    """One rank of 1,024 never comes."""
    plan, gpu, _ = _freeze(seed, 1024, 60)
    time_limit(plan)
    return plan, Expected(("C2",), extra={"culprit": {"rank": gpu.rank}})


def _stack(seed: int) -> tuple[Plan, Expected]:
    """The rank that never comes sits in a read of the file system."""
    plan, gpu, _ = _freeze(seed)
    time_limit(plan)
    plan.process[gpu.rank] = {
        "end_ts": None, "exit_signal": None, "signal_sender": None,
        "host_stack": "nfs4_file_read\nvfs_read\nread (libc)\n_read_shard (shards.py:77)\n__next__ (dataloader.py:630)",
    }  # fmt: skip
    return plan, Expected(("C2",), facts=("_read_shard",), extra={"culprit": {"rank": gpu.rank}})


def _slow_before(seed: int) -> tuple[Plan, Expected]:
    """A rank that was slow all along stops at last."""
    plan, gpu, at = _freeze(seed, 16)
    plan.style = "plain"  # which prints the times that say when it was slow
    time_limit(plan)
    plan.gpu_changes[:0] = [
        activity(plan, 0.96, 0.6, only(gpu), end=at), activity(plan, 0.985, 0.16, but(gpu), end=at),
    ]  # fmt: skip
    return plan, Expected(
        ("C2",),
        extra={
            "culprit": {"rank": gpu.rank},
            "warning": "slower",
            "timeline": (r"[Ll]ast training report", r"ended, TIMEOUT"),
        },
    )


def _hours(seed: int) -> tuple[Plan, Expected]:
    """What the hang cost: from the last save to the wall."""
    plan, gpu, at = _freeze(seed, 8)
    plan.style, plan.saves_every = "plain", None
    saved = at * 0.8
    plan.say(
        saved,
        f"{plan.at(saved):%Y-%m-%d %H:%M:%S},000 INFO train: saved checkpoint to /scratch/{plan.user}/step_100.pt",
    )
    time_limit(plan)
    hours = {"held": plan.minutes / 60 * 8, "wasted": (plan.minutes - saved) / 60 * 8}
    return plan, Expected(("C2",), extra={"culprit": {"rank": gpu.rank}, "hours": hours})


def _unsaved(seed: int) -> tuple[Plan, Expected]:
    """Without a save all of it is lost, whatever the log's style."""
    plan, gpu, _ = _freeze(seed, 4)
    plan.saves_every = None
    time_limit(plan)
    held = plan.minutes / 60 * 4
    return plan, Expected(("C2",), extra={"culprit": {"rank": gpu.rank}, "hours": {"held": held, "wasted": held}})


def _resumed(seed: int) -> tuple[Plan, Expected]:
    plan, gpu, _ = _freeze(seed)
    attempt_before(plan, "PREEMPTED", "preempted")
    time_limit(plan)
    return plan, Expected(("C2",), extra={"culprit": {"rank": gpu.rank}, "warning": "preempted"})


def _came_back(seed: int) -> tuple[Plan, Expected]:
    """The first collectives fail in the fabric, before a step could be reported."""
    plan = at_start(seed, gpus=16)
    plan.say(
        plan.minutes - 0.2,
        "NCCL error: remote process exited or there was a network error, NCCL version 2.21.5",
        "ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.",
        "NET/IB : Got completion from peer 10.7.0.4<40112> with status=12 opcode=129 len=0 vendor err 129 (Recv)",
    )
    return plan, Expected(("C2",))


def _dumps(undumped: bool) -> Callable[[int], tuple[Plan, Expected]]:
    """The watchdog ends the run, nothing was watched, and the flight recorders' dumps are there: all of them, or all but the one of
    the rank that hangs."""

    def make(seed: int) -> tuple[Plan, Expected]:
        plan = healthy(seed, gpus=(8, 16, 32)[seed % 3])
        stuck, minute = plan.some_gpu(), plan.minutes - 0.2
        plan.stop("FAILED", exit_code=1)
        done = plan.rng.randrange(4_000, 90_000)
        for gpu in plan.gpus:
            there = gpu.rank != stuck.rank
            if undumped and not there:
                continue
            base: dict[str, Any] = {
                "cluster": plan.cluster, "node": gpu.node, "ts": plan.at(minute), "job_id": plan.job_id, "attempt": 1,
                "rank": gpu.rank, "comm": "0:default_pg", "comm_size": len(plan.gpus), "origin": f"nccl_trace_rank_{gpu.rank}",
            }  # fmt: skip
            plan.extra.append(NcclSample(**base, last_enqueued_seq=done + there, last_completed_seq=done))
            if there:
                plan.extra.append(NcclSample(**base, collective="all_reduce", seq=done + 1, state="started"))
        # The rows that the dumps gave are all that is known of collectives.
        plan.nccl_changes.append(lambda values, gpu, at: values.update(gone=True))
        return plan.without("cuda_sample", "gpu_sample", "process"), Expected(
            ("C2",), extra={"culprit": {"rank": stuck.rank}}
        )

    return make


VARIANTS = (
    Variant("lost-peer", "fault", _lost_peer, 2),
    Variant("never-entered", "fault", _never_entered, 2),
    Variant("all-spin", "fault", _all_spin),
    Variant("cancelled", "fault", _cancelled),
    Variant("held", "fault", _still_held),
    Variant("no-collectives", "fault", _no_nccl),
    Variant("watchdog", "fault", _watchdog),
    Variant("slow", "twin", _slow),
    Variant("pause", "twin", _pause),
    Variant("saving", "twin", _saving),
    Variant("compiling", "twin", _compiling),
    Variant("wall", "twin", _at_the_wall),
    Variant("noisy", "healthy", _noisy),
    Variant("gone", "blind", _gone),
    Variant("many", "fault", _many),
    Variant("stack", "fault", _stack),
    Variant("slow-before", "fault", _slow_before),
    Variant("hours", "fault", _hours),
    Variant("unsaved", "fault", _unsaved),
    Variant("evicted", "fault", _resumed),
    *placed("never-entered", _never_entered, "coarse", "delayed", "uuids", "array", "latent", "shared"),
    *placed("lost-peer", _lost_peer, "roomy", "coarse"),
    *placed("watchdog", _watchdog, "printed"),
    *placed("pause", _pause, "coarse", "delayed", kind="twin"),
    *placed("noisy", _noisy, "coarse", "latent", kind="healthy"),
    *unseen(
        "all-spin",
        _all_spin,
        "gpu_sample",
        "gpu_sample",
        "cuda_sample",
        "nccl_sample",
        "log_line",
        also=("process",),
        until=0.25,
    ),
    Variant("log-alone", "fault", _log_alone),
    Variant("clockless", "fault", _clockless),
    Variant("launched-no-more", "fault", _launched_no_more),
    *placed("never-entered", _never_entered, "unaccounted"),
    Variant("dumps", "fault", _dumps(undumped=False)),
    Variant("dump-missing", "fault", _dumps(undumped=True)),
    Variant("came-back", "fault", _came_back),
    *appended("after-limit", hit_limit, _watchdog, "last", "all", "none"),
)

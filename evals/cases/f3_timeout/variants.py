"""F3: the wall in full progress; against hangs that the wall only ended, and crashes shortly before it."""

from __future__ import annotations

from collections.abc import Callable

from evals.scenarios.cases import Variant
from evals.scenarios.endings import crash, raised, time_limit
from evals.scenarios.faults import activity, blind, but, everyone, frozen, named, no_launches, only, sound
from evals.scenarios.plan import Plan, healthy
from evals.scenarios.settings import placed, unseen
from evals.scorers.base import Expected


def _wall(
    style: str | None, gpus: int | None = None, duty: float | None = None
) -> Callable[[int], tuple[Plan, Expected]]:
    def make(seed: int) -> tuple[Plan, Expected]:
        plan = healthy(seed, style=style, gpus=gpus)
        plan.duty = duty or plan.duty
        # A progress bar has no times, so whether it still moved at the end is open there.
        facts = () if plan.style == "trainer" else ("still making progress",)
        return time_limit(plan), Expected(("F3",), None, "job", facts=facts)

    return make


def _bare(seed: int) -> tuple[Plan, Expected]:
    plan = healthy(seed)
    time_limit(plan)
    return plan.without(
        "gpu_sample", "cuda_sample", "nccl_sample", "process", "cgroup_sample", "host_sample"
    ), Expected(("F3",), None, "job")


def _hung(seed: int) -> tuple[Plan, Expected]:
    plan = healthy(seed, gpus=8, minutes=90)
    gpu = plan.some_gpu()
    plan.progress_until = 40.0
    plan.gpu_changes.append(activity(plan, 0.995, 0.04, but(gpu), 40))
    plan.gpu_changes.append(activity(plan, 0.0, 0.0, only(gpu), 40))
    plan.cuda_changes.append(no_launches(everyone, 40))
    plan.nccl_changes.append(frozen(gpu, 40))
    return time_limit(plan), Expected(("C2",), extra={"culprit": {"rank": gpu.rank}})


def _idle(seed: int) -> tuple[Plan, Expected]:
    plan = healthy(seed, gpus=1, minutes=90)
    plan.progress_until = 30.0
    plan.gpu_changes.append(activity(plan, 0.0, 0.0, everyone, 30))
    plan.cuda_changes.append(no_launches(everyone, 30))
    return time_limit(plan), Expected(("C3",))


def _crashed(seed: int) -> tuple[Plan, Expected]:
    plan, _, minute = crash(seed)
    plan.limit_min = plan.minutes + 2
    raised(plan, minute, "ZeroDivisionError: division by zero")
    return plan, Expected(("A3",), None, "job")


def _in_time(seed: int) -> tuple[Plan, Expected]:
    plan = healthy(seed)
    plan.limit_min = plan.minutes * 1.01
    return plan, sound()


def _gone(seed: int) -> tuple[Plan, Expected]:
    plan = time_limit(healthy(seed))
    return plan.without("log_line", "slurm_job", "slurm_step", "slurm_job_event"), blind("slurm_job")


def _hours(seed: int) -> tuple[Plan, Expected]:
    """What has to be run again: from the last save to the wall."""
    plan = healthy(seed, gpus=4)
    plan.style, plan.saves_every = "plain", None
    saved = plan.minutes * 0.9
    plan.say(
        saved,
        f"{plan.at(saved):%Y-%m-%d %H:%M:%S},000 INFO train: saved checkpoint to /scratch/{plan.user}/step_100.pt",
    )
    time_limit(plan)
    hours = {"held": plan.minutes / 60 * 4, "wasted": plan.minutes * 0.1 / 60 * 4}
    return plan, Expected(("F3",), None, "job", extra={"hours": hours})


def _diverged(seed: int) -> tuple[Plan, Expected]:
    plan = healthy(seed)
    good = plan.loss
    plan.loss = lambda share: good(share) if share < 0.25 else float("nan")
    return time_limit(plan), Expected(("E1",), "non_finite", "job")


def _slow_rank(seed: int) -> tuple[Plan, Expected]:
    plan = healthy(seed, gpus=16)
    gpu = plan.some_gpu()
    plan.gpu_changes += [activity(plan, 0.96, 0.58, only(gpu)), activity(plan, 0.985, 0.15, but(gpu))]
    return time_limit(plan), Expected(("D3",), None, None, extra=named(gpu))


def _killed(seed: int) -> tuple[Plan, Expected]:
    """Out of host memory, two minutes before the wall."""
    plan, gpu, minute = crash(seed)
    plan.limit_min = plan.minutes + 2
    plan.process[gpu.rank] = {
        "end_ts": plan.at(minute), "exit_code": None, "exit_signal": 9, "signal_sender": "kernel-oom", "oom_killed": True,
    }  # fmt: skip
    return plan, Expected(("A2",), None, "job", extra={"culprit": {"rank": gpu.rank}})


def _forewarned(seed: int) -> tuple[Plan, Expected]:
    """It asked to be signalled ahead of its limit, saved, and ended by itself: accounting calls it completed."""
    plan = healthy(seed, style="plain", minutes=90)
    plan.stop("COMPLETED")
    plan.limit_min = plan.minutes + 4
    plan.slurm["submit_line"] = "sbatch --signal=USR1@300 train.sbatch"
    stamp = f"{plan.at(plan.minutes - 0.5):%Y-%m-%d %H:%M:%S}"
    plan.say(plan.minutes - 0.5, f"{stamp},000 WARNING train: received signal SIGUSR1, saving and stopping")
    return plan, Expected(("F3",), None, "job")


VARIANTS = (
    Variant("megatron", "fault", _wall("megatron")),
    Variant("trainer", "fault", _wall("trainer")),
    Variant("plain", "fault", _wall("plain")),
    Variant("one", "fault", _wall(None, 1)),
    Variant("large", "fault", _wall(None, 32)),
    Variant("bare", "fault", _bare),
    Variant("hung", "twin", _hung),
    Variant("idle", "twin", _idle),
    Variant("crashed", "twin", _crashed),
    Variant("in-time", "healthy", _in_time),
    Variant("gone", "blind", _gone),
    Variant("hours", "fault", _hours),
    Variant("diverged", "twin", _diverged),
    Variant("slow-rank", "twin", _slow_rank),
    Variant("killed", "twin", _killed),
    Variant("wide", "fault", _wall(None, 128)),
    *placed("megatron", _wall("megatron"), "printed", "exporter", "array", "latent", "shared", "coarse"),
    *placed("plain", _wall("plain"), "printed", "beside", "delayed"),
    *placed("hung", _hung, "coarse", "uuids", kind="twin"),
    *placed("in-time", _in_time, "printed", "shared", "coarse", kind="healthy"),
    *unseen(
        "plain", _wall("plain"), "slurm_job", "log_line", also=("slurm_job", "slurm_step", "slurm_job_event"), until=0.8
    ),
    Variant("forewarned", "fault", _forewarned),
)

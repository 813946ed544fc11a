"""A2: processes killed without a stack, and who killed them; against teardowns, exceptions, GPU memory and hangs."""

from __future__ import annotations

from dataclasses import replace

from evals.scenarios.cases import Variant
from evals.scenarios.endings import at_start, attempt_before, cancelled, crash, launcher_summary, raised, time_limit
from evals.scenarios.faults import activity, blind, but, frozen, no_launches, only, oom_kill, sound
from evals.scenarios.plan import Gpu, Plan, Values, healthy
from evals.scenarios.settings import placed, unseen
from evals.scorers.base import Expected


def _killed(seed: int, signal: int = 9, name: str = "SIGKILL") -> tuple[Plan, Gpu, float]:
    plan, gpu, minute = crash(seed)
    plan.process[gpu.rank] = {
        "end_ts": plan.at(minute),
        "exit_code": None,
        "exit_signal": signal,
        "signal_sender": None,
    }
    launcher_summary(plan, gpu, minute, -signal, name)
    return plan, gpu, minute


def _full(plan: Plan, node: str, minute: float) -> None:
    def change(values: Values, at: str, now: float) -> None:
        if at == node:
            limit = values["memory_max_bytes"]
            share = 0.4 + 0.6 * min(1.0, now / minute)
            values.update(
                memory_current_bytes=int(limit * min(share, 0.999)), memory_peak_bytes=int(limit * min(share, 1.0))
            )
            if now >= minute - 2.0:
                values["oom_kills"] = 1

    plan.cgroup_changes.append(change)


def _kernel(seed: int) -> tuple[Plan, Expected]:
    plan, gpu, minute = _killed(seed)
    plan.extra.append(oom_kill(plan, gpu, minute, 200, limit=True))
    plan.process[gpu.rank] |= {"signal_sender": "kernel-oom", "oom_killed": True}
    _full(plan, gpu.node, minute)
    return plan, Expected(("A2",), None, "job", extra={"culprit": {"rank": gpu.rank}})


def _cgroup(seed: int) -> tuple[Plan, Expected]:
    plan, gpu, minute = _killed(seed)
    _full(plan, gpu.node, minute)
    return plan.without("gpu_event", "host_event"), Expected(("A2",), None, "job")


def _table_only(seed: int) -> tuple[Plan, Expected]:
    plan, gpu, minute = crash(seed)
    plan.process[gpu.rank] = {
        "end_ts": plan.at(minute), "exit_code": None, "exit_signal": 9, "signal_sender": "kernel-oom", "oom_killed": True,
    }  # fmt: skip
    return plan, Expected(("A2",), None, "job", extra={"culprit": {"rank": gpu.rank}})


def _slurm_state(seed: int) -> tuple[Plan, Expected]:
    plan, _, minute = _killed(seed)
    plan.state, plan.exit_code, plan.exit_signal = "OUT_OF_MEMORY", 0, 125
    plan.say(
        minute + 0.4,
        f"slurmstepd: error: Detected 1 oom_kill event in StepId={plan.job_id}.0. Some of the step tasks have been OOM Killed.",
    )
    return plan.without("cgroup_sample", "process", "host_event", "gpu_event"), Expected(("A2",), None, "job")


def _host(seed: int) -> tuple[Plan, Expected]:
    plan, gpu, minute = _killed(seed)
    plan.extra.append(oom_kill(plan, gpu, minute, 700, limit=False))
    plan.process[gpu.rank] |= {"signal_sender": "kernel-oom", "oom_killed": True}
    return plan, Expected(("A2",), None, "job", extra={"culprit": {"rank": gpu.rank}})


def _native(seed: int) -> tuple[Plan, Expected]:
    plan, gpu, _ = _killed(seed, 11, "SIGSEGV")
    return plan, Expected(("A2",), None, "job", extra={"culprit": {"rank": gpu.rank}})


def _bus(seed: int) -> tuple[Plan, Expected]:
    plan, gpu, _ = _killed(seed, 7, "SIGBUS")
    return plan, Expected(("A2",), None, "undetermined", extra={"culprit": {"rank": gpu.rank}})


def _person(seed: int) -> tuple[Plan, Expected]:
    plan, gpu, _ = _killed(seed)
    plan.process[gpu.rank] |= {"signal_sender": "user:root"}
    return plan, Expected(("A2",), None, "undetermined", facts=("user:root",), extra={"culprit": {"rank": gpu.rank}})


def _exception(seed: int) -> tuple[Plan, Expected]:
    plan, gpu, minute = crash(seed)
    raised(plan, minute, "ValueError: too many values to unpack (expected 2)")
    launcher_summary(plan, gpu, minute, 1)
    return plan, Expected(("A3",), None, "job")


def _wall(seed: int) -> tuple[Plan, Expected]:
    return time_limit(healthy(seed)), Expected(("F3",))


def _cancel(seed: int) -> tuple[Plan, Expected]:
    plan = healthy(seed)
    cancelled(plan, plan.user, plan.minutes * 0.6)
    plan.say(plan.minutes + 0.01, "srun: error: task 0: Terminated")
    return plan, Expected(("F4",), "user", "user")


def _noisy(seed: int) -> tuple[Plan, Expected]:
    plan = healthy(seed)

    def change(values: Values, at: str, now: float) -> None:
        values.update(memory_peak_bytes=int(values["memory_max_bytes"] * 0.97))

    plan.cgroup_changes.append(change)
    return plan, sound()


def _gone(seed: int) -> tuple[Plan, Expected]:
    plan, _, _ = crash(seed)
    return plan.without("process", "host_event", "cgroup_sample", "log_line", "gpu_event"), blind("log_line")


def _peers(seed: int) -> tuple[Plan, Expected]:
    """One rank dies of a native fault, and its peers complain of the network."""
    plan = healthy(seed, gpus=16)
    gpu, minute = plan.some_gpu(), plan.minutes * 0.6
    plan.stop("FAILED", minute=minute + 0.9, exit_code=1)
    plan.progress_until = minute
    plan.process[gpu.rank] = {"end_ts": plan.at(minute), "exit_code": None, "exit_signal": 11, "signal_sender": None}
    raised(
        plan,
        minute + 0.3,
        "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:2021, remote process exited or there was a network error",
    )
    launcher_summary(plan, gpu, minute + 0.4, -11, "SIGSEGV")
    return plan, Expected(
        ("A2",),
        None,
        "job",
        extra={"culprit": {"rank": gpu.rank}, "timeline": (r"SIGSEGV|signal 11", r"ended, FAILED")},
    )


def _early(seed: int) -> tuple[Plan, Expected]:
    """Killed while data are loaded into host memory, before any GPU memory is taken."""
    plan = at_start(seed, gpus=8)
    gpu, minute = plan.some_gpu(), plan.minutes - 0.3
    plan.process[gpu.rank] = {
        "end_ts": plan.at(minute), "exit_code": None, "exit_signal": 9, "signal_sender": "kernel-oom", "oom_killed": True,
    }  # fmt: skip
    plan.extra.append(oom_kill(plan, gpu, minute, 480, limit=True))
    launcher_summary(plan, gpu, minute, -9, "SIGKILL")
    return plan, Expected(("A2",), None, "job", facts=("its cgroup's limit",), extra={"culprit": {"rank": gpu.rank}})


def _hung_peers(seed: int) -> tuple[Plan, Expected]:
    """A killed rank whose peers hang to the wall: the hang is the family, the kill its trigger."""
    plan = healthy(seed, gpus=8, minutes=90)
    gpu = plan.some_gpu()
    plan.progress_until = 40.0
    plan.gpu_changes += [activity(plan, 0.995, 0.04, but(gpu), 40), activity(plan, 0.0, 0.0, only(gpu), 40)]
    plan.cuda_changes.append(no_launches(lambda _: True, 40))
    plan.nccl_changes.append(frozen(gpu, 40))
    plan.process[gpu.rank] = {
        "end_ts": plan.at(40), "exit_code": None, "exit_signal": 9, "signal_sender": "kernel-oom", "oom_killed": True,
    }  # fmt: skip
    time_limit(plan)
    return plan, Expected(
        ("C2",),
        extra={
            "culprit": {"rank": gpu.rank},
            "timeline": (rf"[Rr]ank {gpu.rank}\b.*(SIGKILL|signal 9)", r"ended, TIMEOUT"),
        },
    )


def _evicted(seed: int) -> tuple[Plan, Expected]:
    """SIGTERM of a preemption, and a rerun that finished."""
    plan = healthy(seed)
    attempt_before(plan, "PREEMPTED", "preempted")
    return plan, Expected(("F2",), "preemption", "scheduler")


def _evicted_first(seed: int) -> tuple[Plan, Expected]:
    """Evicted, and killed in the attempt that went on."""
    plan, expected = _kernel(seed)
    attempt_before(plan, "PREEMPTED", "preempted")
    return plan, replace(expected, extra=expected.extra | {"warning": "preempted", "excluded": ("F4",)})


def _helper(seed: int) -> tuple[Plan, Expected]:
    """A helper is killed and said so; the run goes on to its end."""
    plan = healthy(seed)
    minute = plan.minutes * 0.5
    plan.say(
        minute, f"/home/{plan.user}/watch.sh: line 3: {plan.gpus[0].pid + 7} Killed                  nvidia-smi dmon"
    )
    return plan, sound()


def _torn_down(seed: int) -> tuple[Plan, Expected]:
    """A run that finished, whose processes were told to end while they tidied up."""
    plan = healthy(seed)
    for gpu in plan.gpus:
        plan.process[gpu.rank] = {"exit_code": None, "exit_signal": 15, "signal_sender": "slurmstepd"}
    return plan, sound()


VARIANTS = (
    Variant("kernel", "fault", _kernel),
    Variant("cgroup", "fault", _cgroup),
    Variant("processes", "fault", _table_only),
    Variant("state", "fault", _slurm_state),
    Variant("host", "fault", _host),
    Variant("native", "fault", _native),
    Variant("bus", "fault", _bus),
    Variant("person", "fault", _person),
    Variant("exception", "twin", _exception),
    Variant("wall", "twin", _wall),
    Variant("cancel", "twin", _cancel),
    Variant("noisy", "healthy", _noisy),
    Variant("gone", "blind", _gone),
    Variant("peers", "fault", _peers),
    Variant("early", "fault", _early),
    Variant("hung-peers", "twin", _hung_peers),
    *placed("kernel", _kernel, "coarse", "array", "latent", "uuids", "beside"),
    *placed("native", _native, "exporter", "printed", "shared"),
    *placed("noisy", _noisy, "roomy", kind="healthy"),
    *unseen("kernel", _kernel, "log_line", "log_line", also=("process", "host_event", "cgroup_sample", "gpu_event")),
    Variant("evicted", "twin", _evicted),
    Variant("evicted-first", "fault", _evicted_first),
    Variant("helper", "healthy", _helper),
    Variant("torn-down", "healthy", _torn_down),
)

"""F4: cancelled, by whom; against the wall, preemption, and jobs that had already failed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

from evals.scenarios.cases import Variant
from evals.scenarios.endings import attempt_before, cancelled, crash, raised, time_limit
from evals.scenarios.faults import activity, blind, but, everyone, frozen, no_launches, only, sound
from evals.scenarios.plan import Plan, healthy
from evals.scenarios.settings import placed, unseen
from evals.scorers.base import Expected
from store.rows import SlurmJobEvent, SlurmStep


def _by(
    who: str | None, mode: str | None, attribution: str | None, gpus: int | None = None
) -> Callable[[int], tuple[Plan, Expected]]:
    def make(seed: int) -> tuple[Plan, Expected]:
        plan = healthy(seed, gpus=gpus)
        return cancelled(plan, who or plan.user, plan.minutes * 0.7), Expected(("F4",), mode, attribution)

    return make


def _before_start(seed: int) -> tuple[Plan, Expected]:
    plan = healthy(seed)
    plan.stop("CANCELLED", minute=0.0)
    plan.slurm |= {
        "start_ts": None,
        "elapsed_s": 0.0,
        "state_reason": "Dependency",
        "dependency": "afterok:4001",
        "cancelled_by": plan.user,
        "node_list": None,
    }
    plan.silent = True
    return plan.without(
        "gpu_sample", "cuda_sample", "nccl_sample", "process", "cgroup_sample", "log_line", "host_sample"
    ), Expected(("F4",))


def _in_vain(seed: int) -> tuple[Plan, Expected]:
    """Cancelled by Slurm itself: accounting names nobody, and not that the dependency could never be met."""
    plan, _ = _before_start(seed)
    del plan.slurm["cancelled_by"]
    return plan, Expected(("F4",), "dependency", "scheduler")


def _failed_first(seed: int) -> tuple[Plan, Expected]:
    plan, _, minute = crash(seed)
    raised(plan, minute, "KeyError: 'labels'", "data_collator.py")
    cancelled(plan, plan.user)
    plan.state, plan.exit_code = "FAILED", 1
    del plan.slurm["cancelled_by"]
    return plan, Expected(("A3",), None, "job")


def _wall(seed: int) -> tuple[Plan, Expected]:
    return time_limit(healthy(seed)), Expected(("F3",))


def _finished(seed: int) -> tuple[Plan, Expected]:
    return healthy(seed), sound()


def _gone(seed: int) -> tuple[Plan, Expected]:
    plan, _ = _by(None, "user", "user")(seed)
    return plan.without("log_line", "slurm_job", "slurm_step", "slurm_job_event"), blind("slurm_job")


def _diverged(seed: int) -> tuple[Plan, Expected]:
    """Cancelled because it had long been not finite."""
    plan = healthy(seed, gpus=8)
    good = plan.loss
    plan.loss = lambda share: good(share) if share < 0.15 else float("nan")
    cancelled(plan, plan.user, plan.minutes * 0.95)
    return plan, Expected(("E1",), "non_finite", "job")


def _hung(seed: int) -> tuple[Plan, Expected]:
    """Cancelled because it hung."""
    plan = healthy(seed, gpus=8, minutes=90)
    gpu = plan.some_gpu()
    plan.progress_until = 40.0
    plan.gpu_changes += [activity(plan, 0.995, 0.04, but(gpu), 40), activity(plan, 0.0, 0.0, only(gpu), 40)]
    plan.cuda_changes.append(no_launches(everyone, 40))
    plan.nccl_changes.append(frozen(gpu, 40))
    return cancelled(plan, plan.user), Expected(("C2",), extra={"culprit": {"rank": gpu.rank}})


def _evicted(seed: int) -> tuple[Plan, Expected]:
    plan = cancelled(healthy(seed), "root")
    attempt_before(plan, "PREEMPTED", "preempted")
    return plan, Expected(("F4",), "operator", None, extra={"warning": "preempted"})


def _hours(seed: int) -> tuple[Plan, Expected]:
    """What was not saved when it was cancelled."""
    plan = healthy(seed, gpus=8)
    plan.style, plan.saves_every = "plain", None
    end = plan.minutes * 0.7
    plan.say(
        end * 0.5,
        f"{plan.at(end * 0.5):%Y-%m-%d %H:%M:%S},000 INFO train: saved checkpoint to /scratch/{plan.user}/step_100.pt",
    )
    cancelled(plan, plan.user, end)
    return plan, Expected(
        ("F4",), "user", "user", extra={"hours": {"held": end / 60 * 8, "wasted": end * 0.5 / 60 * 8}}
    )


def _words(seed: int) -> tuple[Plan, Expected]:
    """The log alone: slurmstepd's line of the cancel, with no reason after it. Who it was stays open."""
    plan, _ = _by(None, "user", "user")(seed)
    plan.without(
        "slurm_job", "slurm_step", "slurm_job_event", "slurm_node_state", "gpu_sample", "gpu_event", "host_event"
    )
    return plan.without("cuda_sample", "nccl_sample", "process", "cgroup_sample", "host_sample"), Expected(
        ("F4",), attribution="undetermined", extra={"certainty": (0.5, 0.9), "open": ("F1",)}
    )


def _signalled(actor: str, mode: str, **end: int) -> Callable[[int], tuple[Plan, Expected]]:
    """scancel --signal: accounting says FAILED and names nobody, the controller's log names the one who asked."""

    def make(seed: int) -> tuple[Plan, Expected]:
        plan = healthy(seed)
        plan.stop("FAILED", minute=plan.minutes * 0.6, **end)
        plan.slurm["uid"] = "1042"
        _asked(plan, actor, 2)
        return plan, Expected(("F4",), mode)

    return make


def _asked(plan: Plan, actor: str, before_s: float) -> None:
    line = f"_slurm_rpc_kill_job: REQUEST_KILL_JOB JobId={plan.job_id} uid {actor}"
    plan.extra.append(
        SlurmJobEvent(
            cluster=plan.cluster, job_id=plan.job_id, attempt=1, ts=plan.at(plan.minutes - before_s / 60), event="signalled",
            actor=actor, message=line, observed=True,
        )
    )  # fmt: skip


def _outlived(seed: int) -> tuple[Plan, Expected]:
    """It was asked to save by a signal, did, and failed of its own later."""
    plan, _, minute = crash(seed)
    raised(plan, minute, "KeyError: 'labels'", "data_collator.py")
    _asked(plan, "1042", 400)
    return plan, Expected(("A3",), "data", "job")


def _preempted(seed: int) -> tuple[Plan, Expected]:
    """Slurm's line is that of a cancel, and gives its reason."""
    plan = healthy(seed)
    plan.stop("PREEMPTED", minute=plan.minutes * 0.7)
    plan.say(
        plan.minutes,
        f"slurmstepd: error: *** JOB {plan.job_id} ON {plan.nodes[0]} CANCELLED AT {plan.end:%Y-%m-%dT%H:%M:%S} DUE TO PREEMPTION ***",
    )
    return plan, Expected(("F2",), "preemption", "scheduler")


def _step_ended(actor: str | None, mode: str | None, attribution: str) -> Callable[[int], tuple[Plan, Expected]]:
    """A script that failed over its step: somebody cancelled it (scancel JOB.0), or srun ended it (--wait) as one task had left early."""

    def make(seed: int) -> tuple[Plan, Expected]:
        plan = healthy(seed)
        plan.stop("FAILED", minute=plan.minutes * 0.6, exit_code=137)
        plan.slurm["uid"] = "1042"
        if actor is None:
            plan.say(plan.minutes, "srun: First task exited 60s ago")
            plan.say(plan.minutes, f"srun: launch/slurm: _step_signal: Terminating StepId={plan.job_id}.0")
        plan.say(
            plan.minutes,
            f"slurmstepd: error: *** STEP {plan.job_id}.0 ON {plan.nodes[0]} CANCELLED AT {plan.end:%Y-%m-%dT%H:%M:%S} ***",
        )
        plan.extra.append(
            SlurmStep(
                cluster=plan.cluster, job_id=plan.job_id, attempt=1, step_id="0", name="python", ts=plan.end + timedelta(seconds=1),
                state="CANCELLED" if actor else "COMPLETED", cancelled_by=actor, exit_code=0, exit_signal=9, origin="sacct",
            )
        )  # fmt: skip
        return plan, Expected(("F4",), mode, attribution)

    return make


def _interrupted(seed: int) -> tuple[Plan, Expected]:
    """SIGINT in a batch script, which has no keyboard: nothing that was collected says who sent it."""
    plan = healthy(seed)
    plan.site = replace(plan.site, steps=True)
    plan.stop("FAILED", minute=plan.minutes * 0.6, exit_code=130)
    raised(plan, plan.minutes, "KeyboardInterrupt")
    return plan, Expected(("F4",), None, "undetermined")


VARIANTS = (
    Variant("own", "fault", _by(None, "user", "user"), 3),
    Variant("root", "fault", _by("root", "operator", None)),
    Variant("large", "fault", _by(None, "user", "user", 32)),
    Variant("waiting", "fault", _before_start),
    Variant("vain", "fault", _in_vain),
    Variant("failed", "twin", _failed_first),
    Variant("wall", "twin", _wall),
    Variant("finished", "healthy", _finished),
    Variant("gone", "blind", _gone),
    Variant("diverged", "twin", _diverged),
    Variant("hung", "twin", _hung),
    Variant("evicted", "fault", _evicted),
    Variant("hours", "fault", _hours),
    Variant("words", "fault", _words),
    Variant("signalled", "fault", _signalled("0", "operator", exit_signal=15)),
    Variant("answered", "fault", _signalled("0", "operator", exit_code=7)),
    Variant("outlived", "twin", _outlived),
    Variant("preempted", "twin", _preempted),
    *placed("own", _by(None, "user", "user"), "printed", "exporter", "array", "latent", "shared", "beside", "coarse"),
    *placed("root", _by("root", "operator", None), "printed"),
    *placed("wall", _wall, "printed", kind="twin"),
    *placed("finished", _finished, "printed", "latent", "coarse", kind="healthy"),
    *unseen(
        "own",
        _by(None, "user", "user"),
        "slurm_job",
        "log_line",
        also=("slurm_job", "slurm_step", "slurm_job_event"),
        until=0.8,
    ),
    # No record names anybody, and slurmstepd's line never does.
    *placed("own", _by(None, None, "undetermined"), "unaccounted"),
    Variant("step", "fault", _step_ended("1042", "user", "user")),
    Variant("step-root", "fault", _step_ended("0", "operator", "infrastructure")),
    Variant("task-left", "fault", _step_ended(None, None, "job")),
    Variant("interrupted", "fault", _interrupted),
)

"""F2: several attempts under one job id; against a last attempt that failed by itself and a node that failed under
a job whose rerun is not over."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from evals.scenarios.cases import Variant
from evals.scenarios.endings import attempt_before, crash, raised
from evals.scenarios.faults import blind, counter, only, sound
from evals.scenarios.plan import Plan, healthy
from evals.scenarios.settings import placed, unseen
from evals.scorers.base import Expected
from store.rows import SlurmJob, SlurmJobEvent, SlurmStep


def _again(
    mode: str, state: str, event: str | None, last: str = "COMPLETED", times: int = 1, gpus: int | None = None
) -> Callable[[int], tuple[Plan, Expected]]:
    def make(seed: int) -> tuple[Plan, Expected]:
        plan = healthy(seed, gpus=gpus, minutes=40 if gpus else None)
        for _ in range(times):
            attempt_before(plan, state, event)
        if last != "COMPLETED":
            plan.stop(last)
        return plan, Expected(("F2",), mode, "scheduler")

    return make


def _own(seed: int) -> tuple[Plan, Expected]:
    plan, _, minute = crash(seed)
    attempt_before(plan, "REQUEUED", "requeued")
    raised(plan, minute, "KeyError: 'labels'", "data_collator.py")
    return plan, Expected(("A3",), None, "job")


def _node(seed: int) -> tuple[Plan, Expected]:
    """A node failed under the first attempt; the rerun completed, so the run's end is not the node's."""
    plan = healthy(seed, gpus=16)
    attempt_before(plan, "NODE_FAIL", None)
    return plan, Expected(("F2",), "requeue", "infrastructure")


def _node_now(seed: int) -> tuple[Plan, Expected]:
    """A node failed under the first attempt, and the rerun is under way: so far that is its end."""
    plan = healthy(seed, gpus=16)
    attempt_before(plan, "NODE_FAIL", None)
    plan.stop("RUNNING")
    return plan, Expected(("F1",), None, "infrastructure")


def _once(seed: int) -> tuple[Plan, Expected]:
    return healthy(seed), sound()


def _gone(seed: int) -> tuple[Plan, Expected]:
    plan, _ = _again("preemption", "PREEMPTED", "preempted")(seed)
    plan.attempts.clear()
    plan.stop("CANCELLED")
    plan.silent = True
    return plan.without("slurm_job", "slurm_job_event", "slurm_step", "log_line").losing("gpu_sample"), blind(
        "slurm_job"
    )


def _both(seed: int) -> tuple[Plan, Expected]:
    """Evicted once, sent back once, completed at last."""
    plan = healthy(seed)
    attempt_before(plan, "REQUEUED", "requeued")
    attempt_before(plan, "PREEMPTED", "preempted")
    return plan, Expected(("F2",), "preemption", "scheduler", extra={"timeline": (r"preempted", r"ended, COMPLETED")})


def _latent_too(seed: int) -> tuple[Plan, Expected]:
    plan, _ = _again("preemption", "PREEMPTED", "preempted")(seed)
    plan.gpu_changes.append(counter("remapped_uncorrectable", 1e9, 0, only(plan.gpus[0]), before=2))
    return plan, Expected(("F2",), "preemption", "scheduler", extra={"warning": "Latent"})


def _held(seed: int) -> tuple[Plan, Expected]:
    """What all attempts held together."""
    plan, _ = _again("requeue", "REQUEUED", "requeued")(seed)
    hours = (plan.minutes * 60 + plan.attempts[0]["elapsed_s"]) / 3600 * len(plan.gpus)
    return plan, Expected(("F2",), "requeue", "scheduler", extra={"hours": {"held": hours}})


def _unrelated(seed: int) -> tuple[Plan, Expected]:
    """Another job of the same name and user was evicted from the same nodes before: not an attempt of this one."""
    plan = healthy(seed)
    other = str(int(plan.job_id) - 3)
    end = plan.at(-100)
    plan.extra.append(
        SlurmJob(
            cluster=plan.cluster, job_id=other, job_id_raw=other, attempt=1, name=plan.name, user=plan.user, state="PREEMPTED",
            exit_code=0, exit_signal=15, submit_ts=plan.at(-300), start_ts=plan.at(-200), end_ts=end, ts=end, elapsed_s=6000.0,
            partition=plan.partition, node_list=",".join(plan.nodes), node_count=len(plan.nodes), gpus=len(plan.gpus),
            restarts=0, origin="sacct",
        )
    )  # fmt: skip
    plan.extra.append(
        SlurmJobEvent(
            cluster=plan.cluster, job_id=other, attempt=1, ts=end, event="preempted", state="PREEMPTED", observed=True
        )
    )
    return plan, sound(excluded=("F2",))


def _sent_back_after(raises: bool) -> Callable[[int], tuple[Plan, Expected]]:
    """Its script ended with an error status by itself, and slurm.conf has jobs with that status sent back (RequeueExit)."""

    def make(seed: int) -> tuple[Plan, Expected]:
        plan, _, minute = crash(seed)
        if raises:
            raised(plan, minute, "KeyError: 'labels'", "data_collator.py")
        plan.stop("REQUEUED", minute=minute, exit_code=3)
        plan.site = replace(plan.site, steps=False)
        plan.extra.append(
            SlurmStep(
                cluster=plan.cluster, job_id=plan.job_id, attempt=1, step_id="batch", name="batch", ts=plan.end, start_ts=plan.start,
                end_ts=plan.end, state="FAILED", exit_code=3, exit_signal=0, origin="sacct",
            )
        )  # fmt: skip
        return plan, Expected(("A3",), None, "job") if raises else Expected(("F2",), "requeue", "job")

    return make


VARIANTS = (
    Variant("evicted", "fault", _again("preemption", "PREEMPTED", "preempted"), 2),
    Variant("sent-back", "fault", _again("requeue", "REQUEUED", "requeued"), 2),
    Variant("twice", "fault", _again("preemption", "PREEMPTED", "preempted", times=2)),
    Variant("running", "fault", _again("requeue", "REQUEUED", "requeued", "RUNNING")),
    Variant("own", "twin", _own),
    Variant("node", "fault", _node),
    Variant("node-now", "twin", _node_now),
    Variant("once", "healthy", _once),
    Variant("gone", "blind", _gone),
    Variant("both", "fault", _both),
    Variant("unrelated", "healthy", _unrelated),
    Variant("latent", "fault", _latent_too),
    Variant("held", "fault", _held),
    Variant("wide", "fault", _again("preemption", "PREEMPTED", "preempted", gpus=128)),
    *placed(
        "evicted", _again("preemption", "PREEMPTED", "preempted"), "printed", "exporter", "array", "coarse", "beside"
    ),
    *placed("sent-back", _again("requeue", "REQUEUED", "requeued"), "printed", "array"),
    *placed("own", _own, "printed", "exporter", kind="twin"),
    *placed("once", _once, "array", "printed", "coarse", kind="healthy"),
    *unseen(
        "evicted",
        _again("preemption", "PREEMPTED", "preempted"),
        "slurm_job",
        "slurm_job",
        "slurm_job_event",
        "slurm_step",
        also=("log_line", "gpu_sample"),
        ways=("bare", "lost"),
    ),
    Variant("exited", "twin", _sent_back_after(True)),
    Variant("status", "fault", _sent_back_after(False)),
)

"""F2: several attempts under one job id; against a last attempt that failed by itself and nodes that failed."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from evals.scenarios.cases import Variant
from evals.scenarios.endings import crash, raised
from evals.scenarios.faults import blind, sound
from evals.scenarios.plan import Plan, healthy
from evals.scorers.base import Expected
from store.rows import SlurmJobEvent


def _before(plan: Plan, state: str, event: str | None) -> None:
    length = plan.rng.uniform(20, 90)
    wait = plan.rng.uniform(2, 60)
    end = plan.start - timedelta(minutes=wait)
    plan.attempts.append(
        {
            "state": state,
            "start_ts": end - timedelta(minutes=length),
            "end_ts": end,
            "elapsed_s": length * 60,
            "exit_code": 0,
            "exit_signal": 15,
            "restarts": 0,
        }
    )
    if event is not None:
        plan.extra.append(
            SlurmJobEvent(
                cluster=plan.cluster,
                job_id=plan.job_id,
                attempt=len(plan.attempts),
                ts=end,
                event=event,
                state=state,
                observed=True,
            )
        )


def _again(
    mode: str, state: str, event: str | None, last: str = "COMPLETED", times: int = 1
) -> Callable[[int], tuple[Plan, Expected]]:
    def make(seed: int) -> tuple[Plan, Expected]:
        plan = healthy(seed)
        for _ in range(times):
            _before(plan, state, event)
        if last != "COMPLETED":
            plan.stop(last)
        return plan, Expected(("F2",), mode, "scheduler")

    return make


def _own(seed: int) -> tuple[Plan, Expected]:
    plan, _, minute = crash(seed)
    _before(plan, "REQUEUED", "requeued")
    raised(plan, minute, "KeyError: 'labels'", "data_collator.py")
    return plan, Expected(("A3",), None, "job")


def _node(seed: int) -> tuple[Plan, Expected]:
    plan = healthy(seed, gpus=16)
    _before(plan, "NODE_FAIL", None)
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


VARIANTS = (
    Variant("evicted", "fault", _again("preemption", "PREEMPTED", "preempted"), 3),
    Variant("sent-back", "fault", _again("requeue", "REQUEUED", "requeued"), 3),
    Variant("twice", "fault", _again("preemption", "PREEMPTED", "preempted", times=2), 1),
    Variant("running", "fault", _again("requeue", "REQUEUED", "requeued", "RUNNING"), 2),
    Variant("own", "twin", _own, 2),
    Variant("node", "twin", _node, 2),
    Variant("once", "healthy", _once, 1),
    Variant("gone", "blind", _gone, 1),
)

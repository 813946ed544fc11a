"""What Slurm knows of a made-up job: accounting of each attempt, its events and steps, its nodes' states."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from evals.scenarios.plan import Plan, Values
from store.rows import Row, SlurmJob, SlurmJobEvent, SlurmNodeState, SlurmStep


def rows(plan: Plan) -> Iterator[Row]:
    """Accounting, events, steps, node states."""
    last = len(plan.attempts) + 1
    submit = plan.at(-plan.rng.uniform(0.5, 90))
    base: Values = {
        "cluster": plan.cluster, "job_id": plan.job_id, "job_id_raw": plan.job_id, "name": plan.name, "user": plan.user,
        "account": "research", "partition": plan.partition, "qos": "normal", "submit_ts": submit, "eligible_ts": submit,
        "time_limit_s": round(plan.limit_min) * 60.0, "node_list": ",".join(plan.nodes), "node_count": len(plan.nodes),
        "cpus": 12 * len(plan.gpus), "gpus": len(plan.gpus), "memory_bytes": (128 << 30) * len(plan.nodes),
        "submit_line": "sbatch train.sbatch", "work_dir": f"/home/{plan.user}/{plan.name}", "restarts": last - 1, "origin": "sacct",
    }  # fmt: skip
    for number, earlier in enumerate(plan.attempts, 1):
        # What is requeued counts as submitted anew, at the end of the attempt before it.
        queued = plan.attempts[number - 2]["end_ts"] if number > 1 else earlier["start_ts"] - (plan.start - submit)
        former: Values = (
            base | {"attempt": number, "ts": earlier["end_ts"], "submit_ts": queued, "eligible_ts": queued} | earlier
        )
        event = former.pop("event")
        yield SlurmJob(**former)
        if event is not None:
            yield SlurmJobEvent(
                cluster=plan.cluster, job_id=plan.job_id, attempt=number, ts=earlier["end_ts"], event=event,
                state=earlier["state"], observed=True,
            )  # fmt: skip
    if plan.attempts:
        submit = plan.attempts[-1]["end_ts"]
        base |= {"submit_ts": submit, "eligible_ts": submit}
    running = plan.state in ("RUNNING", "PENDING")
    started = plan.state != "PENDING"
    job: Values = {
        **base, "attempt": last, "state": plan.state, "exit_code": plan.exit_code, "exit_signal": plan.exit_signal,
        "start_ts": plan.start if started else None, "end_ts": None if running else plan.end, "ts": plan.end if started else submit,
        "elapsed_s": round(plan.minutes * 60.0) if started else 0.0,
    }  # fmt: skip
    job |= plan.slurm
    yield SlurmJob(**job)
    common: Values = {
        "cluster": plan.cluster,
        "job_id": plan.job_id,
        "attempt": last,
        "observed": False,
        "origin": "sacct",
    }
    yield SlurmJobEvent(**common, ts=submit, event="submitted", state="PENDING")
    if not started:
        return
    yield SlurmJobEvent(**common, ts=plan.start, event="started", state="RUNNING")
    if not running:
        yield SlurmJobEvent(**common, ts=plan.end, event="ended", state=plan.state)
    step: Values = {
        "cluster": plan.cluster, "job_id": plan.job_id, "attempt": last, "start_ts": plan.at(0.05), "end_ts": job["end_ts"],
        "ts": plan.end, "elapsed_s": job["elapsed_s"], "state": plan.state, "exit_code": plan.exit_code, "origin": "sacct",
    }  # fmt: skip
    if plan.site.steps:
        yield SlurmStep(**step, step_id="batch", name="batch", node_list=plan.nodes[0], tasks=1)
        yield SlurmStep(**step, step_id="0", name="python", node_list=",".join(plan.nodes), tasks=len(plan.gpus))
    for node in plan.nodes:
        yield SlurmNodeState(
            cluster=plan.cluster, node=node, ts=plan.at(-0.1), end_ts=plan.end + timedelta(seconds=2), state="ALLOCATED", observed=True
        )  # fmt: skip
        yield SlurmNodeState(
            cluster=plan.cluster, node=node, ts=plan.end + timedelta(seconds=2), state="IDLE", observed=True
        )

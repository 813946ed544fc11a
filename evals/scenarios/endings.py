"""How made-up jobs end badly: the words of Slurm, of Python and of launchers at that minute."""

from __future__ import annotations

from datetime import timedelta

from evals.scenarios.plan import Gpu, Plan, Values, healthy
from store.rows import SlurmNodeState


def crash(seed: int, gpus: int | None = None, minutes: float | None = None) -> tuple[Plan, Gpu, float]:
    """A job that dies in mid-training with exit status 1; the GPU is where it began, the minute when."""
    plan = healthy(seed, gpus=gpus, minutes=minutes)
    gpu = plan.some_gpu()
    minute = plan.rng.uniform(0.4, 0.9) * plan.minutes
    plan.stop("FAILED", minute=minute + 0.8, exit_code=1)
    plan.progress_until = minute
    plan.process[gpu.rank] = {"exit_code": 1, "exit_signal": 0, "signal_sender": None}
    return plan, gpu, minute


def at_start(seed: int, gpus: int | None = None) -> Plan:
    """A job that dies before its first step and before any real GPU work."""
    plan = healthy(seed, gpus=gpus)
    plan.setup_min = 99.0
    plan.stop("FAILED", minute=plan.rng.uniform(0.5, 2.0), exit_code=1)
    plan.progress_until = 0.0
    for gpu in plan.gpus:
        plan.process[gpu.rank] = {"exit_code": 1, "exit_signal": 0, "signal_sender": None}
    return plan


def raised(plan: Plan, minute: float, text: str, frame: str = "train.py", line: int = 212) -> None:
    """An uncaught exception with a stack."""
    plan.say(
        minute + 0.05,
        "Traceback (most recent call last):",
        f'  File "/home/{plan.user}/{plan.name}/main.py", line 31, in <module>',
        "    main()",
        f'  File "/home/{plan.user}/{plan.name}/{frame}", line {line}, in main',
        "    run(config)",
        text,
    )


def launcher_summary(plan: Plan, gpu: Gpu, minute: float, code: int, signal: str | None = None) -> None:
    """What torchrun prints when a child of it failed."""
    stamp = f"{plan.at(minute):%Y-%m-%d_%H:%M:%S}"
    body = (
        f"Signal {-code} ({signal}) received by PID {gpu.pid}"
        if signal
        else "To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html"
    )
    plan.say(
        minute + 0.1,
        "Traceback (most recent call last):",
        '  File "/opt/venv/bin/torchrun", line 8, in <module>',
        "    sys.exit(main())",
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ",
        "============================================================",
        "train.py FAILED",
        "------------------------------------------------------------",
        "Failures:",
        "  <NO_OTHER_FAILURES>",
        "------------------------------------------------------------",
        "Root Cause (first observed failure):",
        "[0]:",
        f"  time      : {stamp}",
        f"  host      : {gpu.node}",
        f"  rank      : {gpu.rank} (local_rank: {gpu.index})",
        f"  exitcode  : {code} (pid: {gpu.pid})",
        "  error_file: <N/A>",
        f"  traceback : {body}",
        "============================================================",
    )


def node_state(plan: Plan, node: str, minute: float, state: str, reason: str | None, flags: str | None = None) -> None:
    """What the controller notes of a node at a minute."""
    plan.extra.append(
        SlurmNodeState(
            cluster=plan.cluster, node=node, ts=plan.at(minute), state=state, state_flags=flags, reason=reason, observed=True
        )
    )  # fmt: skip


def attempt_before(plan: Plan, state: str, event: str | None, **fields: object) -> None:
    """An earlier attempt under the same job id that ended in this state; later calls add earlier ones.

    `event` is what was seen to end it, besides accounting.
    """
    length, wait = plan.rng.uniform(20, 90), plan.rng.uniform(2, 60)
    latest = min((a["start_ts"] for a in plan.attempts), default=plan.start)
    end = latest - timedelta(minutes=wait)
    row: Values = {
        "state": state, "start_ts": end - timedelta(minutes=length), "end_ts": end, "elapsed_s": round(length * 60),
        "exit_code": 0, "exit_signal": 15, "restarts": 0, "event": event, **fields,
    }  # fmt: skip
    plan.attempts.insert(0, row)


def time_limit(plan: Plan) -> Plan:
    """The wall, reached at the plan's length."""
    plan.stop("TIMEOUT")
    plan.limit_min = plan.minutes
    plan.say(plan.minutes, _slurmstepd(plan, " DUE TO TIME LIMIT"))
    return plan


def cancelled(plan: Plan, by: str, minute: float | None = None) -> Plan:
    """scancel by somebody."""
    plan.stop("CANCELLED", minute=minute)
    plan.slurm["cancelled_by"] = by
    plan.say(plan.minutes, _slurmstepd(plan, ""))
    return plan


def _slurmstepd(plan: Plan, why: str) -> str:
    return f"slurmstepd: error: *** JOB {plan.job_id} ON {plan.nodes[0]} CANCELLED AT {plan.end:%Y-%m-%dT%H:%M:%S}{why} ***"

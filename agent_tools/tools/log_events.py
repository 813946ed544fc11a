"""What the parsers recognised in the logs."""

from __future__ import annotations

from pydantic_ai import RunContext

from agent_tools.tools.base import Deps, ask


async def log_events(ctx: RunContext[Deps], kind: str | None = None, pattern: str | None = None) -> str:
    """Recognised events of the job's logs, grouped, the worst and earliest first.

    Args:
        ctx: The run.
        kind: Only this kind: exception, cuda_oom, host_oom, launcher_summary, signal, slurm, nccl_watchdog, nccl_error,
            rendezvous, checkpoint, train_begin, train_end, non_finite, storage, network, xid, throttle, warning, ...
        pattern: Only events whose name or message matches this regular expression (RE2, case ignored).
    """
    deps = ctx.deps
    return ask(deps, "log_events", "log_events", job_id=deps.job(), attempt=deps.attempt, kind=kind, pattern=pattern)

"""What the parsers recognised in the logs."""

from __future__ import annotations

from pydantic_ai import RunContext

from agent_tools.tools.base import Deps, ask


async def log_events(ctx: RunContext[Deps], kind: str | None = None, pattern: str | None = None) -> str:
    """Recognised log events, worst and earliest first, by kind (exception, signal, slurm, ...) or pattern (RE2). Medium.
    Empty: no line was recognised."""
    deps = ctx.deps
    return ask(deps, "log_events", "log_events", job_id=deps.job(), attempt=deps.attempt, kind=kind, pattern=pattern)

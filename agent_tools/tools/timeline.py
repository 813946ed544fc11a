"""What happened, in order, from every store."""

from __future__ import annotations

from pydantic_ai import RunContext

from agent_tools.tools.base import Deps, ask


async def timeline(ctx: RunContext[Deps]) -> str:
    """Events of the job, its nodes, GPUs and links in order of time. Medium. Empty: no store has one."""
    return ask(
        ctx.deps, "job_timeline", "timeline", show_rows=32, pick="ends", job_id=ctx.deps.job(), attempt=ctx.deps.attempt
    )

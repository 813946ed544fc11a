"""Who was looking."""

from __future__ import annotations

from pydantic_ai import RunContext

from agent_tools.tools.base import Deps, ask
from store.catalog import catalog


async def coverage(ctx: RunContext[Deps]) -> str:
    """Which tables have rows of the job, and who watched. Short. Silence of a source proves nothing."""
    deps = ctx.deps
    if "coverage" in catalog():
        return ask(deps, "coverage", "coverage", job_id=deps.job(), attempt=deps.attempt)
    return ask(deps, "sources", "coverage", job_id=deps.job())

"""Which job the other tools speak of."""

from __future__ import annotations

from pydantic_ai import ModelRetry, RunContext

from agent_tools.tools.base import Deps


async def open_job(ctx: RunContext[Deps], job: str, attempt: int | None = None) -> str:
    """Make a job the one that the other tools ask about; its families are assessed. Slow once. Unknown jobs are said.

    Args:
        ctx: The run.
        job: As find_jobs shows it.
        attempt: Default the last.
    """
    deps = ctx.deps
    if deps.opener is None:
        raise ModelRetry("This run is about one job: no other can be opened.")
    deps.emit(f"opens job {job}")
    return deps.opener(job, attempt)

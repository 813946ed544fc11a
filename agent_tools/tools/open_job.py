"""Which job the other tools speak of."""

from __future__ import annotations

from pydantic_ai import ModelRetry, RunContext

from agent_tools.tools.base import Deps


async def open_job(ctx: RunContext[Deps], job: str, attempt: int | None = None) -> str:
    """Make a job the one that the other tools ask about, and have every failure family assessed on it.

    Args:
        ctx: The run.
        job: Its id, as find_jobs shows it.
        attempt: One of its attempts; the last one decides otherwise.
    """
    deps = ctx.deps
    if deps.opener is None:
        raise ModelRetry("This run is about one job: no other can be opened.")
    deps.emit(f"opens job {job}")
    return deps.opener(job, attempt)

"""What came before: the job's other attempts and runs alike, or a node's and its GPUs' past."""

from __future__ import annotations

from pydantic_ai import RunContext

from agent_tools.tools.base import Deps, ask


async def history(
    ctx: RunContext[Deps], node: str | None = None, gpu: int | None = None, since: str | None = None
) -> str:
    """Earlier attempts and runs alike; with a node, what it (and its GPU) went through. Medium. Empty: nothing alike is
    stored.

    Args:
        ctx: The run.
        node: Its name.
        gpu: Index there.
        since: UTC.
    """
    if node is None:
        return ask(ctx.deps, "similar_jobs", "history", show_rows=30, job_id=ctx.deps.job())
    return ask(ctx.deps, "node_past", "history", show_rows=40, node=node, gpu=gpu, from_ts=since)

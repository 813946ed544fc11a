"""A job's ranks side by side, and what their collectives did."""

from __future__ import annotations

from pydantic_ai import RunContext

from agent_tools.tools.base import Deps, ask


async def compare_ranks(ctx: RunContext[Deps]) -> str:
    """The ranks against their median (launches, waits, collectives, exits), and the GPU that works most: who lags, who waits."""
    deps = ctx.deps
    ranks = ask(deps, "rank_compare", "compare_ranks", show_rows=16, job_id=deps.job(), attempt=deps.attempt)
    spread = ask(deps, "gpu_spread", "compare_ranks", job_id=deps.job(), **deps.facts().scope)
    return f"{ranks}\n\n{spread}"


async def collectives(ctx: RunContext[Deps]) -> str:
    """Collectives: progress and stalls, who never entered the stuck one, ranks that fell silent, the longest waits."""
    deps = ctx.deps
    return "\n\n".join(
        ask(deps, query, "collectives", show_rows=16, job_id=deps.job(), attempt=deps.attempt)
        for query in ("nccl_progress", "nccl_ranks", "silent_ranks", "nccl_waits")
    )

"""A job's ranks side by side, and what their collectives did."""

from __future__ import annotations

from pydantic_ai import RunContext

from agent_tools.tools.base import Deps, ask


async def compare_ranks(ctx: RunContext[Deps]) -> str:
    """Ranks against their median (launches, waits, exits), laggards first, and the busiest GPU. Medium. Empty: no rank was
    watched."""
    deps = ctx.deps
    ranks = ask(deps, "rank_compare", "compare_ranks", show_rows=8, job_id=deps.job(), attempt=deps.attempt)
    spread = ask(deps, "gpu_spread", "compare_ranks", job_id=deps.job(), **deps.facts().scope)
    return f"{ranks}\n\n{spread}"


async def collectives(ctx: RunContext[Deps]) -> str:
    """Collectives: progress, stalls, who never entered, silent ranks, longest waits. Medium. Empty: none was watched."""
    deps = ctx.deps
    queries = ["nccl_progress", "nccl_ranks", "silent_ranks", "nccl_waits", "nccl_mismatch"]
    if deps.facts().table("undumped_ranks").rows:  # few runs left dumps, and fewer left one out
        queries.append("undumped_ranks")
    return "\n\n".join(
        ask(deps, query, "collectives", show_rows=8, job_id=deps.job(), attempt=deps.attempt) for query in queries
    )

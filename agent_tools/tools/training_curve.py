"""Progress and loss."""

from __future__ import annotations

from pydantic_ai import RunContext

from agent_tools.tools.base import Deps, ask


async def training_curve(ctx: RunContext[Deps]) -> str:
    """Loss, gradient norm and learning rate over the steps, and the curve's shape. Medium. Empty: no step was reported."""
    deps = ctx.deps
    shape = ask(deps, "loss_shape", "training_curve", job_id=deps.job(), attempt=deps.attempt)
    curve = ask(
        deps, "loss_curve", "training_curve", show_rows=20, pick="spread", job_id=deps.job(), attempt=deps.attempt
    )
    return f"{shape}\n\n{curve}"

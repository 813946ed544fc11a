"""What the store knows of the job at first sight."""

from __future__ import annotations

from pydantic_ai import RunContext

from agent_tools.first_sight import first_sight
from agent_tools.tools.base import Deps


async def overview(ctx: RunContext[Deps]) -> str:
    """Slurm's accounting of each attempt, and who looked. Short. Empty: accounting does not know the job."""
    return first_sight(ctx.deps)

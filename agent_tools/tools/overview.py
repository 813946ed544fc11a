"""What the store knows of the job at first sight."""

from __future__ import annotations

from pydantic_ai import RunContext

from agent_tools.tools.base import Deps, ask


async def overview(ctx: RunContext[Deps]) -> str:
    """Slurm's accounting of each attempt, and who looked. Short. Empty: accounting does not know the job."""
    deps = ctx.deps
    attempts = ask(deps, "job_attempts", "overview", show_rows=8, pick="ends", job_id=deps.job())
    looked = ask(
        deps,
        "sources",
        "overview",
        show_rows=24,
        pick=("source", "covers", "ok"),
        without=("node", "job_id"),
        job_id=deps.job(),
    )
    asked = f"The question is about attempt {deps.attempt}." if deps.attempt is not None else ""
    return "\n\n".join(part for part in (f"Job {deps.job_id}. {asked}".strip(), attempts, looked) if part)

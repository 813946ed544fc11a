"""What the store knows of a job at first sight: the tool `overview`, and what the examiner looks at."""

from __future__ import annotations

from agent_tools.tools.base import Deps, ask


def first_sight(deps: Deps) -> str:
    """Slurm's accounting of each attempt, and who looked, as text that shows it. Raises ModelRetry where no job is open."""
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

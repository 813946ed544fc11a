"""What the store knows of a job at first sight: accounting's attempts, and who looked."""

from __future__ import annotations

from agent_tools.tools.base import Deps, ask


def first_sight(deps: Deps) -> str:
    """Asked for every verdict, by a model through the `overview` tool and by the examiner; as text, with its cells shown."""
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

"""What Slurm said of the nodes."""

from __future__ import annotations

from typing import Any

from pydantic_ai import RunContext

from agent_tools.tools.base import Deps, ask


async def node_states(
    ctx: RunContext[Deps], nodes: str | None = None, since: str | None = None, until: str | None = None
) -> str:
    """States of the job's nodes around its run, troubled ones first, and kernel and link events there. Medium. Empty: no change was
    seen.

    Args:
        ctx: The run.
        nodes: Others, comma-separated; needs since.
        since: UTC; default the start.
        until: Default the end.
    """
    deps = ctx.deps
    given: dict[str, Any] = {k: v for k, v in (("nodes", nodes), ("from_ts", since), ("to_ts", until)) if v is not None}
    if not deps.job_id and nodes and since:
        return ask(deps, "node_states", "node_states", show_rows=30, **given)
    scope = {**deps.facts().scope, **given}
    states = ask(deps, "node_states", "node_states", show_rows=30, **scope)
    kernel = ask(deps, "host_events", "node_states", show_rows=20, job_id=deps.job(), **scope)
    answers = [states, kernel]
    if deps.facts().has("link_event"):
        answers.append(ask(deps, "link_events", "node_states", show_rows=20, job_id=deps.job(), **scope))
    return "\n\n".join(answers)

"""Which jobs there were."""

from __future__ import annotations

from typing import Any, Literal

from pydantic_ai import RunContext

from agent_tools.tools.base import Deps, ask


async def find_jobs(
    ctx: RunContext[Deps],
    job: str | None = None,
    user: str | None = None,
    name: str | None = None,
    state: str | None = None,
    partition: str | None = None,
    node: str | None = None,
    family: str | None = None,
    since: str | None = None,
    until: str | None = None,
    by: Literal["user", "node", "partition", "family", "name", "day", "all"] | None = None,
) -> str:
    """Jobs of the fleet by any of these, counted and listed, with their verdicts. Medium. Empty: none matches.

    Args:
        ctx: The run.
        job: Id, or an array's.
        user: Unix user.
        name: RE2.
        state: FAILED, TIMEOUT, ...
        partition: Its name.
        node: It ran there.
        family: Of its verdict: F1.
        since: UTC: still there then.
        until: Started before.
        by: Counts how they ended and what they wasted for each of these, and lists no jobs.
    """
    asked = {
        "job": job,
        "user": user,
        "name": name,
        "state": state,
        "partition": partition,
        "node": node,
        "family": family,
        "since": since,
        "until": until,
    }
    given: dict[str, Any] = {k: v for k, v in asked.items() if v is not None}
    if by is not None:
        return ask(ctx.deps, "fleet_tally", "find_jobs", show_rows=30, by=by, **given)
    counted = ask(ctx.deps, "find_jobs_summary", "find_jobs", show_rows=20, **given)
    return f"{counted}\n\n{ask(ctx.deps, 'find_jobs', 'find_jobs', show_rows=30, **given)}"

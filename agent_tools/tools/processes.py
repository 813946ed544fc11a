"""How the job's processes ended, and what memory they were allowed."""

from __future__ import annotations

from pydantic_ai import RunContext

from agent_tools.tools.base import Deps, ask


async def processes(ctx: RunContext[Deps]) -> str:
    """Processes that ended badly or were stuck, who sent the signal, and cgroup memory. Medium. Empty: none was seen to."""
    deps = ctx.deps
    exits = ask(deps, "process_exits", "processes", show_rows=20, job_id=deps.job(), attempt=deps.attempt)
    peaks = ask(deps, "cgroup_peaks", "processes", show_rows=20, job_id=deps.job(), attempt=deps.attempt)
    return f"{exits}\n\n{peaks}"

"""Whether the job's GPUs are well."""

from __future__ import annotations

from pydantic_ai import RunContext

from agent_tools.tools.base import Deps, ask
from agent_tools.xids import MEANINGS


async def gpu_health(ctx: RunContext[Deps]) -> str:
    """XID and other driver events with their meaning, error counters that rose or stood, and each GPU's use and temperature.

    Only a rise during the run, or the driver's own event, speaks of a fault; a flat counter is the past's.
    """
    deps = ctx.deps
    scope = deps.facts().scope
    events = ask(deps, "gpu_events", "gpu_health", show_rows=20, job_id=deps.job(), **scope)
    shown = deps.ledger.all()[-1]
    codes = (
        sorted({int(str(r["xid"])) for r in shown.dicts() if r.get("xid") is not None})
        if shown.query == "gpu_events"
        else []
    )
    meanings = "\n".join(f"XID {c}: {MEANINGS.get(c, 'not in our list; see the vendor catalogue')}" for c in codes)
    rises = ask(deps, "gpu_counter_rises", "gpu_health", show_rows=20, job_id=deps.job(), **scope)
    use = ask(deps, "gpu_summary", "gpu_health", show_rows=16, job_id=deps.job(), **scope)
    return "\n\n".join(part for part in (events, meanings, rises, use) if part)

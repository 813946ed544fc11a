"""Whether the job's GPUs are well."""

from __future__ import annotations

from pydantic_ai import RunContext

from agent_tools.facts.xids import MEANINGS
from agent_tools.tools.base import Deps, ask


async def gpu_health(ctx: RunContext[Deps]) -> str:
    """XIDs with meanings, counters that rose, each GPU's use and temperature. Long. Only a rise or a driver's event in the
    run speaks of a fault. Empty: neither was seen."""
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
    use = ask(deps, "gpu_summary", "gpu_health", show_rows=8, pick="odd", job_id=deps.job(), **scope)
    return "\n\n".join(part for part in (events, meanings, rises, use) if part)

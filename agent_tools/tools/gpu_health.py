"""Whether the job's GPUs are well."""

from __future__ import annotations

from typing import Any

from pydantic_ai import RunContext

from agent_tools.evidence import Evidence
from agent_tools.facts.asked import ALL_GPUS
from agent_tools.facts.xids import MEANINGS
from agent_tools.tools.base import Deps, ask, oddest
from store.result import Cell

_WHEN = ("first_ts", "last_ts", "late_samples")
"""When a card was looked at takes a sixth of its row; for how long stands beside it, and the store's own question has the rest."""


async def gpu_health(ctx: RunContext[Deps], node: str | None = None) -> str:
    """XIDs with meanings, counters that rose, each GPU's use and temperature. Long. Only a rise or a driver's event in the
    run speaks of a fault. Empty: neither was seen.

    Args:
        ctx: The run.
        node: Only its GPUs.
    """
    deps = ctx.deps
    scope: dict[str, Any] = {**deps.facts().scope, "gpus": deps.facts().own_gpus, "job_id": deps.job()}

    def there(evidence: Evidence) -> list[int]:
        return [r for r, row in enumerate(evidence.dicts()) if node is None or row.get("node") == node]

    asked = len(deps.answered)
    events = ask(deps, "gpu_events", "gpu_health", show_rows=20, max_rows=ALL_GPUS, pick=there, **scope)
    rises = ask(deps, "gpu_counter_rises", "gpu_health", show_rows=20, max_rows=ALL_GPUS, pick=there, **scope)
    seen = [deps.ledger.get(id) for id in deps.answered[asked:]]
    codes = sorted({int(str(r["xid"])) for e in seen for r in e.dicts() if r.get("xid") is not None})
    meanings = "\n".join(f"XID {c}: {MEANINGS.get(c, 'not in our list; see the vendor catalogue')}" for c in codes)
    named = {name for e in seen for r in e.dicts() for name in _names(r)}

    def order(use: Evidence) -> list[int]:
        """Of a thousand cards the few that something was seen of, then those that did otherwise than the rest."""
        rows, asked_for = use.dicts(), set(there(use))
        return sorted(asked_for.intersection(oddest(use)), key=lambda r: named.isdisjoint(_names(rows[r])))

    use = ask(
        deps,
        "gpu_summary",
        "gpu_health",
        show_rows=8,
        max_rows=ALL_GPUS,
        pick=order,
        whole=True,
        without=_WHEN,
        **scope,
    )
    return "\n\n".join(part for part in (events, meanings, rises, use) if part)


def _names(row: dict[str, Cell]) -> list[Cell | tuple[Cell, Cell]]:
    """What a card goes by: its UUID, and its place."""
    by_place = [(row.get("node"), row["gpu"])] if row.get("gpu") is not None else []
    return [*by_place, *([row["gpu_uuid"]] if row.get("gpu_uuid") is not None else [])]

"""Free SQL, as the last resort."""

from __future__ import annotations

import asyncio
import time

from pydantic_ai import RunContext

from agent_tools.tools.base import Deps, failure, show
from store import free_sql
from store.result import StoreError
from store.rows import columns, tables

SECONDS = 10.0
"""How long one query may run; less where less is left of the run."""
MEMORY_MB = 1024


async def sql(ctx: RunContext[Deps], query: str) -> str:
    """One read-only SELECT (DuckDB) as query, when no tool answers; "tables" lists columns. Slow, bounded. Empty: no row."""
    deps = ctx.deps
    if query.strip().strip(";").lower() == "tables":
        return "\n".join(f"{name}: {', '.join(c.name for c in columns(row))}" for name, row in tables().items())
    if deps.lake is None:
        return "Free SQL is not available in this run."
    deps.emit("sql")
    unwanted = free_sql.Unwanted()
    try:
        result = await asyncio.to_thread(
            free_sql.run, deps.lake, query, timeout_s=_seconds(deps), memory_mb=MEMORY_MB, unwanted=unwanted
        )
    except StoreError as error:
        return f"The query failed, which is not the same as an empty answer:\n{failure(deps, error)}"
    finally:
        unwanted.tell()  # where the run is called off, its loop would wait for this thread all the same
    return show(deps, deps.ledger.record(result, "sql", {"query": query}))


def _seconds(deps: Deps) -> float:
    left = SECONDS if deps.deadline is None else deps.deadline - time.monotonic()
    return max(0.5, min(SECONDS, left))

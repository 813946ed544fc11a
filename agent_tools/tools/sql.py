"""Free SQL, as the last resort."""

from __future__ import annotations

from pydantic_ai import RunContext

from agent_tools.tools.base import Deps, failure, show
from store import free_sql
from store.result import StoreError
from store.rows import columns, tables


async def sql(ctx: RunContext[Deps], query: str) -> str:
    """One read-only SELECT (DuckDB) over the raw tables, when no tool answers. Slow, bounded. Empty: no row.

    Args:
        ctx: The run.
        query: The SELECT; "tables" lists columns.
    """
    deps = ctx.deps
    if query.strip().strip(";").lower() == "tables":
        return "\n".join(f"{name}: {', '.join(c.name for c in columns(row))}" for name, row in tables().items())
    if deps.lake is None:
        return "Free SQL is not available in this run."
    deps.emit("sql")
    try:
        result = free_sql.run(deps.lake, query)
    except StoreError as error:
        return f"The query failed, which is not the same as an empty answer:\n{failure(deps, error)}"
    return show(deps, deps.ledger.record(result, "sql", {"query": query}))

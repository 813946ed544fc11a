"""Any question of the store's catalog by name."""

from __future__ import annotations

from typing import Any

from pydantic_ai import RunContext

from agent_tools.tools.base import Deps, ask
from store.catalog import QueryInfo, catalog


async def question(ctx: RunContext[Deps], name: str = "", parameters: dict[str, Any] | None = None) -> str:
    """Any named question: GPU, fabric, NCCL, cgroups, jobs, ... Medium. Empty: nothing matches.

    Args:
        ctx: The run.
        name: None lists all (long).
        parameters: By name; the job is filled in.
    """
    known = catalog()
    if name not in known:
        listed = "\n".join(_line(info) for info in known.values())
        return f"The questions are:\n{listed}"
    params = dict(parameters or {})
    names = {p.name for p in known[name].params}
    for filled, value in (("job_id", ctx.deps.job_id or None), ("attempt", ctx.deps.attempt)):
        if filled in names and params.get(filled) is None:
            params[filled] = value
    return ask(ctx.deps, name, "question", **{k: v for k, v in params.items() if v is not None})


def _line(info: QueryInfo) -> str:
    takes = ", ".join(f"{p.name}{'?' if p.optional else ''}" for p in info.params)
    return f"- {info.name}({takes}): {info.title}"

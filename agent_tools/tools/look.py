"""Whatever is asked for now and then, behind one tool: a schema for each would be sent with every request."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from pydantic_ai import ModelRetry, RunContext

from agent_tools.tools.base import Deps
from agent_tools.tools.gpu_health import gpu_health
from agent_tools.tools.history import history
from agent_tools.tools.metric import metric
from agent_tools.tools.nodes import node_states
from agent_tools.tools.processes import processes
from agent_tools.tools.question import question
from agent_tools.tools.ranks import collectives, compare_ranks
from agent_tools.tools.sql import sql
from agent_tools.tools.timeline import timeline
from agent_tools.tools.training_curve import training_curve

VIEWS: dict[str, Callable[..., Any]] = {
    f.__name__: f
    for f in (
        timeline,
        training_curve,
        node_states,
        gpu_health,
        compare_ranks,
        collectives,
        processes,
        history,
        metric,
        sql,
    )
}
"""By the name that `at` has; any other is a question of the store."""


async def look(
    ctx: RunContext[Deps],
    at: str,
    name: str | None = None,
    node: str | None = None,
    gpu: int | None = None,
    rank: int | None = None,
    since: str | None = None,
    until: str | None = None,
    bucket_s: int | None = None,
    query: str | None = None,
    parameters: dict[str, Any] | None = None,
) -> str:
    """A view of the job, by `at`. Medium. Empty: nothing was seen where it says that it searched.
    timeline: events of all stores
    training_curve: loss, gradients, rate
    node_states: Slurm's, kernel and link events (node, since, until)
    gpu_health: XIDs, counters that rose, use; long
    compare_ranks: laggards
    collectives: stalls, who never entered
    processes: exits, signal senders, cgroup memory
    history: earlier attempts, runs alike, a node's past (node, gpu, since)
    metric: over time (name: sm_active, loss, ...; node, gpu, rank, since, until, bucket_s)
    sql: one SELECT (query), the last resort; slow
    or a question of the store: coverage, find_jobs, ... (parameters); a wrong name lists all
    """
    given = {
        "name": name,
        "node": node,
        "gpu": gpu,
        "rank": rank,
        "since": since,
        "until": until,
        "bucket_s": bucket_s,
        "query": query,
        "parameters": parameters,
    }
    named: dict[str, Any] = {k: v for k, v in given.items() if v is not None}
    view = VIEWS.get(at)
    if view is None:
        return await question(ctx, at, {k: v for k, v in {**named, **(parameters or {})}.items() if k != "parameters"})
    if at == "node_states" and "node" in named:
        named["nodes"] = named.pop("node")
    takes = [p for p in inspect.signature(view).parameters if p != "ctx"]
    if wrong := [k for k in named if k not in takes]:
        raise ModelRetry(f"{at} takes no {', '.join(wrong)}; it takes {', '.join(takes) or 'no argument'}.")
    if at == "metric":
        named.setdefault("name", "")
    if at == "sql":
        named.setdefault("query", "tables")
    return await view(ctx, **named)

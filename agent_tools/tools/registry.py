"""Every tool, in the order in which a model sees them (a stable order keeps its cache warm)."""

from __future__ import annotations

from typing import Any

from pydantic_ai import Tool

from agent_tools.endpoints.plain import plain
from agent_tools.tools.assess import assess
from agent_tools.tools.base import Deps
from agent_tools.tools.coverage import coverage
from agent_tools.tools.differential import differential
from agent_tools.tools.find_jobs import find_jobs
from agent_tools.tools.gpu_health import gpu_health
from agent_tools.tools.history import history
from agent_tools.tools.log_events import log_events
from agent_tools.tools.look import look
from agent_tools.tools.metric import metric
from agent_tools.tools.nodes import node_states
from agent_tools.tools.overview import overview
from agent_tools.tools.processes import processes
from agent_tools.tools.question import question
from agent_tools.tools.ranks import collectives, compare_ranks
from agent_tools.tools.read_log import read_log
from agent_tools.tools.sql import sql
from agent_tools.tools.timeline import timeline
from agent_tools.tools.training_curve import training_curve

_FUNCTIONS: tuple[Any, ...] = (
    overview,
    differential,
    assess,
    timeline,
    log_events,
    read_log,
    training_curve,
    node_states,
    gpu_health,
    compare_ranks,
    collectives,
    processes,
    metric,
    history,
    find_jobs,
    coverage,
    question,
    sql,
)


def functions() -> dict[str, Any]:
    """The tools' functions by name."""
    return {function.__name__: function for function in _FUNCTIONS}


SMALL = frozenset({"overview", "differential", "timeline", "log_events", "read_log", "training_curve"})
"""What a small model is offered for a verdict: more tools confuse it more than they help."""
LARGE = frozenset({"overview", "differential", "log_events", "read_log"})
"""What any other model is offered by itself; `look` has the rest."""


def tools() -> list[Tool[Deps]]:
    """Every tool by itself, for those who list them once. They run one after another: a reader is not shared between threads."""
    return [made(function) for function in _FUNCTIONS]


def offered(*, small: bool = False, fleet: bool = False) -> list[Tool[Deps]]:
    """What a model is sent with every request; `fleet`: for questions beyond one job too."""
    names = (SMALL if small else LARGE) | ({"find_jobs"} if fleet else set[str]())
    own = [made(function) for function in _FUNCTIONS if function.__name__ in names]
    return own if small else [*own, made(look)]


def made(function: Any) -> Tool[Deps]:
    """One tool, with its schema as plain as it can be. Arguments are validated here, not by a provider's strict mode."""
    tool = Tool[Deps](function, takes_ctx=True, sequential=True, strict=False)
    tool.function_schema.json_schema = plain(tool.function_schema.json_schema)
    return tool

"""What the scripted models of evals and benchmarks share."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any


def as_offered(name: str, arguments: dict[str, Any], offered: Collection[str]) -> tuple[str, dict[str, Any]]:
    """A tool's call as a model makes it: by itself where the tool is offered, else through the one that stands for it."""
    if name in offered:
        return name, arguments
    if name == "assess":
        return "differential", arguments
    if name == "question":
        return "look", {**arguments, "at": arguments.get("name", "")}
    parameters = {"parameters": arguments} if name == "find_jobs" and arguments else arguments
    return "look", {"at": name, **parameters}

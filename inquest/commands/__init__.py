"""The commands, one file each; a module is loaded only when its command is called."""

from __future__ import annotations

import argparse
import importlib
from typing import Protocol, cast

COMMANDS: dict[str, str] = {
    "ask": "one question about a job or the fleet",
    "chat": "ask one question after the other",
    "collect": "collect on this node until told to stop",
    "compact": "merge small segments of the lake into large ones",
    "demo": "verdicts on the example jobs that ship with inquest",
    "doctor": "is the lake whole, and what is in it?",
    "eval": "how often is the verdict right? The suite, with the examiner or any model",
    "follow": "jobs, nodes and the controller of a live Slurm into the lake",
    "import": "read files that a cluster already has into the lake",
    "jobs": "list the jobs in the lake",
    "mcp": "the tools over the Model Context Protocol, on standard streams",
    "preflight": "may a job start on this node?",
    "retain": "delete what is older than a number of days",
    "schema": "tables, columns, units and types",
    "serve": "the HTTP API, and MCP beside it",
    "sql": "ask the lake with read-only SQL",
    "verify": "check a sealed verdict, alone or against the lake",
    "watch": "a verdict for every job that ends, before anybody asks",
    "why": "why did this job end as it did?",
}
MODULES = {"import": "imports"}

USAGE, NOTHING, INVALID = 2, 3, 4


class Failure(Exception):
    """An error that the user can act on; `status` is the exit status."""

    def __init__(self, text: str, status: int = NOTHING) -> None:
        super().__init__(text)
        self.status = status


class Command(Protocol):
    """What a command's module has."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the options."""
        ...

    def run(self, args: argparse.Namespace) -> int:
        """Do it; give the exit status."""
        ...


def load(name: str) -> Command:
    """The module of a command."""
    return cast(Command, importlib.import_module(f"inquest.commands.{MODULES.get(name, name)}"))

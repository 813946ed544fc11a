"""Lines of the job's logs, by pattern or by place."""

from __future__ import annotations

from pydantic_ai import ModelRetry, RunContext

from agent_tools.tools.base import Deps, ask

WINDOW = 40
"""Lines that a window shows."""


async def read_log(
    ctx: RunContext[Deps], pattern: str | None = None, file: str | None = None, line: int | None = None
) -> str:
    """Read the job's logs: either every line that matches a pattern, or the lines of one file around a line.

    Args:
        ctx: The run.
        pattern: A regular expression (RE2, case ignored) to search all files for.
        file: A file, as other tools name it. Needs `line`.
        line: The line to read around, counted from 1. Needs `file`.
    """
    deps = ctx.deps
    if pattern:
        return ask(deps, "log_search", "read_log", job_id=deps.job(), attempt=deps.attempt, pattern=pattern)
    if file is None or line is None:
        raise ModelRetry("give a pattern, or a file and a line")
    first = max(1, line - WINDOW // 2)
    return ask(
        deps,
        "log_window",
        "read_log",
        job_id=deps.job(),
        file=file,
        first=first,
        last=first + WINDOW,
        show_rows=WINDOW,
    )

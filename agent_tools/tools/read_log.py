"""Lines of the job's logs, by pattern or by place."""

from __future__ import annotations

from pydantic_ai import ModelRetry, RunContext

from agent_tools.tools.base import Deps, ask

WINDOW = 40
"""Lines that a window shows."""
LINES = 8_000
"""Characters of lines that are shown at once."""


async def read_log(
    ctx: RunContext[Deps], pattern: str | None = None, file: str | None = None, line: int | None = None
) -> str:
    """Log lines that match a pattern (RE2), or around a line of a file. Long. Empty: no line matches."""
    deps = ctx.deps
    if pattern:
        return ask(
            deps, "log_search", "read_log", limit=LINES, job_id=deps.job(), attempt=deps.attempt, pattern=pattern
        )
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
        limit=LINES,
    )

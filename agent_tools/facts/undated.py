"""From when to when a job is taken to have run, where accounting does not say: by the times of its logs' lines.

A file's own date stands in for them, which is when it was last written, or copied. Where the job's files lie together with nobody
else's, no such date leaves out what was measured beside it: then it is not known when the job ran, and all of that is its own.
"""

from __future__ import annotations

from collections.abc import Callable

from agent_tools.facts.views import View


def span_of(extent: View, alone: Callable[[], View]) -> tuple[str | None, str | None]:
    """First and last time of the logs, each None where it is not known; `alone` are the nodes of telemetry that lies with one job."""
    if extent and not any(r.number("timed") for r in extent) and alone():
        return None, None
    first = min((r.text("first_ts") for r in extent if r.has("first_ts")), default=None)
    return first, max((r.text("last_ts") for r in extent if r.has("last_ts")), default=None)

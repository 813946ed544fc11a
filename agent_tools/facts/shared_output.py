"""Other jobs that wrote into the job's own file of output while it ran: whose a line is, nothing tells."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agent_tools.facts.core import Facts
    from agent_tools.facts.views import RowView


def shared_meanwhile(facts: Facts) -> RowView | None:
    """Such a job, one that failed before others; None where there is none. A file that is named after the job is its own."""
    if facts.overview is None or not any(_shareable(r.text("file"), facts.job_id) for r in facts.table("log_extent")):
        return None
    rows = facts.table("output_sharers").where(lambda r: bool(r.get("meanwhile")))
    return min(rows, key=lambda r: not r.number("exit_code"), default=None)


def failed_beside(facts: Facts) -> RowView | None:
    """Such a job, where it failed: what the file tells of a failure may be of that one."""
    other = shared_meanwhile(facts)
    return other if other is not None and other.number("exit_code") else None


def _shareable(file: str, job_id: str) -> bool:
    number = re.split(r"[_+]", job_id)[0]
    return re.search(rf"(?<!\d)0*{re.escape(number)}(?!\d)", file) is None

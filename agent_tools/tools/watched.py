"""Whether an empty answer is one: was a source looking on every node of the job, from its start to its end?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from store.catalog import catalog
from store.result import StoreError

if TYPE_CHECKING:
    from agent_tools.evidence import Evidence
    from agent_tools.tools.base import Deps


def searched(deps: Deps, evidence: Evidence) -> bool:
    """Whether that nothing was found may be told of the open job: the question says what of, and a healthy source covered its
    first table on each of the nodes over the whole run."""
    info = catalog().get(evidence.query)
    if info is None or not info.none or not deps.job_id or evidence.params.get("job_id") != deps.job_id:
        return False
    scope = deps.facts().scope
    nodes, since, until = scope.get("nodes"), scope.get("from_ts"), scope.get("to_ts")
    if not nodes or not since or not until:
        return False
    try:
        told = deps.ledger.peek(deps.reader, "sources", job_id=deps.job_id)
    except StoreError:
        return False
    of_log = info.tables[0] == "log_event"
    covers = ("log_event", "log_line") if of_log else info.tables[:1]
    rows = [r for r in told if r["covers"] in covers]
    if any(not r["ok"] for r in rows):
        return False
    if of_log:
        # It is told of the log that was read, not of the run: that has to be this job's, and to have lines.
        return any(r["job_id"] == deps.job_id and r["row_count"] for r in rows)
    watching = {
        r["node"]
        for r in rows
        if str(r["ts"]) <= str(since) and r["end_ts"] is not None and str(r["end_ts"]) >= str(until)
    }
    return None in watching or watching >= set(str(nodes).split(","))

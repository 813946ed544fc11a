"""What the examiner makes of a question about the cluster as it is now: what is free, what runs and waits, who holds GPUs, which nodes to look at."""

from __future__ import annotations

import re
from typing import Any

from agent_tools.evidence import Evidence
from agent_tools.questions.fleet_use import MAX_SAID, Said, slow
from agent_tools.questions.lookup_says import asked
from agent_tools.tools.base import Deps

_FREE = re.compile(
    r"(?i)\b(?:free|available|idle|unallocated)\b.*\b(?:nodes?|hosts?|machines?|servers?|gpus|cards)\b"
    r"|\b(?:nodes|hosts|machines|servers|how many gpus|which gpus|any gpus)\b.*\b(?:free|available|idle|unallocated)\b"
)
_USED = re.compile(r"(?i)\b(?:jobs?|runs?|users?|people|who|whose|left|were|was|most|utili[sz]\w*|busy)\b")
_HOLDS = re.compile(
    r"(?i)\bwho\b.{0,30}\b(?:us(?:es|ing)|hold(?:s|ing)|ha(?:s|ve)|occup\w+)\b.{0,20}\bgpus\b"
    r"|\bgpus\b.{0,30}\b(?:(?:per|by|each) (?:user|partition)|(?:in use|used|held|occupied) by (?:whom|users?|which users?))\b"
)
_DRAIN = re.compile(
    r"(?i)\b(?:should|shall|must|which|what)\b.*\bnodes?\b.*\b(?:drain|take out|exclude|avoid|look at|check|repair|replace)\b"
    r"|\b(?:drain|exclude|avoid)\b.*\bwhich nodes?\b|\bwhich nodes?\b.*\b(?:suspicious|suspect|unhealthy|worst)\b"
)
_NOT_SEEN = "What nodes have free is not recorded here: sinfo tells it."
_NOBODY = "No job is recorded as running."
_NOTHING = "Nothing in the store speaks against a node."


def of_free(question: str) -> bool:
    """Whether a question is for what is free, and not for how busy somebody's GPUs were."""
    return _FREE.search(question) is not None and _USED.search(question) is None


def of_holders(question: str) -> bool:
    """Whether a question is for who holds GPUs now."""
    return _HOLDS.search(question) is not None


def of_suspects(question: str) -> bool:
    """Whether a question is for the nodes that somebody should look at."""
    return _DRAIN.search(question) is not None


def now(deps: Deps, question: str, limits: dict[str, str]) -> Said | None:
    """The answer to a question about the cluster as it is now; None for any other."""
    if of_free(question):
        return _free(deps, limits)
    if of_holders(question):
        return _holders(deps, "partition" if "partition" in question.lower() else "user")
    if of_suspects(question):
        return _suspects(deps, limits)
    return None


def _free(deps: Deps, limits: dict[str, str]) -> Said:
    e = asked(deps, "nodes_free", node=limits.get("node"))
    if e is None or not e.rows:
        return [_NOT_SEEN], [e.id] if e is not None else []
    said = [
        f"Free GPUs of all nodes: {e.ref('all_free')} of {e.ref('all_gpus')}.",
        f"Nodes that are wholly free: {e.ref('nodes_free')}.",
    ]
    for r, row in enumerate(e.dicts()[:MAX_SAID]):
        if not (row["gpus_free"] or (row["cpus_free"] and not row["gpus"])) and "node" not in limits:
            break
        what = "gpus" if row["gpus"] else "cpus"
        state = f" ({e.ref('state', r)})" if row["state"] else ""
        said.append(
            f"Node {e.ref('node', r)}{state}: free {what.upper()[:-1]}s: {e.ref(f'{what}_free', r)} of {e.ref(what, r)}, as seen at {e.ref('seen_ts', r)}."
        )
    return said, [e.id]


def _holders(deps: Deps, by: str) -> Said:
    e = asked(deps, "fleet_tally", by=by, state="RUNNING")
    if e is None or not e.rows:
        return [_NOBODY], [e.id] if e is not None else []
    rows = sorted(range(len(e.rows)), key=lambda r: -float(str(e.value("gpus_held", r) or 0)))
    return [
        f"{e.ref('value', r)}: {e.ref('gpus_held', r)} GPUs in {e.ref('running', r)} running attempts."
        for r in rows[:MAX_SAID]
        if e.value("value", r) is not None and e.value("gpus_held", r)
    ] or [_NOBODY], [e.id]


def _suspects(deps: Deps, limits: dict[str, str]) -> Said:
    """Nodes that verdicts lay something at, whose GPUs had trouble, or that are slow: whoever drains one should look first."""
    said: list[str] = []
    given: dict[str, Any] = {**limits}
    blamed = asked(deps, "fleet_tally", by="node", **given)
    cards = asked(
        deps, "gpus_in_trouble", node=limits.get("node"), since=limits.get("since"), until=limits.get("until")
    )
    for r, row in enumerate(blamed.dicts() if blamed is not None else []):
        if blamed is not None and row["value"] is not None and row["infrastructure"]:
            said.append(
                f"{blamed.ref('value', r)}: {blamed.ref('infrastructure', r)} of {blamed.ref('attempts', r)} attempts that ran there have a verdict"
                " that lays them at the infrastructure, on this node or another of theirs."
            )
    for r, row in enumerate(cards.dicts() if cards is not None else []):
        if cards is not None and row["node"] is not None:
            xid = f" {cards.ref('xid', r)}" if row["xid"] is not None else ""
            said.append(
                f"{cards.ref('node', r)}: its driver reported {cards.ref('event', r)}{xid}, events: {cards.ref('events', r)}, the last at {cards.ref('last_ts', r)}."
            )
    told, ids = slow(deps, limits)
    said = [*said[:MAX_SAID], *(t for t in told if t.startswith("Node "))]
    tables = [e.id for e in (blamed, cards) if e is not None and e.rows]
    return said or [_NOTHING], [*tables, *ids]


def running(e: Evidence) -> list[str]:
    """The jobs that run, from `find_jobs`."""
    said: list[str] = []
    for r, row in enumerate(e.dicts()[:MAX_SAID]):
        whose = f" of {e.ref('user', r)}" if row["user"] else ""
        with_what = f", GPUs: {e.ref('gpus', r)}" if row["gpus"] else ""
        where = f" on {e.ref('node_list', r)}" if row["node_list"] else ""
        since = f" since {e.ref('start_ts', r)}" if row["start_ts"] else ""
        said.append(f"Job {e.ref('job_id', r)}{whose} is {e.ref('state', r)}{where}{since}{with_what}.")
    return said


def pending(e: Evidence) -> list[str]:
    """The jobs that wait and Slurm's reason, from `find_jobs`."""
    said: list[str] = []
    for r, row in enumerate(e.dicts()[:MAX_SAID]):
        whose = f" of {e.ref('user', r)}" if row["user"] else ""
        why = f" with the reason {e.ref('state_reason', r)}" if row["state_reason"] else ""
        said.append(f"Job {e.ref('job_id', r)}{whose} is {e.ref('state', r)}{why}.")
    return said

"""Nodes that a question names beside each other: what each has gone through, or which jobs ran on it."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

from agent_tools.questions.fleet_lines import ended, tally
from agent_tools.questions.fleet_now import cards_in_trouble, nodes_in_trouble, running
from agent_tools.questions.fleet_use import Said, slow
from agent_tools.questions.lookup_says import asked
from agent_tools.questions.several import COMPARED
from agent_tools.references import cited
from agent_tools.tools.base import Deps

MAX_NODES, MAX_EACH = 4, 5
_JOBS = re.compile(r"(?i)\b(?:(?:which|what|list|show|any) (?:\w+ )?(?:jobs|runs)|who|ran|running|runs on)\b")
_BOTH = re.compile(r"(?i)\bboth\b")
_NONE_THERE = "No job of that time ran on a node that is named there."
_NONE_OF_BOTH = "No job is in the store that ran on all of these nodes."
_NOBODY_NOW = "No job is recorded as running on this node."
_NOBODY_THEN = "No job that ran on this node in that time is in the store."
_WHOM_ON = re.compile(
    r"(?i)\bwho(?:se|['’]s)?\b.{0,40}\bon\b|\b(?:what|which jobs?|anything|something|anybody|anyone)(?:['’]s)?\b.{0,20}\b(?:is|are|runs?|running)\b.{0,20}\bon\b"
)
_THEN = re.compile(r"(?i)\b(?:was|were|ran|had|did|been)\b")


def of_nodes(deps: Deps, nodes: list[str], question: str, times: dict[str, Any], unknown: Collection[str] = ()) -> Said:
    """Sentences and tables on each node but those that are `unknown`. Which one was at fault is not concluded from them."""
    nodes = [n for n in nodes if n not in unknown][:MAX_NODES]
    listed = _JOBS.search(question) is not None
    if listed and _BOTH.search(question):
        return _on_both(deps, nodes, times)
    said: list[str] = []
    more: list[str] = []
    tables: list[str] = []
    some, none = "", False
    for node in nodes:
        limits: dict[str, Any] = {**times, "node": node}
        counts = asked(deps, "fleet_tally", by="node", **limits)
        if counts is not None:
            tables.append(counts.id)
            row = next((r for r, d in enumerate(counts.dicts()) if d["value"] == node), None)
            said += tally(counts, "node", [node])
            some, none = counts.ref("value", row) if row is not None else some, none or row is None
        if listed:
            jobs = asked(deps, "find_jobs", **limits)
            said += [ended(jobs, r) for r in range(min(len(jobs.rows), MAX_EACH))] if jobs is not None else []
            tables += [jobs.id] if jobs is not None else []
            continue
        for texts, ids in (
            cards_in_trouble(deps, limits),
            nodes_in_trouble(deps, limits, still=False),
            slow(deps, limits),
        ):
            more += [t for t in texts if cited([t])][:MAX_EACH]
            tables += ids
    if none:
        said.append(f"Beside {some} a node is named on which no job of that time ran." if some else _NONE_THERE)
    return [*said, *more], tables


def _on_both(deps: Deps, nodes: list[str], times: dict[str, Any]) -> Said:
    jobs = asked(deps, "find_jobs", node=nodes[0], **times)
    if jobs is None:
        return [_NONE_OF_BOTH], []
    rows = [r for r, row in enumerate(jobs.dicts()) if {*nodes} <= {*str(row["node_list"]).split(",")}]
    return [ended(jobs, r) for r in rows[: 2 * MAX_EACH]] or [_NONE_OF_BOTH], [jobs.id]


def beside_others(question: str, nodes: list[str], unknown: Collection[str]) -> bool:
    """Whether a question is for several nodes, of which all but one may be `unknown`."""
    return len(nodes) > 1 or (bool(nodes) and bool(unknown) and COMPARED.search(question) is not None)


def of_whom_on(question: str) -> bool:
    """Whether a question about a node is for whose jobs are on it, or were."""
    return _WHOM_ON.search(question) is not None


def on_node(deps: Deps, node: str, question: str, times: dict[str, Any]) -> Said:
    """The jobs on a node: those that run, or those of a time where the question is for one that is over."""
    if times or _THEN.search(question):
        jobs = asked(deps, "find_jobs", node=node, **times)
        if jobs is None or not jobs.rows:
            return [_NOBODY_THEN], [jobs.id] if jobs is not None else []
        return [ended(jobs, r) for r in range(min(len(jobs.rows), 2 * MAX_EACH))], [jobs.id]
    jobs = asked(deps, "find_jobs", node=node, state="RUNNING")
    return (running(jobs) if jobs is not None else []) or [_NOBODY_NOW], [jobs.id] if jobs is not None else []

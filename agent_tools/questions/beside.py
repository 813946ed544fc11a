"""A node that a question names, or several beside each other: what each has gone through or measured, and which jobs ran on it."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from agent_tools.questions.fleet_held import measured, of_measures
from agent_tools.questions.fleet_lines import FAILED_WORDS, HOW_MANY, ended, tally
from agent_tools.questions.fleet_now import cards_in_trouble, fitness, nodes_in_trouble, of_fitness, running
from agent_tools.questions.fleet_use import Said, slow
from agent_tools.questions.lookup_says import asked, node_victims
from agent_tools.questions.several import COMPARED
from agent_tools.references import cited
from agent_tools.tools.base import Deps
from store import lazy

MAX_NODES, MAX_EACH = 4, 5
_JOBS = lazy.compile(r"(?i)\b(?:(?:which|what|list|show|any) (?:\w+ )?(?:jobs|runs)|who|ran|running|runs on)\b")
_BOTH = lazy.compile(r"(?i)\bboth\b")
_NONE_THERE = "No job of that time ran on a node that is named there."
_NONE_OF_BOTH = "No job is in the store that ran on all of these nodes."
_NOBODY_NOW = "No job is recorded as running on this node."
_NOBODY_THEN = "No job that ran on this node in that time is in the store."
_NOW = lazy.compile(
    r"(?i)\b(?:is|are|now|currently|right now|at the moment)\b.*\b(?:running|runs?|on)\b|\bruns? (?:now|on)\b|\brunning\b"
)
_STATE = lazy.compile(
    r"(?i)\b(?:why|when|since when|how long|who|what)\b.*\b(?:down|drain\w*|out of service|offline|unavailable|reserved|rebooted|(?:come|came|be|was|go|went) (?:back|up))\b"
    r"|\b(?:was|were)\b.{0,40}\b(?:down|drain\w*|out of service|offline|unavailable)\b"
)
_PAST = lazy.compile(r"(?i)\b(?:history|past|gone through|track record)\b")
_KILLED = lazy.compile(r"(?i)\bkill\w*\b")
_WHOM_ON = lazy.compile(
    r"(?i)\bwho(?:se|['’]s)?\b.{0,40}\b(?:us(?:es|ing|ed)|ha(?:s|ve|d)|hold(?:s|ing)|occup\w+|got)\b|\bwho(?:se|['’]s)?\b.{0,40}\bon\b|\b(?:what|which jobs?|anything|something|anybody|anyone)(?:['’]s)?\b.{0,20}\b(?:is|are|runs?|running)\b.{0,20}\bon\b"
)
_THEN = lazy.compile(r"(?i)\b(?:was|were|ran|had|did|been)\b")


def of_nodes(deps: Deps, nodes: list[str], question: str, times: dict[str, Any], unknown: Collection[str] = ()) -> Said:
    """Sentences and tables on each node but those that are `unknown`. Which one was at fault is not concluded from them."""
    nodes = [n for n in nodes if n not in unknown][:MAX_NODES]
    if of_measures(question):
        each = [measured(deps, node, question, times) for node in nodes]
        return [t for texts, ids in each for t in (texts if ids else texts[:1])], [i for _, ids in each for i in ids]
    if _NOW.search(question) and not times and not _THEN.search(question):
        return _on_now(deps, nodes)
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


def _on_now(deps: Deps, nodes: list[str]) -> Said:
    """The jobs that run on any of these nodes, each once."""
    found = [e for node in nodes if (e := asked(deps, "find_jobs", node=node, state="RUNNING")) is not None]
    said: dict[object, str] = {}
    for e in found:
        for id, text in zip((row["job_id"] for row in e.dicts()), running(e), strict=False):
            said.setdefault(id, text)
    return [*said.values()] or [_NOBODY_NOW], [e.id for e in found]


def _on_both(deps: Deps, nodes: list[str], times: dict[str, Any]) -> Said:
    jobs = asked(deps, "find_jobs", node=nodes[0], **times)
    if jobs is None:
        return [_NONE_OF_BOTH], []
    rows = [r for r, row in enumerate(jobs.dicts()) if {*nodes} <= {*str(row["node_list"]).split(",")}]
    return [ended(jobs, r) for r in rows[: 2 * MAX_EACH]] or [_NONE_OF_BOTH], [jobs.id]


def beside_others(question: str, nodes: list[str], unknown: Collection[str]) -> bool:
    """Whether a question is for several nodes, of which all but one may be `unknown`."""
    return len(nodes) > 1 or (bool(nodes) and bool(unknown) and COMPARED.search(question) is not None)


def about_node(deps: Deps, node: str, question: str, times: dict[str, Any], topics: Collection[str]) -> Said | None:
    """What a question for one node is answered with where it is for who is on it, what its GPUs measured, its states in Slurm, how many
    jobs failed there, or whether it is sound; None for any other."""
    if of_whom_on(question):
        return on_node(deps, node, question, times)
    if of_measures(question):
        return measured(deps, node, question, times)
    limits: dict[str, Any] = {**times, "node": node}
    if _STATE.search(question):
        said, tables = nodes_in_trouble(deps, limits, still=False)
        more, others = node_victims(deps, node, times)
        return [*said, *(t for t in more if cited([t]))], [*tables, *others]
    if HOW_MANY.search(question) and (FAILED_WORDS.search(question) or _KILLED.search(question)):
        counts = asked(deps, "fleet_tally", by="node", **limits)
        if counts is not None and (said := tally(counts, "node", [node])):
            more, others = node_victims(deps, node, times)
            return [*said, *(t for t in more if cited([t]))], [counts.id, *others]
    if "find_jobs" not in topics and (of_fitness(question) or _PAST.search(question)):
        return fitness(deps, node, times)
    return None


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

"""What the examiner makes of a question about the cluster as it is now: what is free, what runs and waits, who holds GPUs, which nodes and GPUs are
in trouble, and which nodes to look at."""

from __future__ import annotations

from typing import Any

from agent_tools.evidence import Evidence
from agent_tools.facts.xids import MEMORY_XIDS
from agent_tools.questions.fleet_use import MAX_SAID, Said, declined, of_user, slow
from agent_tools.questions.lookup_says import asked, node_victims
from agent_tools.questions.meanings import XID
from agent_tools.references import cited
from agent_tools.tools.base import Deps
from store import lazy

_FREE = lazy.compile(
    r"(?i)\b(?:free|available|idle|unallocated)\b.*\b(?:nodes?|hosts?|machines?|servers?|gpus|cards)\b"
    r"|\b(?:nodes|hosts|machines|servers|how many gpus|which gpus|any gpus)\b.*\b(?:free|available|idle|unallocated)\b"
)
_USED = lazy.compile(r"(?i)\b(?:jobs?|runs?|users?|people|who|whose|left|were|was|most|utili[sz]\w*|busy)\b")
_HOLDS = lazy.compile(
    r"(?i)\bwho\b.{0,30}\b(?:us(?:es|ing)|hold(?:s|ing)|ha(?:s|ve)|occup\w+)\b.{0,20}\bgpus\b"
    r"|\bwho\b.{0,10}\b(?:is|are)\b.{0,10}\b(?:us|occupy|hold)ing\b.{0,20}\b(?:clusters?|nodes|machines|cards)\b"
    r"|\bgpus\b.{0,30}\b(?:(?:per|by|each) (?:user|partition)|(?:in use|used|held|occupied) by (?:whom|users?|which users?))\b"
)
_DRAIN = lazy.compile(
    r"(?i)\b(?:should|shall|must|which|what)\b.*\bnodes?\b.*\b(?:drain|take out|exclude|avoid|look at|check|repair|replace)\b"
    r"|\b(?:drain|exclude|avoid)\b.*\bwhich nodes?\b|\bwhich nodes?\b.*\b(?:suspicious|suspect|unhealthy|worst)\b"
)
_WELL = lazy.compile(
    r"(?i)^\W*(?:(?:is|are) )?(?:the |our |my )?(?:whole )?(?:clusters?|fleet|everything|all|things|all nodes)\b.{0,30}\b(?:ok(?:ay)?|fine|healthy|good|well|sound|in order|all right)\W*$"
)
_FIT = lazy.compile(
    r"(?i)\b(?:healthy|unhealthy|health|ok(?:ay)?|fine|sound|bad|broken|trust\w*|suspicious|suspect|faulty|defective|in order)\b"
    r"|\b(?:should|shall|must|can|may)\b.*\b(?:drain|take out|exclude|avoid|replace|repair|use|trust)\b"
)
_SOURCES = lazy.compile(
    r"(?i)\b(?:collectors?|telemetry|exporters?|sources)\b|\b(?:anything|something|data|metrics?|samples?) (?:is |are |still )*(?:stale|late|missing)\b"
    r"|\b(?:is|are) (?:anything|something|the data|the metrics|any data) (?:stale|late|missing|behind)\b"
)
_NO_SOURCE = "Nobody recorded a look of any source there, so whether one is late is not known."
_NO_CARD = "No event of a GPU is recorded for that; only nodes with a kernel log are known."
_CARDS_OF_OTHERS = "Only an operator may ask about the GPUs of a whole cluster."
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
    return _DRAIN.search(question) is not None or _WELL.search(question) is not None


def of_sources(question: str) -> bool:
    """Whether a question is for the collectors, and not for what they saw."""
    return _SOURCES.search(question) is not None


def now(deps: Deps, question: str, limits: dict[str, str]) -> Said | None:
    """The answer to a question about the cluster as it is now; None for any other."""
    if of_free(question):
        return _free(deps, limits)
    if of_holders(question):
        return _holders(deps, "partition" if "partition" in question.lower() else "user")
    if of_suspects(question):
        return _suspects(deps, limits)
    if of_sources(question):
        return _sources(deps, limits)
    return None


def of_fitness(question: str) -> bool:
    """Whether a question about a node is for whether it is sound."""
    return _FIT.search(question) is not None


def fitness(deps: Deps, node: str, times: dict[str, str]) -> Said:
    """What speaks against a node: jobs that ended badly there, its GPUs' events, its states, its pace. The grounds, not a judgement."""
    said, tables = node_victims(deps, node, times)
    limits = {**times, "node": node}
    cards, card_ids = cards_in_trouble(deps, limits)
    if not card_ids:
        return said, tables
    down, down_ids = nodes_in_trouble(deps, limits, still=False)
    slowed, slow_ids = slow(deps, limits)
    more = [t for t in (*cards, *down, *slowed) if cited([t])]
    said = [t for t in said if cited([t])] if more else said
    return [*more, *said], [*tables, *card_ids, *down_ids, *slow_ids]


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


def _sources(deps: Deps, limits: dict[str, str]) -> Said:
    """When each source last looked, those first that fail or are late."""
    e = asked(deps, "sources_last", node=limits.get("node"))
    if e is None:
        return declined(deps), []
    said: list[str] = []
    for r, row in enumerate(e.dicts()[:MAX_SAID]):
        text = f"Source {e.ref('source', r)} last looked at {e.ref('last_ts', r)}"
        if row["behind_s"] and row["oldest_node"]:
            text += f", on {e.ref('oldest_node', r)} at {e.ref('oldest_ts', r)}"
        if row["failing"]:
            where = f" (the first is {e.ref('failing_node', r)})" if row["failing_node"] else ""
            text += f"; nodes on which it could not look: {e.ref('failing', r)}{where}"
        said.append(f"{text}.")
    return said or [_NO_SOURCE], [e.id]


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
    """Nodes that are out of service, that verdicts lay something at, whose GPUs had trouble, or that are slow: the grounds, not a judgement."""
    cards, card_ids = cards_in_trouble(deps, limits)
    if not card_ids:
        return cards, []  # not this viewer's to ask
    given: dict[str, Any] = {**limits}
    down, down_ids = nodes_in_trouble(deps, limits, still=True)
    slowed, slow_ids = slow(deps, limits)
    said: list[str] = []
    blamed = asked(deps, "fleet_tally", by="node", **given)
    for r, row in enumerate(blamed.dicts() if blamed is not None else []):
        if blamed is not None and row["value"] is not None and row["infrastructure"]:
            said.append(
                f"{blamed.ref('value', r)}: {blamed.ref('infrastructure', r)} of {blamed.ref('attempts', r)} attempts that ran there have a verdict"
                " that sees the fault at it."
            )
    said = [*said[:MAX_SAID], *(t for t in (*cards, *down, *slowed) if cited([t]))]
    tables = [blamed.id] if blamed is not None and blamed.rows else list[str]()
    return said or [_NOTHING], [*tables, *card_ids, *down_ids, *slow_ids]


_XIDS = lazy.compile(r"(?i)\bs?xids?\b")
_OFF, _OFF_THE_BUS = lazy.compile(r"(?i)\bf[ae]ll(?:en|s)? off\b"), 79
_ECC = lazy.compile(r"(?i)\becc\b|\b(?:row|page)s? (?:remap|retire)\w*|\bmemory errors?\b")
_AMONG = 20_000
"""Events among which those of one kind are looked for: that there is none is only said where all were read."""
_NO_SUCH_EVENT = "No event of that kind is recorded of a GPU there."


def occurred(deps: Deps, question: str) -> Said:
    """Where the XID that a question names was seen, of whoever may know that; nothing for other questions."""
    if not XID.search(question):
        return [], []
    return cards_in_trouble(deps, {}, question)


def cards_in_trouble(deps: Deps, limits: dict[str, str], question: str = "") -> tuple[list[str], list[str]]:
    """What the driver reported of any node's GPUs; only of the one kind where the question names it."""
    codes = {int(code) for code in XID.findall(question)} | ({_OFF_THE_BUS} if _OFF.search(question) else set[int]())
    of_memory = not codes and _ECC.search(question) is not None and not _XIDS.search(question)
    codes |= MEMORY_XIDS if of_memory else set[int]()
    among: dict[str, Any] = {"max_rows": _AMONG} if codes else {}
    e = asked(
        deps,
        "gpus_in_trouble",
        node=limits.get("node"),
        since=limits.get("since"),
        until=limits.get("until"),
        **among,
    )
    if e is None:
        return declined(deps, _CARDS_OF_OTHERS), []
    said: list[str] = []
    rows = list(enumerate(e.dicts()))
    if codes:
        rows = [
            (r, row)
            for r, row in rows
            if row["xid"] in codes
            or (_OFF_THE_BUS in codes and row["event"] == "fallen_off_bus")
            or (of_memory and row["event"] == "row_remap")
        ]
        if not rows:
            return [_NO_SUCH_EVENT], [e.id]
    for r, row in rows[:MAX_SAID]:
        at = "gpu" if row["gpu"] is not None else "pci_bus_id" if row["pci_bus_id"] is not None else None
        card = f"GPU {e.ref(at, r)}" if at else "A GPU"
        where = f" of {e.ref('node', r)}" if row["node"] is not None else ""
        xid = f" {e.ref('xid', r)}" if row["xid"] is not None else ""
        said.append(
            f"{card}{where}: {e.ref('event', r)}{xid}, events: {e.ref('events', r)}, the last at {e.ref('last_ts', r)}."
        )
    return said or [_NO_CARD], [e.id]


def nodes_in_trouble(deps: Deps, limits: dict[str, str], *, still: bool) -> tuple[list[str], list[str]]:
    """Which nodes Slurm has, or in a time that is over had, as down or drained; those that `still` are only where that is asked."""
    e = asked(deps, "nodes_in_trouble", node=limits.get("node"), since=limits.get("since"), until=limits.get("until"))
    if e is None:
        return [], []
    rows = [r for r, row in enumerate(e.dicts()) if row["still"] or not still]
    said = [f"Nodes that are down or drained now: {e.ref('nodes_still')}."] if still and len(rows) > 1 else list[str]()
    for r in rows[:MAX_SAID]:
        flags = f" ({e.ref('state_flags', r)})" if e.value("state_flags", r) else ""
        why = f': "{e.ref("reason", r)}"' if e.value("reason", r) else ""
        node, state, begun = e.ref("node", r), e.ref("state", r), e.ref("begin_ts", r)
        if e.value("still", r):
            said.append(f"Node {node} is {state}{flags} since {begun}{why}.")
        else:
            said.append(f"Node {node} was {state}{flags} from {begun} until {e.ref('until_ts', r)}{why}.")
    if not said:
        which = "This node is not recorded" if "node" in limits else "No node is recorded"
        said = [f"{which} as down or drained{' now' if still else ''}."]
    return said, [e.id]


def running(e: Evidence) -> list[str]:
    """The jobs that run, from `find_jobs`."""
    said: list[str] = []
    for r, row in enumerate(e.dicts()[:MAX_SAID]):
        with_what = f", GPUs: {e.ref('gpus', r)}" if row["gpus"] else ""
        where = f" on {e.ref('node_list', r)}" if row["node_list"] else ""
        since = f" since {e.ref('start_ts', r)}" if row["start_ts"] else ""
        said.append(f"Job {e.ref('job_id', r)}{of_user(e, r)} is {e.ref('state', r)}{where}{since}{with_what}.")
    return said


def pending(e: Evidence) -> list[str]:
    """The jobs that wait and Slurm's reason, from `find_jobs`."""
    said: list[str] = []
    for r, row in enumerate(e.dicts()[:MAX_SAID]):
        why = f" with the reason {e.ref('state_reason', r)}" if row["state_reason"] else ""
        said.append(f"Job {e.ref('job_id', r)}{of_user(e, r)} is {e.ref('state', r)}{why}.")
    return said

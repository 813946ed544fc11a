"""What the examiner does with a free question: it looks up the tables that the question's words name, and says so.

It does not pretend to understand. A question for the cause gets the differential's own sentences; any other gets tables.
"""

from __future__ import annotations

import re
from types import SimpleNamespace

from agent_tools.answer import Reply
from agent_tools.citations import Gate
from agent_tools.tools.base import Deps
from agent_tools.verdict import Claim, Missing

_MODEL = "a language model (--model)"
_NODE = re.compile(r"(?<![\w.-])([A-Za-z][\w-]*\d[\w.-]*)(?![\w-])")
_JOB = re.compile(r"\bjob\s+#?(\d{1,10}(?:_\d{1,7}|\+\d{1,4})?)\b", re.I)
TOPICS: tuple[tuple[str, str], ...] = (
    (r"\b(?:why|cause|caused|reason|verdict|wrong|happened)\b", "cause"),
    (
        r"\b(?:loss|learning rate|lr|grad\w*|curve|converg\w*|diverg\w*|nan|steps?|progress|throughput)\b",
        "training_curve",
    ),
    (r"\b(?:ranks?|stragglers?|slow\w*|lag\w*)\b", "compare_ranks"),
    (r"\b(?:collectives?|nccl|rccl|all.?reduce|hang|hung|stuck)\b", "collectives"),
    (r"\b(?:gpus?|xids?|ecc|cards?|nvlink|throttl\w*|temperature|hot|memory)\b", "gpu_health"),
    (r"\b(?:nodes?|hosts?|drain\w*|down|reboot\w*)\b", "node_states"),
    (r"\b(?:process\w*|exit\w*|signals?|kill\w*|oom|sigkill|cgroups?)\b", "processes"),
    (
        r"\b(?:again|before|earlier|last (?:week|time|month|run)|history|previous|similar|other (?:runs?|jobs?)|same)\b",
        "history",
    ),
    (r"\b(?:when|timeline|order|first|sequence)\b", "timeline"),
    (r"\b(?:errors?|exceptions?|tracebacks?|logs?|warnings?|messages?|printed)\b", "log_events"),
    (r"\b(?:jobs|users?|partition|fleet|this month|this week|today|how many)\b", "find_jobs"),
    (r"\b(?:looked|looking|sources?|coverage|missing|collected)\b", "coverage"),
)
"""Words of a question, and what is looked up for them."""
MAX_TOPICS = 3
_FLEET = frozenset({"find_jobs"})


async def look_up(deps: Deps, question: str) -> Reply:
    """The tables for a question, as a reply. Nothing is concluded but what the families did."""
    if deps.opener is not None and (named := _JOB.search(question)) is not None and named[1] != deps.job_id:
        deps.opener(named[1], None)
    topics = [name for pattern, name in TOPICS if re.search(pattern, question, re.I)]
    shows: list[Claim] = []
    short = ""
    if "cause" in topics and deps.job_id:
        deps.ledger.show_all()
        draft = Gate().prune(deps.draft, deps.ledger, deps.assessments, deps.draft).draft
        short, shows = draft.headline, list(draft.shows[:6])
        topics.remove("cause")
        topics = [t for t in topics if t not in _FLEET]
    else:
        topics = [t for t in topics if t != "cause"]
    if not deps.job_id:
        topics = [t for t in topics if t in _FLEET or (t == "history" and _NODE.search(question))] or ["find_jobs"]
    if not topics and not short:
        topics = ["overview"]
    looked = [e for t in topics[:MAX_TOPICS] for e in await _tables(deps, t, question)]
    tables = list(dict.fromkeys(looked))
    filled = [t for t in tables if deps.ledger.get(t).rows]
    if not short:
        short = (
            "The built-in examiner does not reason about free questions; these tables are what the store has under its words."
            if filled
            else "The store has nothing under the words of this question."
        )
    missing = Missing(text="What follows from these tables for the question.", signal=_MODEL)
    return Reply(short=short, shows=shows, cannot_answer=[missing] if tables else [], question=question, tables=filled)


async def _tables(deps: Deps, topic: str, question: str) -> list[str]:
    """The ids of the evidence that a topic's tool brings."""
    from agent_tools.tools.registry import functions

    node = _NODE.search(question)
    named = {"node": node[1]} if node is not None and topic in ("find_jobs", "history") else {}
    before = len(deps.answered)
    await functions()[topic](SimpleNamespace(deps=deps), **named)
    return deps.answered[before:]

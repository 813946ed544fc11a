"""What the examiner makes of a question over many jobs that their own telemetry answers: how busy GPUs were, which nodes are slow, what logs say."""

from __future__ import annotations

import re
from typing import Any

from agent_tools.evidence import Evidence
from agent_tools.questions.lookup_says import asked
from agent_tools.tools.base import Deps
from agent_tools.viewer import Guarded
from store import lazy

MAX_SAID = 8
Said = tuple[list[str], list[str]]
"""Sentences, and the ids of the tables that they are from."""

_USE = lazy.compile(r"(?i)\b(?:utili[sz]\w*|busy|busier|busiest|idle|idled|idling|unused)\b")
_IDLE = lazy.compile(r"(?i)\b(?:idle|idled|idling|unused)\b")
_BUSIEST = lazy.compile(r"(?i)\b(?:busiest|busier|best|highest|fully)\b")
_HOURS = lazy.compile(r"(?i)\b(?:hours?|wast\w*|most)\b")
_SLOW = lazy.compile(
    r"(?i)\b(?:slow\w*|straggl\w*|throttl\w*|lag\w*)\b.*\b(?:nodes?|hosts?|machines?|servers?)\b"
    r"|\b(?:nodes?|hosts?|machines?|servers?)\b.*\b(?:slow\w*|straggl\w*|throttl\w*|lag\w*)\b"
)
_FLEET = lazy.compile(
    r"(?i)\b(?:jobs|users|fleet|clusters?|any job|all nodes|this (?:week|month|year)|today|yesterday)\b"
)
_LAST = lazy.compile(r"(?i)\b(?:last|latest|newest|most recent\w*)\b")
_NAMED = lazy.compile(r"\b([A-Z]\w*(?:Error|Exception|Warning))\b")
_QUOTED = lazy.compile(r"(?<!\w)[\"“`']([^\"”`']{3,80})[\"”`'](?!\w)")
_SAYS = lazy.compile(
    r"(?i)\b(?:print\w*|log(?:s|ged)?|say|says|said|mention\w*|contain\w*|with|see|saw|seen|had|have|has|got|hit|raised?|threw)\b"
)
_TIMED_OUT = r"tim(?:ed|e|ing)?[ -]?outs?"
_LOGGED: tuple[tuple[str, str, str | None], ...] = (
    (rf"\b(?:nccl|collectives?|watchdog|all.?reduce)\b.*\b{_TIMED_OUT}\b|\b{_TIMED_OUT}\b.*\b(?:nccl|collectives?)\b", "nccl_watchdog", None),
    (r"\b(?:nccl|gloo)\b", "nccl_watchdog,nccl_error", None),
    (r"\brendezvous\b|\btcp ?store\b|\bc10d\b", "rendezvous", None),
    (r"\bseg(?:mentation)?[ -]?faults?\b|\bsigsegv\b", "signal,launcher_summary", r"SIGSEGV|seg(?:mentation )?fault|signal 11\b|-11\b"),
    (r"\bcuda errors?\b|\billegal memory access\w*|\bdevice-side asserts?\b", "exception,warning", r"\bcuda_(?:error|setup)\b|device_assert|CUDA error|cudaError|illegal memory access|device-side assert|AcceleratorError"),
    (r"\b(?:(?:gpu|cuda|device|video) memory|vram|cuda oom)\b|\b(?:cuda|gpu)s? (?:ran |run )?out of memory\b", "cuda_oom", None),
    (r"\b(?:host|system|cpu) memory\b|\boom[ -]?kill\w*", "host_oom", None),
    (r"\bno space\b|\bdisk(?:s)? (?:is |was |were )?full\b|\bquotas?\b|\bi/o errors?\b|\bread-only\b|\bstorage errors?\b", "storage", None),
    (r"\bnans?\b|\bnon-?finite\b|\boverflow\w*", "non_finite", None),
)  # fmt: skip
"""Words of a question, the kinds of log event that they mean, and what such an event says where the kind has others too."""
_ALL_KINDS = "exception,cuda_oom,host_oom,launcher_summary,signal,slurm,nccl_watchdog,nccl_error,rendezvous,storage,network,warning,non_finite"

NOT_MEASURED = "No GPU of such a job was measured, so how busy it was is not known."
_NO_SLOW = "No node stands out: where GPUs were measured, none is slower than the other nodes of its jobs, and none was held back."
NOT_LOGGED = "Nothing of that kind was recognised in the logs of such jobs that were taken in."
_NOT_PRINTED = "No line that was kept of such a job's logs holds these words."
_OPERATORS = "Only an operator may ask about the nodes of a whole cluster."
_UNANSWERED = "The store could not answer this in its bounds: name a node, or a shorter time."


def of_user(e: Evidence, r: int) -> str:
    """Whose a row's job is, where that is known."""
    return f" of {e.ref('user', r)}" if e.value("user", r) else ""


def declined(deps: Deps, text: str = _OPERATORS) -> list[str]:
    """Why a table of a whole cluster was not to be had: whoever may see all was not turned away, and the store did not answer."""
    return [text if isinstance(deps.reader, Guarded) else _UNANSWERED]


def of_use(question: str) -> bool:
    """Whether a question is about how busy GPUs were."""
    return _USE.search(question) is not None


def of_slow_nodes(question: str) -> bool:
    """Whether a question is for slow nodes."""
    return _SLOW.search(question) is not None


def of_one(question: str) -> bool:
    """Whether it may mean the open job's nodes: nothing in it says that others are meant too."""
    return of_slow_nodes(question) and _FLEET.search(question) is None


def logged(question: str) -> tuple[str, str | None] | None:
    """The kinds of log event that a question names, and what such an event must say; no kind and a text that lines must hold
    where it quotes one; None where it names nothing of the sort."""
    for words, kinds, pattern in _LOGGED:
        if re.search(words, question, re.I):
            return kinds, pattern
    if (named := _NAMED.search(question)) is not None:
        return _ALL_KINDS, rf"\b{named[1]}\b"
    if _SAYS.search(question) and (quoted := _QUOTED.search(question)) is not None:
        return "", quoted[1]
    return None


def used(deps: Deps, question: str, by: str, given: dict[str, Any]) -> Said:
    """How busy GPUs were, by job or by what the question counts by."""
    e = asked(deps, "gpu_use", by=by, **given)
    if e is None:
        return [], []
    known = [r for r, row in enumerate(e.dicts()) if row["measured"]]
    if not known:
        return [NOT_MEASURED], [e.id]
    if not _HOURS.search(question):  # else as it came: the most idle GPU time first
        column, end = (
            ("idle_share", -1) if _IDLE.search(question) else ("engine_mean", -1 if _BUSIEST.search(question) else 1)
        )
        known.sort(key=lambda r: end * float(str(e.value(column, r))))
    said: list[str] = []
    for r in known[:MAX_SAID]:
        row = e.dicts()[r]
        if by == "all":
            who = f"In all, {e.ref('measured', r)} of {e.ref('attempts', r)} attempts measured"
        elif by == "job":
            who = f"Job {e.ref('value', r)}{of_user(e, r)}"
            who += f" ({e.ref('state', r)})" if row["state"] else ""
        else:
            who = f"{e.ref('value', r)}, {e.ref('measured', r)} of {e.ref('attempts', r)} attempts measured"
        text = f"{who}: mean engine activity {e.ref('engine_mean', r)}"
        text += f", SM activity {e.ref('sm_mean', r)}" if row["sm_mean"] is not None else ""
        text += f"; the GPUs did nothing for {e.ref('idle_share', r)} of the time"
        if row["gpu_hours"] is not None:
            text += f", {e.ref('gpu_hours_idle', r)} of the {e.ref('gpu_hours', r)} of GPU time held"
        said.append(f"{text}.")
    return said, [e.id]


def slow(deps: Deps, limits: dict[str, str]) -> Said:
    """Which nodes were slower than the others of their jobs, or were held back."""
    e = asked(deps, "slow_nodes", node=limits.get("node"), since=limits.get("since"), until=limits.get("until"))
    if e is None:
        return declined(deps), []
    said: list[str] = []
    for r, row in enumerate(e.dicts()[:MAX_SAID]):
        signs: list[str] = []
        if row["clock_low"]:
            signs.append(
                f"its clocks at work were clearly below the other nodes' in {e.ref('clock_low', r)} of {e.ref('compared', r)} attempts that ran on others too"
                f" (job {e.ref('clock_job', r)}: {e.ref('clock_share', r)} of theirs)"
            )
        if row["held_back"]:
            signs.append(
                f"hardware slowdown, heat or a power brake held them back in {e.ref('held_back', r)} of {e.ref('attempts', r)} attempts"
                f" (job {e.ref('held_job', r)}: {e.ref('held_share', r)} of the time)"
            )
        if row["longest"]:
            signs.append(
                f"in {e.ref('longest', r)} of {e.ref('compared', r)} attempts one of its GPUs worked while the others waited"
                f" (job {e.ref('longest_job', r)}: {e.ref('times_others', r)} times as much)"
            )
        said.append(f"Node {e.ref('node', r)}: {'; '.join(signs)}.")
    if said:
        return said, [e.id]
    given: dict[str, Any] = {**limits}
    whole = asked(deps, "gpu_use", by="all", **given)
    seen = whole is not None and bool(whole.rows) and bool(whole.value("measured"))
    return [_NO_SLOW if seen else NOT_MEASURED], [x.id for x in (e, whole) if x is not None]


def in_logs(deps: Deps, question: str, meant: tuple[str, str | None], given: dict[str, Any]) -> Said:
    """Which jobs' logs say something, the newest first."""
    kinds, words = meant
    if kinds:
        e, none = asked(deps, "jobs_events", kinds=kinds, pattern=words, **given), NOT_LOGGED
    else:
        e, none = asked(deps, "jobs_lines", text=words, **given), _NOT_PRINTED
    if e is None:
        return [], []
    if not e.rows:
        return [none], [e.id]
    count = "events" if kinds else "lines"
    said: list[str] = [] if _LAST.search(question) else [f"Jobs whose logs say so: {e.ref('jobs')}."]
    for r, row in enumerate(e.dicts()[: 1 if _LAST.search(question) else MAX_SAID]):
        what = f"{e.ref('event' if row['event'] else 'kind', r)}, " if kinds else ""
        text = f"Job {e.ref('job_id', r)}{of_user(e, r)} ({e.ref('state', r)}): {what}{count}: {e.ref(count, r)}"
        if row.get("last_ts") is not None:
            text += f", the last at {e.ref('last_ts', r)}"
        elif row["end_ts"] is not None:
            text += f" in the log of an attempt that ended at {e.ref('end_ts', r)}"
        said.append(f"{text} (line {e.ref('line_no', r)} of {e.ref('file', r)}).")
    return said, [e.id]

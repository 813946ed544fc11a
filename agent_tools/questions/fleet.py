"""What the examiner makes of a question over many jobs: which of them its words name, and by what they are to be counted."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from agent_tools.evidence import Evidence
from agent_tools.questions.fleet_ended import by_status, last, of_last, of_status
from agent_tools.questions.fleet_held import held, measured, of_held, of_most, of_waits, waits
from agent_tools.questions.fleet_lines import FAILED_WORDS, HOW_MANY, ended, tally, that_completed, that_failed
from agent_tools.questions.fleet_now import (
    cards_in_trouble,
    nodes_in_trouble,
    now,
    of_free,
    of_holders,
    of_sources,
    of_suspects,
    pending,
    running,
)
from agent_tools.questions.fleet_picked import (
    AMOUNT,
    EXTREMES,
    LONGEST,
    NONE,
    NONE_OF_CAUSE,
    NONE_OF_FAMILY,
    extreme,
    of_amount,
    restarted,
    wasters,
    without_verdict,
)
from agent_tools.questions.fleet_use import (
    MAX_SAID,
    NOT_LOGGED,
    NOT_MEASURED,
    in_logs,
    logged,
    of_one,
    of_slow_nodes,
    of_use,
    of_user,
    slow,
    used,
)
from agent_tools.questions.lookup_job import families_named
from agent_tools.questions.lookup_says import MAX_JUDGED, asked, counted, drafted
from agent_tools.questions.whom import MAX_KNOWN, named_in, several_in
from agent_tools.tools.base import Deps
from store import lazy

_MANY = lazy.compile(
    r"(?i)\b(?:jobs|users|people|who (?:(?:is|are) (?:wast|us|hold)\w+|has|have|had|wast\w+|los\w+)|which (?:users?|partitions?|days?|famil\w+)|fleet|clusters?"
    r"|any (?:nodes?|hosts?|users?|jobs?)|(?:per|by|each|every) (?:user|node|partition|day|family)|nodes (?:(?:fail|break|kill)\w*|are|were|went|got))\b"
)
"""Words of a question that is about more than one job, even while one is open."""
_MOST = lazy.compile(
    r"(?i)\b(?:top|worst)(?: \w+)? (?:nodes?|hosts?|machines?|servers?)\b|\b(?:which|what) (?:nodes?|hosts?|machines?|servers?)\b.{0,60}\b(?:most|worst|often|repeatedly)|\bmost (?:common|frequent)\w*"
    r"|\b(?:a|any|same|one|single) (?:node|host|machine|server)\b.{0,60}\b(?:twice|again|repeatedly|more than (?:one|once)|several|multiple)\b"
)
"""The same, while none is open."""
_BY: tuple[tuple[str, str], ...] = (
    ("node", r"\b(?:nodes|(?:top(?: \w+)?|most \w+|which|what|per|by|each|every|any|worst|same|a|one|single|busiest|idlest)\s+(?:node|host|machine|server)|hosts|machines|servers)\b"),
    ("user", r"\b(?:users?|people|owners?|who (?:(?:is|are) (?:wast|us|hold)\w+|has|have|had|wast\w+|los\w+))\b"),
    ("partition", r"\bpartitions?\b"),
    ("day", r"\b(?:(?:per|by|each|every|which|what) days?|trend\w*|daily)\b"),
    ("family", r"\b(?:famil\w+|kinds?|causes?|reasons?|types?|modes?|wast\w+|most (?:common|frequent)\w*)\b"),
    ("name", r"\b(?:job names?|projects?|experiments?)\b"),
)  # fmt: skip
_OOM = "OUT_OF_MEMORY"
_STATES: tuple[tuple[str, str], ...] = (
    ("CANCELLED", r"\bs?cancel\w*"),
    ("TIMEOUT", r"\btim(?:ed|e|ing)?[ -]?outs?\b|\btime ?limits?\b"),
    (_OOM, r"\bout[ -]of[ -]memory\b|\bOOMs?\b"),
    ("NODE_FAIL", r"\bnode[_-]?fail\w*|\bnode failures?\b|\b(?:lost|losing) (?:a|its|their|the) nodes?\b"),
    ("PREEMPTED", r"\bpreempt\w*"),
    ("REQUEUED", r"\brequeue\w*"),
    ("PENDING", r"\b(?:pending|waiting|waits?|queued|the queue)\b"),
    ("RUNNING", r"\brunning\b|\bright now\b|\bcurrently\b|\bat the moment\b"),
)
_TROUBLE = lazy.compile(
    r"(?i)\bnodes?\b.*\b(?:down|drain\w*|out of service|not responding|unavailable|broken|in trouble)\b"
    r"|\b(?:down|drain\w*|out of service|not responding|unavailable|broken)\b.*\bnodes?\b"
)
_CARDS = lazy.compile(
    r"(?i)\bs?xids?\b|\becc\b|\b(?:gpus?|cards?)\b.*\b(?:events?|errors?|faults?|trouble|fell off|fallen off|broken?|broke|bad|faulty|died|fail\w*)\b"
    r"|\b(?:bad|faulty|broken|dead|worst) (?:gpus?|cards?)\b|\b(?:gpus?|cards?) (?:is|are) the worst\b"
)
_UNJUDGED = lazy.compile(
    r"(?i)\b(?:no|without|lack\w*|missing) (?:a |any |their )?(?:stored )?verdicts?\b|\bnot (?:yet )?(?:examined|judged)\b"
)
_WASTERS = lazy.compile(r"(?i)\b(?:jobs|runs)\b.*\bwast\w*|\bwast\w*\b.*\b(?:jobs|runs)\b")
_ONE_JOB = lazy.compile(r"(?i)\b(?:job|run|attempt)\b")
_PLAIN = lazy.compile(r"(?i)\b(?:jobs?|runs|attempts)\b")
_RAN = lazy.compile(r"(?i)\b(?:jobs?|runs|attempts)\b.{0,30}\b(?:ran|run|been)\b.{0,12}\bon\b")
_NOW = lazy.compile(r"(?i)\b(?:is|are|still|now|currently)\b")
_COMPLETED = lazy.compile(r"(?i)\b(?:succe\w*|complet\w*|finish\w*|went well|pass(?:ed)?|all right)\b")
_ABOUT_ALL = (of_most, of_slow_nodes, of_free, of_holders, of_suspects, of_sources, of_waits, of_held)
_QUEUE = lazy.compile(
    r"(?i)\b(?:the queue|what (?:is|are) (?:running|pending|waiting)|who (?:is|are) (?:running|waiting))\b"
)
_OF_GPUS = lazy.compile(r"(?i)gpu|\bbus(?:y|ier|iest)\b|\butili[sz]\w*")
_AGAIN = lazy.compile(r"(?i)\bmore than (?:one|1) attempts?\b|\bseveral attempts\b|\brestart\w*")
_MEANING = lazy.compile(
    r"(?i)^\W*what (?:does|do) .{1,60} mean\W*$|^\W*what(?: is|['’]s) (?:an? )?(?:s?xid \d+|[a-g][1-4]|u0)\W*$|^\W*how (?:do|can) (?:i|we) (?:use|ask)\b"
)
"""A question for what a word means, which is none for where it occurred."""
_AVERAGE = lazy.compile(r"(?i)\b(?:average|mean|overall|in all|on the whole|of all|whole)\b")
_WASTED = lazy.compile(r"(?i)\bwast\w*")
_USED_BY = frozenset({"user", "node", "partition", "name", "day"})
_FAMILY = lazy.compile(r"\b([A-G][1-4]|U0)\b")
_NONE_THEN = "No job that these words name is in the store for that time."
_NOTHING_FOUND = "Nothing of that kind is found on those that were examined now."
_GENERAL = lazy.compile(
    r"(?i)\b(?:news?|status|summary|summari[sz]e|report|overview|going on|anything|everything|happen\w*|problems?|troubles?|issues?|outages?|broke\w*|fleet|clusters?)\b"
)
"""Words for all that there is, which name nothing of it."""
UNKNOWN = (
    "These words name nothing that is looked up without a model. What can be asked: which jobs failed, ran, wait or were cancelled, of whom, on which node, since when;"
    " what a node or a GPU has gone through; queue times and GPU time by user or partition; or, once a job is open, anything of that job."
)
_ONE_ONLY = "No job is open that this could be looked up for."
_IN_ONE = frozenset(
    {"checkpoints", "training_curve", "compare_ranks", "collectives", "gpu_health", "processes", "log_events"}
)
"""What only one job's own telemetry answers."""


def of_many(question: str, *, opened: bool) -> bool:
    """Whether a question is about more than one job, or about GPUs while no job is `opened` whose they could be."""
    if not opened:
        words = any(p.search(question) for p in (_MANY, _CARDS, _MOST, _QUEUE))
        return words or logged(question) is not None or any(about(question) for about in _ABOUT_ALL)
    return _MANY.search(question) is not None and not of_one(question)


def over_many(
    deps: Deps, question: str, limits: dict[str, str], topics: Sequence[str] = ()
) -> tuple[list[str], list[str]]:
    """Sentences and tables on the jobs that a question names. `limits` are given already: node, since, until; `topics` are
    what its words would be looked up for in a job."""
    if _MEANING.search(question):
        return [UNKNOWN], []
    plain = _PLAIN.search(question) is not None
    if "node" not in limits and of_most(question):
        return measured(deps, None, question, limits)
    if not plain and (told := now(deps, question, limits)) is not None:
        return told
    if _TROUBLE.search(question) and not plain:
        return nodes_in_trouble(deps, limits, still=_NOW.search(question) is not None)
    if _CARDS.search(question) and not plain:
        return cards_in_trouble(deps, limits, question)
    if of_slow_nodes(question) and not plain:
        return slow(deps, limits)
    given: dict[str, Any] = {**limits, **named_in(deps, question)}
    stated = re.sub(LONGEST, "", question, flags=re.I)
    state = next((s for s, words in _STATES if re.search(words, stated, re.I)), None)
    family = _FAMILY.search(question)
    amount = AMOUNT.search(question)
    by = next((name for name, words in _BY if name not in given and re.search(words, question, re.I)), None)
    if amount is not None and amount["unit"] and by == "node":
        by = None
    kind, names = next((n for n in several_in(deps, question).items() if len(n[1]) > 1), ("", list[str]()))
    if of_waits(question):
        return waits(deps, question, kind or by, given, names)
    if of_held(question) and family is None:
        return held(deps, question, kind or by, given, names)
    # "Which nodes are idle?" is for those that are free, which is no matter of how busy GPUs were.
    if of_use(question) and (by is not None or family is None) and (by != "node" or _OF_GPUS.search(question)):
        only: dict[str, Any] = {"state": state} if state == "RUNNING" else {}
        each = by if by not in (None, "family") else "all" if _AVERAGE.search(question) else "job"
        return used(deps, question, each, {**given, **only})
    if by is None and family is None and (meant := logged(question)) is not None:
        said, tables = in_logs(deps, question, meant, given)
        code = {"cuda_oom": "B1", "non_finite": "E1", "host_oom": "A2"}.get(meant[0])
        if code is None:
            return said, tables
        more, others = _of_causes(deps, [code], _OOM if code == "A2" else None, given)
        if NOT_LOGGED in said and NONE_OF_CAUSE not in more:
            return more, [*tables, *others]
        return [*said, *(t for t in more if t != NONE_OF_CAUSE)], [*tables, *others]
    if by is None and family is None and state in (None, _OOM) and (codes := families_named(question)):
        return _of_causes(deps, codes, state, given)
    if by is None and family is None and state is None and _AGAIN.search(question):
        return restarted(deps, given)
    if _UNJUDGED.search(question):
        return without_verdict(deps, given)
    if by in (None, "family") and family is None and _WASTERS.search(question):
        return wasters(deps, question, given)
    if by is None and amount is not None and not amount["gpu"]:
        return of_amount(deps, amount, given | ({"state": state} if state is not None else {}))
    if state == "PENDING" and by == "node":  # what waits is on none
        by = None
    if by is None and family is None and (meant_by := of_status(question)) is not None:
        return by_status(deps, meant_by, {**given, **({"state": state} if state in ("CANCELLED", _OOM) else {})})
    if (
        by is None
        and (many := of_last(question))
        and HOW_MANY.search(question) is None
        and not _COMPLETED.search(question)
    ):
        return last(deps, question, many, {**given, **({"state": state} if state is not None else {})})
    if by is not None and state == _OOM and family is None:
        return _of_memory(deps, by, given)
    given |= {k: v for k, v in (("state", state), ("family", family and family[1])) if v is not None}
    if by is None or _ONE_JOB.search(question):
        for words, column, end, how in EXTREMES:
            if re.search(words, question, re.I):
                return extreme(deps, given, column, end, how)
    if names and by in (None, kind):
        each = asked(deps, "fleet_tally", by=kind, max_rows=MAX_KNOWN, **given)
        return (tally(each, kind, names), [each.id]) if each is not None else ([], [])
    if by is not None:
        whole, each = asked(deps, "fleet_tally", by="all", **given), asked(deps, "fleet_tally", by=by, **given)
        all_of_them, one_by_one = tally(whole, by) if whole else [], tally(each, by) if each else []
        said = [*all_of_them, *one_by_one] if by == "family" else [*one_by_one, *all_of_them]
        tables = [e.id for e in (each, whole) if e is not None]
        if by == "family" and whole is not None and whole.rows and not whole.value("examined"):
            states = asked(deps, "find_jobs_summary", **given)
            said, tables = [*said, *(counted(states) if states else [])], [*tables, *([states.id] if states else [])]
        if (
            _WASTED.search(question)
            and not families_named(question)
            and whole is not None
            and whole.rows
            and not whole.value("examined")
        ):
            idle, idled = used(deps, question, by if by in _USED_BY else "job", given)
            said, tables = ([*idle, *said], [*idled, *tables]) if idle != [NOT_MEASURED] else (said, tables)
        return said or [NONE], tables
    counts = HOW_MANY.search(question) is not None and state is None
    named = {*given} - {"since", "until"}
    if not (
        named
        or plain
        or {*topics} - {"find_jobs"}
        or _GENERAL.search(question)
        or FAILED_WORDS.search(question)
        or _COMPLETED.search(question)
    ):
        return [UNKNOWN], []
    whole = asked(deps, "fleet_tally", by="all", **given) if counts else None
    states, jobs = asked(deps, "find_jobs_summary", **given), asked(deps, "find_jobs", **given)
    tables = [e.id for e in (whole, states, jobs) if e is not None]
    if not (_IN_ONE.isdisjoint(topics) or counts or state or family or ("node" in given and _RAN.search(question))):
        return [_ONE_ONLY], tables
    said = counted(states) if states else []
    requeued: dict[str, Any] = dict(given, state="REQUEUED")
    if jobs and state == "CANCELLED":
        said += _cancelled(jobs)
    elif said and jobs and state == "PENDING":
        said += pending(jobs)
    elif said and jobs and state == "RUNNING" and (codes := families_named(question)):
        said = [*(_examined(deps, jobs, codes, range(len(jobs.rows))) or [_NOTHING_FOUND]), *said]
    elif said and jobs and state == "RUNNING":
        said += running(jobs)
    elif not said and state == "REQUEUED":
        more, others = restarted(deps, {k: v for k, v in given.items() if k != "state"})
        said, tables = more, [*tables, *others]
    elif not said and state == "PREEMPTED" and (again := asked(deps, "find_jobs", **requeued)):
        said = [f"{ended(again, r)[:-1]}, as a preemption leaves it too." for r in range(len(again.rows))[:MAX_SAID]]
        tables.append(again.id)
    elif jobs and state is None and not counts and _COMPLETED.search(question):
        said = [*that_completed(jobs), *said]
    elif jobs and state is None and FAILED_WORDS.search(question):
        said = [*that_failed(jobs), *said]
    elif jobs and state is None and not counts and len(jobs.rows) <= MAX_SAID:
        said = [*(ended(jobs, r) for r in range(len(jobs.rows))), *said]
    if whole is not None and "family" not in given:
        said = [*tally(whole, "all"), *said]
    if not said:
        said = [NONE_OF_FAMILY if "family" in given else _NONE_THEN if limits.keys() & {"since", "until"} else NONE]
    return said, tables


def _of_causes(
    deps: Deps, codes: Sequence[str], state: str | None, given: dict[str, Any]
) -> tuple[list[str], list[str]]:
    """The jobs whose stored verdict is of a family that the question's words name, and those of Slurm's own word for it."""
    found = [asked(deps, "find_jobs", **given, family=code) for code in codes]
    found += [asked(deps, "find_jobs", **given, state=state)] if state is not None else []
    whole = asked(deps, "fleet_tally", by="all", **given)
    said = [ended(e, r) for e in found if e is not None for r in range(min(len(e.rows), MAX_SAID))]
    if not said and (jobs := asked(deps, "find_jobs", told=False, **given)) is not None:
        unjudged = [r for r, row in enumerate(jobs.dicts()) if row["family"] is None and row["start_ts"] is not None]
        said = _examined(deps, jobs, codes, unjudged)
        found += [jobs] if said else list[Evidence]()
    if not said:
        said = [NONE_OF_CAUSE]
    if whole is not None and whole.rows:
        said.append(f"Attempts with a stored verdict: {whole.ref('examined')} of {whole.ref('attempts')}.")
    return said, [e.id for e in (*found, whole) if e is not None and e.rows]


def _examined(deps: Deps, jobs: Evidence, codes: Sequence[str], rows: Sequence[int]) -> list[str]:
    """What the families find now on the first of those jobs, where it is one of those causes."""
    said: list[str] = []
    for r in rows[:MAX_JUDGED]:
        draft = drafted(deps, str(jobs.value("job_id", r)))
        if draft is not None and draft.family in codes:
            said.append(f"Job {jobs.ref('job_id', r)} ({jobs.ref('state', r)}). {draft.headline}")
    return said


def _of_memory(deps: Deps, by: str, given: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Whose jobs ran out of memory: a GPU's by their verdicts, the host's by Slurm's word."""
    either: list[dict[str, Any]] = [{**given, "family": "B1"}, {**given, "state": _OOM}]
    found = [asked(deps, "fleet_tally", by=by, **each) for each in either]
    said = [text for e in found if e is not None for text in tally(e, by)]
    return said or [NONE_OF_CAUSE], [e.id for e in found if e is not None]


def _cancelled(e: Evidence) -> list[str]:
    said: list[str] = []
    for r, row in enumerate(e.dicts()[:MAX_SAID]):
        who = f" by {e.ref('cancelled_by', r)}" if row["cancelled_by"] else ", by whom is not recorded,"
        when = f" at {e.ref('end_ts', r)}" if row["end_ts"] else ""
        said.append(f"Job {e.ref('job_id', r)}{of_user(e, r)} was cancelled{who}{when}.")
    return said

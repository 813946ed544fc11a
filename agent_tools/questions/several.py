"""Jobs that a question names beside each other: how each ran and what is found on it, and whether they shared nodes."""

from __future__ import annotations

from collections.abc import Collection

from agent_tools.questions.lookup_job import attempts
from agent_tools.questions.lookup_says import asked, drafted
from agent_tools.tools.base import Deps
from store import lazy

MAX_JOBS = 4
_ID = r"\d{1,10}(?:_\d{1,7}|\+\d{1,4})?"
_LISTED = lazy.compile(
    rf"(?i)\bjobs? #?{_ID}\b(?:(?:\s*,\s*|\s+)(?:(?:and|or|with|to|vs\.?|versus|against|from|than)\s+)?(?:jobs? )?#?{_ID}\b(?! \w+s\b))*"
)
"""Jobs that are called so, one after the other; what counts steps or nodes is none."""
COMPARED = lazy.compile(r"(?i)\b(?:compar\w*|differ\w*|versus|vs)\b")
_NUMBER = lazy.compile(rf"(?<![\w.:-])#?({_ID})(?![\w.:-]*\w)")


_LEAD = (
    r"(?:^\W*(?:why\s+)?|\b(?:did|does|do|is|was|were|has|had|about|as|in|happen(?:ed|s)? to|wrong with|(?:cause|end|state|status|logs?|loss|verdict) of"
    r"|(?:s?cancel|kill|end|stop|crash|start|submit|requeu|preempt)\w*|why|explain|show|open)\s+)"
)
_PLAIN_ID = r"\d{3,10}(?:_\d{1,7}|\+\d{1,4})?"
_NO_UNIT = r"(?![\w.:/%-]*[\w%])(?!\s+(?:gpus|cards|nodes|hosts|jobs|runs|steps|epochs|hours|minutes|seconds|days|lines|samples|ranks|users|tokens|[GMKT]i?B|[hsW])\b)"
_BARE = lazy.compile(rf"(?i){_LEAD}#?(?P<id>{_PLAIN_ID}){_NO_UNIT}")
"""A number that stands where a job does: "why did 4812 fail?"."""
_PAIR = lazy.compile(
    rf"(?i){_LEAD}#?{_PLAIN_ID}(?:(?:\s*,\s*|\s+)(?:(?:and|or|vs\.?|versus)\s+)?#?{_PLAIN_ID}){{1,3}}{_NO_UNIT}"
)
_SAME = lazy.compile(r"(?i)\bsame\b")
_YEAR = lazy.compile(r"(?:19|20)\d\d")


def bare_job(question: str) -> str | None:
    """The number that a question has where a job's would stand; None where it has none, or a year."""
    found = next((m["id"] for m in _BARE.finditer(question)), None)
    return None if found is None or _YEAR.fullmatch(found) else found


def jobs_of(question: str, opened: str = "") -> list[str]:
    """The jobs that a question sets beside each other, the open one where it names one other; fewer than two are none."""
    words = [question] if COMPARED.search(question) else [m[0] for p in (_LISTED, _PAIR) for m in p.finditer(question)]
    found = list(dict.fromkeys(m[1] for text in words for m in _NUMBER.finditer(text)))[:MAX_JOBS]
    if not found and opened and _SAME.search(question) and (bare := bare_job(question)) is not None:
        found = [bare]
    if len(found) == 1 and opened not in ("", *found) and (COMPARED.search(question) or _SAME.search(question)):
        found = [opened, *found]
    return found if len(found) > 1 else []


def of_several(deps: Deps, jobs: list[str], unknown: Collection[str] = ()) -> tuple[list[str], list[str]]:
    """Sentences and tables on each job that is known; nothing where fewer than two are, unless the others are `unknown`."""
    heads: list[str] = []
    told: list[str] = []
    runs: list[str] = []
    tables: list[str] = []
    nodes: list[tuple[str, str, set[str]]] = []
    for job in jobs:
        if (draft := drafted(deps, job)) is None:
            continue
        e = asked(deps, "job_attempts", job_id=job)
        if e is None or not e.rows:
            continue
        last = len(e.rows) - 1
        known = asked(deps, "job_overview", told=False, job_id=job)
        if known is None or not known.rows:
            continue
        id = known.ref("job_id")
        told.append(job)
        heads.append(f"Job {id}: {draft.headline}")
        runs += attempts(e)[-1:]
        tables.append(e.id)
        if e.value("node_list", last):
            nodes.append((id, e.ref("node_list", last), set(str(e.value("node_list", last)).split(","))))
    if not heads or (len(heads) < 2 and not {*jobs} - {*told} <= {*unknown}):
        return [], []
    if len(nodes) == 2:
        (first, one, a), (second, two, b) = nodes
        how = "the same nodes" if a == b else "some nodes in common" if a & b else "no node in common"
        runs.append(f"Job {first} ran on {one} and job {second} ran on {two}: {how}.")
    return [*heads, *runs], tables

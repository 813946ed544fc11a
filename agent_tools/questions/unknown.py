"""Names in a question that nothing in the store has. They are told: an answer that left them out would seem to be about them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from agent_tools.evidence import Evidence
from agent_tools.questions.answer import Reply
from agent_tools.questions.lookup_says import asked
from agent_tools.questions.several import bare_job, jobs_of
from agent_tools.questions.whom import COMMON, NO_NAME, NO_USER, STATES, THINGS
from agent_tools.references import cited
from agent_tools.tools.base import Deps
from agent_tools.untrusted import one_line
from agent_tools.verdict import Claim
from store import lazy
from store.result import StoreError

MAX_NAMES = 8
MAX_LENGTH = 60
MAX_SHOWN = 12
_ONE = r"[\"'`“]?([^\s\"`“”,;?!]+)[\"'`”]?"
_LIST = rf"{_ONE}(?:(?:\s*,\s*(?:and\s+|or\s+)?|\s+(?:and|or|vs\.?|versus|with|to|than|against)\s+){_ONE})?(?:(?:\s*,\s*(?:and\s+|or\s+)?|\s+(?:and|or)\s+){_ONE})?"
_ON = r"\W*$| (?:fail|ran|run|in|on|since|this|last|that|are|were|have|did|wait|end)\w*\b"
_LEAD = r"(?:of|by|from|for|in|on|at|to|with|and|than|does|do|did|has|had|is|was|are|were)"
_USERS = lazy.compile(
    rf"(?i)(?:^\W*|\b{_LEAD} )(?:the )?users? (?:named |called )?{NO_USER}{_LIST}"
    rf"|\b(?:(?:jobs|runs|failures) (?:of|from)|(?:wait(?:ing)?|queue) times? (?:of|for)|gpu[- ]?(?:hours|time|usage) of) {NO_NAME}{_LIST}(?={_ON})"
    rf"|\b(?:jobs|runs) by {NO_NAME}{_ONE}(?={_ON})"
    rf"|(?<![\w.'’-]){NO_NAME}([a-z_][\w.'’-]*)['’]s (?:\w+ ){{0,2}}(?:jobs?|runs?|failures|gpu[- ](?:hours|time))\b"
    rf"|\b(?:did|does|has) {NO_NAME}([a-z_][\w.-]*\w) (?:run|submit\w*|launch\w*)\b"
)
_ODD_USER = lazy.compile(r"(?i)\busers? ([^\w\s].*?)\W?$")
"""Whom no letter begins: what a shell or a database would be glad to take, and nobody's name."""
_PARTITIONS = lazy.compile(
    rf"(?i)(?:^\W*|\b{_LEAD} )(?:the )?partitions? (?:named |called )?{NO_USER}{_LIST}|\b(?:the|in|on|of) {NO_NAME}([\w.-]*\w) partition\b"
)
_NAMES = lazy.compile(rf"(?i)\b(?:named|called) {_ONE}")
_NODES = lazy.compile(rf"(?i)\b(?:nodes?|hosts?|machines?|servers?) {NO_NAME}{_LIST}")
_COMPARED = lazy.compile(
    rf"(?i)\b(?:compare|between|difference between) (?:the )?(?:jobs? |nodes? |users? |runs? )?{_LIST}|{_ONE} (?:vs\.?|versus) {_ONE}"
)
_LIKE_A_NODE = lazy.compile(r"(?<![\w./-])([A-Za-z]{1,16}[-_]?\d{1,5})(?![\w./-])")
_NO_NODE = lazy.compile(
    r"(?i)(?:[a-hq]\d|u0|[ab][1-8]00|a[134]0|h(?:20|100|200|800)|v100|p100|t4|l4|l40s?|g[bh]200|gb300|mi\d+x?|[bf]f?p?\d+|tf32|int\d+|s?xid-?\d+|ranks?-?\d+"
    r"|gpus?-?\d|jobs?-?\d+|utf-?\d+|epochs?\d+|steps?\d+|(?:cuda|nccl|python|py|sm|v|ib|eth|mlx|pcie|gen|top|last|first)[-_]?\d+)"
)
_QUOTES = "\"'`“”"
_QUOTED = lazy.compile(rf"[{_QUOTES}][\w.-]+[{_QUOTES}]")
_BESIDE = "beside"
"""A word of a comparison with something that is known."""
_ALIKE = frozenset({"", "node", "compared", _BESIDE})
"""Of names of these kinds one that is known is enough to answer about."""
_DIGITS = lazy.compile(r"\d{3,10}(?:_\d{1,7})?")
_TYPED = lazy.compile(r"\[\[[^\[\]]{0,80}\]\]")
_NO_WORD = frozenset(
    """
    a all an and any are both by each every for had has have in is it its many most much never no none not of on or other our per same such that the their them
    these they this those to was were what when where which who whose why with without
    """.split()  # noqa: SIM905
)


@dataclass(frozen=True, slots=True)
class Unknown:
    """`said` are sentences, one for each of the `names`. With `nothing` else is named by the question: any answer would be about others."""

    names: list[str] = field(default_factory=list[str])
    said: list[str] = field(default_factory=list[str])
    nothing: bool = False


@dataclass(frozen=True, slots=True)
class _Named:
    """A name as a question has it, and what it is called there; "" where it only looks like one."""

    name: str
    kind: str


def names_unknown(deps: Deps, question: str) -> Unknown:
    """Which names of a question the store does not have. Each is first asked for beside the ledger: what is known needs no words."""
    named = [*dict.fromkeys(_named(_TYPED.sub(" ", question), bool(deps.job_id)))][:MAX_NAMES]
    if not named:
        return Unknown()
    names = "\n".join(dict.fromkeys(n.name for n in named))
    try:
        held = dict(_known(deps.reader.ask("names_known", names=names).dicts()))
    except StoreError:
        return Unknown()
    beside = any(held[n.name] for n in named if n.kind == _BESIDE)
    named = [n for n in named if n.kind != _BESIDE or (beside and n.name.lower() not in COMMON)]
    strange = {n.name for n in named if not held[n.name]}
    if not strange:
        return Unknown()
    e = asked(deps, "names_known", told=False, names="\n".join(n for n in names.split("\n") if n in strange))
    if e is None:
        return Unknown()
    kinds = {n.kind for n in named if n.name in strange}
    known = {n.kind for n in named if n.name not in strange}
    if known & _ALIKE:
        kinds -= _ALIKE
    return Unknown([n for n in names.split("\n") if n in strange], _said(e), bool(kinds - known))


def with_unknown(reply: Reply, strange: Unknown) -> Reply:
    """The reply, with the names that nothing is known of right behind its first sentence; before it where that cites nothing."""
    if not strange.said:
        return reply
    first = reply.short if cited([reply.short]) else strange.said[0]
    told = [Claim(text=t) for t in strange.said if t != first]
    return reply.model_copy(update={"short": first, "shows": [*told, *reply.shows][:MAX_SHOWN]})


def _known(rows: Sequence[Mapping[str, object]]) -> Iterator[tuple[str, bool]]:
    for row in rows:
        yield str(row["name"]), any(isinstance(v, int) and v > 0 for v in row.values())


def _said(e: Evidence) -> list[str]:
    return [
        f"No user, node, partition or job is known here by the name {e.ref('name', r)}." for r in range(len(e.rows))
    ]


def _named(question: str, opened: bool) -> Iterator[_Named]:
    """What stands where a name does, the plainest first. While a job is opened a number may be one of its own."""
    found: list[_Named] = []
    odd = _ODD_USER.search(question)
    if odd is not None and not _QUOTED.match(odd[1]):
        found.append(_Named(one_line(odd[1], MAX_LENGTH), "user"))
    else:
        found += _all(_USERS, question, "user")
    found += _all(_PARTITIONS, question, "partition")
    found += _all(_NAMES, question, "name")
    found += _all(_COMPARED, question, "compared")
    found += _all(_COMPARED, question, _BESIDE)
    found += [_Named(job, "compared") for job in jobs_of(question) if _DIGITS.fullmatch(job)]
    if not opened and (bare := bare_job(question)) is not None:
        found.append(_Named(bare, "job"))
    found += _all(_NODES, question, "node")
    found += [_Named(m[1], "") for m in _LIKE_A_NODE.finditer(question) if not _NO_NODE.fullmatch(m[1])]
    for name in found:
        if not any(other.kind and other.name == name.name and name.kind == "" for other in found):
            yield name


def _all(pattern: re.Pattern[str], question: str, kind: str) -> Iterator[_Named]:
    for m in pattern.finditer(question):
        for group in m.groups():
            name = re.sub(r"['’]s$", "", (group or "").strip(f"{_QUOTES}.,:;()"))
            if name and _may_be(name, kind):
                yield _Named(one_line(name, MAX_LENGTH), kind)


def _may_be(name: str, kind: str) -> bool:
    word = name.lower()
    if word in _NO_WORD or word in THINGS or word in STATES:
        return False
    if kind == _BESIDE:
        return not word.isdigit()
    if kind in ("compared", "node"):  # of a comparison any word can be: only what is like a name, or a job's id, is one
        return bool(_DIGITS.fullmatch(word) or (_LIKE_A_NODE.fullmatch(name) and not _NO_NODE.fullmatch(name)))
    return not word.isdigit() and (kind == "partition" or word not in COMMON)

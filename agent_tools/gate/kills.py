"""Was anything killed, and was it a crash? A denial is held against the kernel's count on every node, a crash against the finding.

The kernel killed no process for memory: [[E6.oom_kills]] kills on [[E6.node]] and [[E6:1.oom_kills]] on [[E6:1.node]].
The last report before the crash was for step [[E7.last_step]].      of a job that an exception ended, or a signal of the program's own

No cause is stated by a denial. Where a log or the kernel tells of a kill, the count is no proof.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from agent_tools.evidence import CellValue, Evidence, Ledger
from agent_tools.families.base import Assessment
from agent_tools.gate.clauses import Clause, clauses
from agent_tools.gate.grounds import assessment_texts
from agent_tools.gate.scope import held_by_job, whole
from agent_tools.references import HOLE
from store import lazy

_THING = r"(?:process(?:es)?|rank|ranks|task|tasks|of (?:its|the|the job['’]s) (?:processes|ranks|tasks))"
_MEMORY = r"(?: for (?:want of |lack of )?(?:host )?memory)"
_NONE = lazy.compile(
    rf"(?i)^\W*(?P<w>the kernel killed (?:no|none) {_THING}(?: of (?:the|this) job)?{_MEMORY}?"
    rf"|(?:no|none) {_THING}(?: of (?:the|this) job)? (?:was|were) killed(?: by the kernel)?{_MEMORY}|nothing was killed{_MEMORY})(?=\W*$|\W*[:(,])"
)
_ELSE = lazy.compile(
    rf"(?i)^(?:[\s{HOLE}:;,().]|\b(?:oom|kills?|kernel|on|of|node|and|in|was|were|counted|recorded|the|all|a|for|it|its|events?)\b)*$"
)
"""What may stand behind it: the counts, and whose they are."""
_KILLS = lazy.compile(r"(?i)\bkills?\b")
_TOLD = frozenset({"host_oom_words", "host_events"})
"""Answers that hold what logs and the kernel say of kills."""
_CRASHES = frozenset({"A1", "A3"})
_OWN_SIGNALS = frozenset({"SIGSEGV", "SIGABRT", "SIGBUS", "SIGFPE", "SIGILL"})
"""Signals by which a program itself breaks off; the others are sent to it."""


def crashed(
    found: Iterable[Assessment], cells: Callable[[str], Iterable[CellValue]]
) -> Iterator[tuple[CellValue, bool]]:
    """The cells of findings that the program crashed, and whether it is known when: of an exception it is, of a signal of the program's own
    doing the others' ends stand beside it. `cells` gives those of a text."""
    for a in found:
        broke_off = a.code == "A2" and any(c.value in _OWN_SIGNALS for c in cells(a.headline))
        if a.status == "confirmed" and (a.code in _CRASHES or broke_off):
            for text in assessment_texts(a):
                yield from ((c, not broke_off) for c in cells(text))


def unkilled(text: str, ledger: Ledger) -> list[tuple[int, int]]:
    """Where in a text it is denied that anything was killed for want of memory, and each node's count is zero."""
    return [(c.at + a, c.at + b) for c in clauses(text, ledger) for a, b in _in_clause(c, ledger)]


def _in_clause(clause: Clause, ledger: Ledger) -> Iterator[tuple[int, int]]:
    m = _NONE.match(clause.own)
    cells = [c for g in clause.groups for c in g.cells]
    counts = [c for c in cells if c.column == "oom_kills"]
    if m is None or not counts or len({c.id for c in cells}) != 1 or not _ELSE.match(clause.own[m.end() :]):
        return
    evidence = ledger.get(counts[0].id)
    if any(c.column not in ("oom_kills", "node") for c in cells) or not _of_every_node(evidence, ledger):
        return
    told = [e for e in ledger.all() if e.query in _TOLD and e.params.get("job_id") == evidence.params.get("job_id")]
    if not any(e.row_count for e in told):
        yield m.span("w")
        yield from (k.span() for k in _KILLS.finditer(clause.own, m.end()))


def _of_every_node(evidence: Evidence, ledger: Ledger) -> bool:
    """Whether a whole answer has a count of zero for each node of the job."""
    names = {c.name for c in evidence.columns}
    if not {"node", "oom_kills"} <= names or not whole(evidence, ledger):
        return False
    rows = range(len(evidence.rows))
    nodes = {evidence.value("node", r) for r in rows}
    none = all(evidence.value("oom_kills", r) == 0 for r in rows)
    return none and held_by_job(evidence, ledger, "node_count") == len(nodes)

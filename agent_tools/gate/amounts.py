"""Is a number told as a count one? That of a rank or a signal says which, and how many a job was given is not how many broke.

[[E22.local_rank]] ranks failed.              the number of a rank
Job [[E1.job_id]] lost [[E1.node_count]] nodes.      all that it had: of each one its own row has to say so
"""

from __future__ import annotations

import re

from agent_tools.evidence import CellValue, Ledger
from agent_tools.formats import unit_of
from agent_tools.gate.alone import of_one_only
from agent_tools.gate.clauses import SUBJECTS, Clause, held, size
from agent_tools.references import HOLE
from store import lazy

_WHICH = lazy.compile(
    r"^(?:(?:local_|global_)?rank|gpu|gpu_index|pid|uid|task|port|xid|attempt|last_attempt|(?:derived_)?exit_(?:code|signal)|signal|last_signal|last_exit"
    r"|(?:\w+_)?line(?:_no)?|\w+_id)$"
)
"""Columns whose numbers say which one, or what kind of it, and never how many."""
_NOUN = (
    r"(?:ranks?|nodes?|hosts?|machines?|gpus?|cards?|devices?|process(?:es)?|tasks?|workers?|jobs?|attempts?|tries|retries|restarts?|requeues?|signals?"
    r"|kills?|crash(?:es)?|errors?|failures?|faults?|exceptions?|tracebacks?|xids?|events?|times|users?|checkpoints?|saves?|epochs?|steps|reports?|samples?|lines|others)"
)
_MANY = lazy.compile(
    rf"(?i) (?:of (?:the |its |these |those |them\b)?)?(?:(?:other|more|further|different|distinct|separate|whole|failed|dead|killed|lost|crashed|[a-z]+ed|healthy) )*{_NOUN}\b(?!['’-])"
)
"""Behind a number: the things of which it says how many there are."""
_NAMED = lazy.compile(
    r"(?i)\b(?:(?:local|global) )?(?:ranks?|gpus?|cards?|devices?|pids?|process(?:es)?|tasks?|workers?|ports?|xids?|attempts?|signals?|codes?|status|lines?|jobs?|steps?|ids?|uids?"
    r"|number|index|exit|no\.?)(?: (?:is|was|of|number|code|status))?[ =:#(]*$"
)
"""Ahead of a number that is told as what it is: `rank * processes`."""
_TOTALS = frozenset({"node_count", "gpus", "job_nodes", "attempts", "cpus"})
_OF_JOB = frozenset({"job_overview", "job_attempts", "find_jobs", "jobs", "job_cost", "job_known", "node_failures"})
"""Answers whose rows say how many of it a job had."""
_THEN = lazy.compile(
    r"(?i) (?:of (?:the |its ))?(?:[a-z]+ )?(?:nodes?|hosts?|machines?|gpus?|cards?|ranks?|process(?:es)?|attempts?|tries|cpus?|cores?)\b(?P<then>.*)"
)
_HAS = lazy.compile(
    rf"(?i)^(?:\W*$|\s*[,;:.()/–—{HOLE}]| (?:on|in|of|for|at|from|to|with|without|per|over|across|between|each|by then|and|or|but|while|when|until|before|after|as|if|that|which|it|where|so"
    r"|ran|run|runs|running|used|held|holds|allocated|requested|reserved|given|took|take|known|recorded|counted|made|needed|together|altogether)\b"
    rf"| (?:was|were|are|is|had been|have been)(?: all| then| ever)? (?:allocated|given|requested|used|held|reserved|assigned|involved|asked|available|running|made|known|recorded|counted|needed|on|in|its|the)\b| (?:were|are) {HOLE})"
)
"""What may be said of all that a job had: that it had them."""
_LOSES = lazy.compile(
    r"(?i)\b(?:lost|loses|losing|killed|kills|broke|breaks|crashed|throttled|stopped|failed|hit|interrupted|affected|damaged|drained|rebooted|hung|took down|brought down|took out|idled|wasted)"
    r" (?:all |its |the |all of )*$"
)
_PART_OF = lazy.compile(
    rf"(?i)(?:{HOLE}|\b(?:one|two|three|four|some|none|all|each|any|every|both|half|most|out))(?: out)?(?: of)?(?: the| its| these| the job['’]s| the run['’]s)? $"
)
"""Ahead of a total of which a part is told, or which other rules hold against the rows: `* of * nodes`, `all * ranks`."""

_COUNTED = ("node", "gpu", "rank", "job", "attempt", "user", "step")
_ALL_FREE = lazy.compile(
    rf"(?i)\b(?:all|every one)(?: of)?(?: the| its)?(?: [a-z]+['’]s)? (?P<all>{HOLE}+) (?:gpus|cards)(?: (?:of|on|in|across) [^,;:.{HOLE}]{{1,40}}?)? (?:are|were) (?:all |still )?(?:free|idle|unused)\b"
)
_OF_THOSE = lazy.compile(
    rf"(?i)\b(?:out )?of (?:the |its |all )?(?:[a-z]+['’]s )?{HOLE}+ (?P<noun>nodes|gpus|ranks|jobs|attempts|users|steps)\b[^,;:.{HOLE}]*, (?:only |just )?(?P<part>{HOLE}+) (?:is|are|was|were|had|have)\b"
)
"""`Of * GPUs, * are free`: a part of them, and not of something else."""

_OUT_OF = lazy.compile(rf"(?i)(?P<a>{HOLE}+)(?: out)? of (?:the |its |all )?(?:planned )?(?P<b>{HOLE}+)")


def miscounted(clause: Clause, ledger: Ledger) -> str:
    """Why a number is not how many of it a clause tells; "" where each is."""
    own = clause.own
    for m in _OF_THOSE.finditer(own):
        part = next(g.cells[0] for g in clause.groups if g.start == m.start("part"))
        named = {w for w in _COUNTED if w in part.column}
        if named and not any(m["noun"].lower().startswith(w) for w in named):
            return f"[[{part.ref}]] is {part.column}, and what is told of are {m['noun']}: cite how many of them"
    for m in _OUT_OF.finditer(own):
        a = next(g.cells[-1] for g in clause.groups if g.end == m.end("a"))
        b = next(g.cells[0] for g in clause.groups if g.start == m.start("b"))
        x, y = (size(c.value) if not unit_of(c) and c.column not in SUBJECTS else None for c in (a, b))
        if (a.id, a.row) == (b.id, b.row) and isinstance(x, float) and isinstance(y, float) and x > y:
            return f"[[{a.ref}]] is more than [[{b.ref}]], of which it is told as a part: turn it round"
    for m in _ALL_FREE.finditer(own):
        total = next(g.cells[0] for g in clause.groups if g.start == m.start("all"))
        free = held(ledger, total, "all_free" if total.column == "all_gpus" else "gpus_free")
        if total.value != free:
            return f"[[{total.ref}]] is {total.column}, and not all of them are free: cite how many are"
    for group in clause.groups:
        cell, ahead, behind = group.cells[-1], own[: group.start], own[group.end :]
        if not isinstance(cell.value, int) or isinstance(cell.value, bool):
            continue
        if _WHICH.match(cell.column):
            if _MANY.match(behind) and not _NAMED.search(ahead) and not _all_attempts(cell, behind, ledger):
                return f"[[{cell.ref}]] is {cell.column}, which says which one and not how many: cite a count, or name it as what it is"
            continue
        part = _PART_OF.search(ahead) or of_one_only(own)
        then = _THEN.match(behind) if _is_total(cell, ledger) and not part else None
        if then and (_LOSES.search(ahead) or not _HAS.match(then["then"])):
            return f"[[{cell.ref}]] is how many the job had ({cell.column}), and not of how many that is so: say it of the rows of which it is"
    return ""


def _all_attempts(cell: CellValue, behind: str, ledger: Ledger) -> bool:
    """Whether the number of an attempt is that of the last one, and so their number too."""
    evidence = ledger.get(cell.id)
    numbers = [n for r in range(len(evidence.rows)) if isinstance(n := evidence.value(cell.column, r), int)]
    return (
        cell.column == "attempt" and cell.value == max(numbers) and bool(re.match(r"(?i) (?:attempts|tries)\b", behind))
    )


def _is_total(cell: CellValue, ledger: Ledger) -> bool:
    return cell.column in _TOTALS and ledger.get(cell.id).query in _OF_JOB

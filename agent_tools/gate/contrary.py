"""What a sentence puts the wrong way round in small words: until when, since when, which came first, how many of how many.

Node [[E5.node]] was [[E5.state]] until [[E5.begin_ts]].                   its row says from when on it was
The counter rose first, at [[E6.risen_ts]]; the XID came at [[E7.event_ts]].      the later of two times
A checkpoint was saved at only [[E8.saves]] of its steps.                      the row has as many steps
It ended before all [[E9.total_steps]] planned steps.                          the row's last step is the last that was planned
The loss was at its best, [[E9.best_loss]], at the last step, [[E9.last_step]].     the best was of another step
The loss was [[E9.last_loss]] at step [[E9.last_step]].                          the last finite one, and the reports after it are not finite
Memory rose from [[E4.last_gib]] to [[E4.peak_gib]].                             the last of all is where it went, not where it came from
The job ended after [[E1.elapsed_s]].                                           it runs still
[[E6.all_free]] GPUs are free, all of them on [[E6:2.node]].                     that node's row has none of them
"""

from __future__ import annotations

from itertools import pairwise

from agent_tools.evidence import CellValue, Ledger
from agent_tools.gate.clauses import SUBJECTS, Clause, clauses, held, job_of, size
from agent_tools.gate.machines import of_machine
from agent_tools.gate.order import is_time
from agent_tools.gate.tries import states_of
from agent_tools.gate.vocabulary import means
from agent_tools.gate.words import stems
from agent_tools.references import HOLE, BadReference, marks, masked, resolve
from store import lazy

_UP_TO = lazy.compile(r"(?i)\b(?:until|till|up to|before)(?: the)? $")
_FROM_THEN_ON = ("begin_ts", "since_ts")
"""Times from which on a row is so."""
_WAITED_UNTIL = lazy.compile(
    r"(?i)\b(?:wait\w*|pending|queued?)\b[^,;:]{0,24}\b(?:until|till|up to|before|to) (?:the )?$"
)
_SIDE_OF_LINE = lazy.compile(rf"(?i)\b(?P<w>before|after)\b[^{HOLE};:]*\bin line $")
_OF_EACH = lazy.compile(
    r"(?i)\b(?:were|are|have been|had been|got) (?:both |all |each )?(?P<w>requeued|preempted|evicted|cancelled)\b"
)
_DENIED = lazy.compile(r"(?i)\b(?:not|never|neither|nor|none|no)\b|n['’]t\b")
_SINCE_THEN = lazy.compile(r"(?i)\b(?:ever )?since (?:then|that)\b")
_FIRST_AT = lazy.compile(
    rf"(?i)\b(?:(?:came|rose|was|is|ended|started|failed|died|happened|hit|stopped) first|first (?:came|rose)|was the first to [a-z]+)\b[^{HOLE};]{{0,24}}\b(?:at|on) $"
)
_ONLY_OF = lazy.compile(
    rf"(?i)\b(?:only|just|no more than|as few as|a mere) (?P<n>{HOLE}+) of (?:its|the|all|their)(?: the| its)? (?P<m>{HOLE}+ )?(?P<noun>[a-z]+)\b"
)
_BEFORE_ALL = lazy.compile(
    rf"(?i)\b(?:before|without|short of) (?:(?:doing|reaching|finishing|making|completing) )?all (?:of )?(?:(?:the|its) )?(?P<n>{HOLE}+) (?:planned )?steps\b"
)
_AT_ITS_STEP = lazy.compile(
    r"(?i)^\W*(?:was (?:reached )?|came |stood )?(?:only )?(?:at|in|on) (?:the |its )?(?:very )?(?:(?:first|last|best|final) )?step\W*$"
)
_WHICH = lazy.compile(r"^(first|last_good|last|best|highest)_(loss|grad_norm)$")
_HAD_A_LOSS = lazy.compile(r"(?i)^,? (?:the |its )?(?:(?:had|with) a )?loss (?:was|is|of|stood at|came to) $")
_NOT_FINITE = ("trailing_bad", "nan_losses")
_FROM_THE_LAST = lazy.compile(
    rf"(?i)\b(?:rose|risen|rising|grew|grown|climbed|increased|jumped|fell|fallen|falling|dropped|decreased|declined|sank|went (?:up|down)|came down)"
    rf"(?: back)? from (?:(?:a|an|its|the) (?:[a-z]+ ){{1,2}}of )?(?P<a>{HOLE}+) to (?:(?:a|an|its|the) (?:[a-z]+ ){{1,2}}of )?(?P<b>{HOLE}+)"
)
_OF_LAST = lazy.compile(r"^(?:last|end|final)_(?!good_|finite_)")
_IS_OVER = lazy.compile(
    r"(?i)\b(?:(?:the|this) (?:job|run)|^\W*it) (?:has |had |then |itself |soon )*(?:ended|finished|completed|failed|crashed|died|timed out|was (?:cancelled|canceled|killed|over))\b"
)
_NOT_YET = lazy.compile(r"(?i)\b(?:not|never|no|none|nothing|before|until|unless|if|whether|once|when)\b|n['’]t\b")
_GOES_ON = frozenset({"RUNNING", "PENDING", "SUSPENDED"})
_BEFORE_LIFE = lazy.compile(
    r"(?i)\b(?:crashed|failed|ended|died|finished|completed|stopped|hung|ran|trained|(?:was|were) (?:killed|cancelled)) (?:even )?before (?:(?:it|the job|the run) (?:was|had been) submitted|(?:its|the) submission)\b"
)
_MACHINE_DID = lazy.compile(
    rf"(?i)\b(?:node|host|machine)(?: {HOLE}+)? (?:had |has |then )*(?:crashed|hung|died|froze)\b"
)
_ALL_THERE = lazy.compile(
    rf"(?i)\b(?P<w>all|both|each|every one)(?: of (?:them|these|those|which))?(?: (?:are|were|is|was|sit|lie))? (?:on|in|at) (?:(?:the )?(?:nodes?|hosts?) )?(?P<c>{HOLE}+)"
)


def contrary(text: str, ledger: Ledger) -> str:
    """Why a sentence says the contrary of what its rows say; "" where it does not, or nothing tells."""
    for clause in clauses(text, ledger):
        if (
            why := _until(clause, ledger)
            or _in_lines(clause, ledger)
            or _of_each(clause, ledger)
            or _of_all(clause, ledger)
            or _at_step(clause, ledger)
            or _from_the_last(clause)
            or _is_over(clause, ledger)
            or _all_there(clause, ledger)
            or _not_its_doing(clause, ledger)
        ):
            return why
    return _since_then(text) or _first(text, ledger)


def _of_each(clause: Clause, ledger: Ledger) -> str:
    """What is told of several attempts or jobs, of which one ended otherwise by its row: `both attempts were requeued, * and *`."""
    m = _OF_EACH.search(clause.own)
    several = [g for g in clause.groups if g.column in ("attempt", "job_id") and len(g.cells) > 1]
    if m is None or not several or _DENIED.search(clause.own):
        return ""
    for cell in (c for g in several for c in g.cells):
        state = held(ledger, cell, "state")
        if isinstance(state, str) and not means(m["w"], state):
            return f"{m['w']!r} is not how the row of [[{cell.ref}]] ended: say of each what its own row says"
    return ""


def _in_lines(clause: Clause, ledger: Ledger) -> str:
    """What is put before or after another thing by their lines of one log, which stand the other way round."""
    lines = [(g, g.cells[0]) for g in clause.groups if g.cells[0].column == "line_no"]
    for (g, a), (h, b) in pairwise(lines):
        word = _SIDE_OF_LINE.search(clause.own[g.end : h.start])
        if word is None or a.id != b.id or held(ledger, a, "file") != held(ledger, b, "file"):
            continue
        x, y = size(a.value), size(b.value)
        early = word["w"].lower() == "before"
        if isinstance(x, float) and isinstance(y, float) and (x >= y if early else x <= y):
            return f"{word['w']!r}: line [[{a.ref}]] is not {word['w'].lower()} line [[{b.ref}]]: turn it round"
    return ""


def _until(clause: Clause, ledger: Ledger) -> str:
    """A state that is told to have lasted up to the time at which it began."""
    for group in clause.groups:
        cell = group.cells[0]
        if cell.column in ("submit_ts", "eligible_ts") and _WAITED_UNTIL.search(clause.own[: group.start]):
            return f"[[{cell.ref}]] is when it began to wait: say since when it waited, or cite its start"
        if cell.column not in _FROM_THEN_ON or not (word := _UP_TO.search(clause.own[: group.start])):
            continue
        ahead = [c for g in clause.groups if g.end <= word.start() for c in g.cells]
        if any((c.id, c.row) == (cell.id, cell.row) and c.column in ("state", "reason") for c in ahead):
            return f"{word[0].strip()!r}: [[{cell.ref}]] is when that began: say from when on it was, or cite the end"
    return ""


def _since_then(text: str) -> str:
    """`since then` of nothing that was told before."""
    own = masked(text)
    found = _SINCE_THEN.search(own)
    if found is None or HOLE in own[: found.start()]:
        return ""
    return f"{found[0]!r}: no moment was told before it: cite the time or the step since when it is so"


def _first(text: str, ledger: Ledger) -> str:
    """What is told to have come first, at a time, where the sentence has an earlier one."""
    own = masked(text)
    times: list[tuple[int, CellValue]] = []
    for mark in marks(text):
        try:
            cell = resolve(mark.ref, ledger)
        except BadReference:
            continue
        if is_time(cell):
            times.append((mark.start, cell))
    for at, cell in times:
        if not _FIRST_AT.search(own[:at]):
            continue
        earlier = [c for _, c in times if c is not cell and str(c.value) < str(cell.value)]
        if len(times) > 1 and earlier:
            return f"[[{earlier[0].ref}]] came before [[{cell.ref}]]: tell them in the order in which they came"
    return ""


def _of_all(clause: Clause, ledger: Ledger) -> str:
    """`only * of its steps`, where the row has no more of them; and `before all * steps`, where the last of them was made."""
    for m in _ONLY_OF.finditer(clause.own):
        cell = next((g.cells[0] for g in clause.groups if g.start == m.start("n")), None)
        total = next((g.cells[0] for g in clause.groups if m["m"] and g.start == m.start("m")), None)
        many = total.value if total else held(ledger, cell, m["noun"].lower()) if cell else None
        if cell is None or not isinstance(many, (int, float)) or not isinstance(cell.value, (int, float)):
            continue
        if cell.value >= many:
            return f"[[{cell.ref}]] is as many as there are of them: say that it is all of them"
    for m in _BEFORE_ALL.finditer(clause.own):
        cell = next((g.cells[0] for g in clause.groups if g.start == m.start("n")), None)
        if cell is not None and cell.column == "total_steps":
            done, total_steps = size(held(ledger, cell, "last_step")), size(cell.value)
            if not isinstance(done, float) or not isinstance(total_steps, float) or done >= total_steps:
                return f"{m[0].split()[0]!r}: nothing tells that [[{cell.ref}]] steps were not made: cite the last step beside them"
    return ""


def _at_step(clause: Clause, ledger: Ledger) -> str:
    """One of a curve's measures that is put to the step of another of them, or the last finite loss to a later step."""
    for first, second in pairwise(clause.groups):
        between = clause.own[first.end : second.start]
        turned = first.column.endswith("_step")
        a, b = (second.cells[0], first.cells[-1]) if turned else (first.cells[-1], second.cells[0])
        which = _WHICH.match(a.column)
        if which is None or not b.column.endswith("_step") or (a.id, a.row) != (b.id, b.row):
            continue
        if not (_HAD_A_LOSS if turned else _AT_ITS_STEP).match(between):
            continue
        own = held(ledger, a, f"{which[1]}_step")
        if a.column == "last_loss" and any(held(ledger, a, n) for n in _NOT_FINITE):
            own = held(ledger, a, "last_good_step") or 0
        if own is not None and own != b.value:
            return f"[[{a.ref}]] was not at step [[{b.ref}]]: cite its own step"
    return ""


def _from_the_last(clause: Clause) -> str:
    """The last figure of a measure, told as where it came from."""
    for m in _FROM_THE_LAST.finditer(clause.own):
        a, b = (next((g.cells[0] for g in clause.groups if g.start == m.start(n)), None) for n in ("a", "b"))
        if a and b and (a.id, a.row) == (b.id, b.row) and _OF_LAST.match(a.column) and not _OF_LAST.match(b.column):
            return f"[[{a.ref}]] is where it went, and not where it came from: turn it round"
    return ""


def _is_over(clause: Clause, ledger: Ledger) -> str:
    """A job that has one attempt, which goes on, told as one that is over."""
    m = _IS_OVER.search(clause.own)
    if m is None or _NOT_YET.search(clause.own[: m.end()]) or any(g.column == "job_id" for g in clause.groups):
        return ""
    for cell in (
        c for g in clause.groups for c in g.cells if not (g.subject and m[0].strip().lower().startswith("it "))
    ):
        states = states_of(job_of(ledger, cell), ledger)
        if len(states) == 1 and set(states.values()) <= _GOES_ON and held(ledger, cell, "same_job") is not False:
            return f"{m[0].strip()!r}: by accounting the job of [[{cell.ref}]] is {states[1]}: say how far it has come"
    return ""


def _not_its_doing(clause: Clause, ledger: Ledger) -> str:
    """An end that came before there was a job, and a crash of a node beside nothing that befell a machine."""
    if m := _BEFORE_LIFE.search(clause.own):
        return f"{m[0]!r}: a job that was not submitted does nothing: cite when it was"
    m = _MACHINE_DID.search(clause.own)
    cells = [c for g in clause.groups for c in g.cells]
    if m is None or _DENIED.search(clause.own[: m.end()]) or any(of_machine(ledger.get(c.id), c.row) for c in cells):
        return ""
    return (
        f"{m[0].strip()!r}: no cell beside it is of what befell a node: cite one that is, or say what the program did"
    )


def _all_there(clause: Clause, ledger: Ledger) -> str:
    """How many there are of something, all of them on nodes whose rows do not have as many of it."""
    for m in _ALL_THERE.finditer(clause.own):
        group = next((g for g in clause.groups if g.start == m.start("c")), None)
        ahead = [c for g in clause.groups if g.end <= m.start() and not g.subject for c in g.cells]
        count = next(
            (c for c in ahead if group and c.id == group.cells[0].id and isinstance(size(c.value), float)), None
        )
        if group is None or count is None or not group.subject:
            continue
        evidence = ledger.get(count.id)
        rows = {c.row for c in group.cells}
        if len(evidence.rows) <= len(rows):
            continue
        said = stems(f"{clause.own} {count.column.replace('_', ' ')}")
        like = stems(count.column.replace("_", " "))
        names = [c.name for c in evidence.columns if c.name not in SUBJECTS and not c.name.startswith("all_")]
        own = [n for n in names if (of := stems(n.replace("_", " "))) <= said and of & like]
        sums = [sum(v for r in rows if isinstance(v := size(evidence.value(n, r)), float)) for n in own]
        if not any(s == size(count.value) for s in sums):
            return f"{m['w']!r}: the rows of [[{group.cells[0].ref}]] do not have [[{count.ref}]] of it between them: name those that have"
    return ""

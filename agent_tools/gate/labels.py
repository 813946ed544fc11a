"""Is a cell called what it is? `16 nodes` of a column that counts GPUs is false, however true the sixteen.

`mislabelled` in `grounds` knows names of columns that were shown; here are the things that a cluster consists of.
"""

from __future__ import annotations

import re

from agent_tools.evidence import CellValue, Ledger
from agent_tools.facts.ending import FAILED_STATES
from agent_tools.formats import unit_of
from agent_tools.gate.called import done_to, miscalled, saved_at, since_start
from agent_tools.gate.clauses import SUBJECTS, TIME, held
from agent_tools.gate.grounds import OFTEN
from agent_tools.gate.words import spoken_of, stem, stems
from agent_tools.references import HOLE, BadReference, marks, masked, resolve
from store import lazy

_THINGS: dict[str, str] = {
    r"ranks?": r"rank",
    r"nodes?|hosts?|machines?|servers?": r"node|host|machine|server|where|machine",
    r"gpus?|cards?": r"gpu|device|uuid|card|minor|bus",
    r"users?": r"user|owner|sender|who|_by$|account",
    r"jobs?": r"job|run|name|state",
    r"steps?": r"step|iteration|batch",
    r"epochs?": r"epoch",
    r"attempts?": r"attempt|restart|requeue|tries|run",
    r"loss": r"loss",
    r"partition": r"partition|queue",
    r"xids?": r"xid|code",
    r"temperatures?": r"temp|celsius|degree",
    r"power": r"power|watt|_w$",
    r"learning rate": r"lr|learning",
    r"exit (?:status|code)|exited with|exit": r"exit|code|status|return",
    r"signal": r"signal|sig",
}
"""What a noun beside a cell says it is, and what its column's name or description then has."""

_TEXT = lazy.compile(r"message|text|reason|words|detail|command|line$|path|file")
"""Columns that hold a text: after a colon it is quoted, and not called what stands before."""
_BEGINS = lazy.compile(
    r"(?i)\b(?:start(?:s|ed|ing)?|began|begins?|begun|beginning|running|runs|goes|going|stays|remains|still|continu\w+)\b(?!.*\b(?:and|but|ended|ends|as it)\b)"
)
_SINCE = lazy.compile(r"(?i)\s*(?:from|since)\b[^,;]*$")
_RUNNING = lazy.compile(
    r"(?i)\b(?:is|are) (?:\w+ )?(?:running|waiting|queued|pending|(?:on |within |in )(?:its|their|the) run)\b|\bstill (?:runs?|running|goes)\b"
    r"|\b(?:is|are) still (?:allocated|assigned|reserved|held|busy|in use|occupied|blocked)\b|\b(?:is|are) (?:\w+ )?on (?:the |its )?(?:nodes?|hosts?|machines?)\b|\bholds? (?:the )?job \*"
)
_WAITS = lazy.compile(r"(?i)\b(?:waiting|queued|pending)\b")
_OVER = {"COMPLETED", *FAILED_STATES}
"""States in which nothing runs any more."""
_WAITING = {"PENDING", "REQUEUED", "REQUEUE_HOLD", "SPECIAL_EXIT"}
"""States in which nothing runs yet."""
_TOOK = lazy.compile(
    r"(?i)\b(?:an?|each|every|one|the average) (epochs?|steps?|iterations?|batch|save|checkpoint|launch|collective) (?:took|takes|lasted|lasts|needed|needs)\b[^,;]{0,20}$"
)
_WERE = lazy.compile(
    rf"(?i)[{HOLE}]* (?:(?:(?:was|were|is|are|had been) )(?:already |still |only |then )?([a-z]+)|(free|allocated|reserved|requested|used|available|needed))\b"
)
_TRIED = lazy.compile(
    r"(?i)\b(?:tried|tries|trying|wanted|attempted|failed) to (?P<asked>[a-z]+) (?:about |another |only )?$"
)
"""Ahead of what one was asked for, and did not get."""
_OF_IT = lazy.compile(r"(?i)\s+(?:out )?of (?:the |its )?")
"""Between a part and its whole."""
_THE_OF = lazy.compile(r"(?i)\b(?:the|its) ([a-z]+) of $")
_HOLDS = lazy.compile(
    r"(?i)\b(?:holds?|held|uses?|used|occup\w+|runs? (?:on|with)|ran (?:on|with)|running (?:on|with)|has|had|took|got|was given|received|using) (?:all )?$"
)
_SPANS = tuple(
    (lazy.compile(verb), lazy.compile(columns))
    for verb, columns in (
        (
            r"(?i)\b(?:rendezvous|collective|connections?|sockets?|store|barrier|handshake|all-?reduce)\b[^,;:.]{0,24}\btimed out (?:after|at|within)\s*$",
            r"elapsed|lived|wait|quiet",
        ),
        (
            r"(?i)\b(?:ran|runs?|took|takes|lasted|ended|finished|stopped|failed) (?:for|after|within|in )?\s*$",
            r"limit|wait|quiet|needed|watched",
        ),
        (
            r"(?i)\b(?:started|began|starts|begins|waited|waits) (?:for|after|within|in )?\s*$",
            r"limit|elapsed|lived|span|run_",
        ),
        (
            r"(?i)\b(?:reached|reaches|ran to|got to|ended at|stopped at|came to|went to|at|after) (?:step|epoch) $",
            r"total|limit|asked",
        ),
        (
            r"(?i)\b(?:preempted|cancelled|killed|died|crashed|hung|evicted) (?:for|after|within|in )?\s*$",
            r"wait|needed",
        ),
        (
            rf"(?i)\b(?:held|kept|occupied|blocked|ran|lasted|trained|worked|computed)\b[^,;:.{HOLE}]{{0,30}} for $",
            r"limit|wait",
        ),
        (
            r"(?i)\b(?:pending|queued|held back|in the queue) (?:for|after|during )?\s*$",
            r"limit|elapsed|lived|span|run_",
        ),
        (
            r"(?i)\b(?:running|training|alive|idle|hung|hanging|silent|quiet|stalled|stuck|suspended|up|busy|throttled|slowed) (?:for|after)\s*$",
            r"limit|wait|watched",
        ),
        (
            r"(?i)(?<!not )(?<!never )\b(?:resumed|continued|restarted|loaded|picked up|went on|started|began|started over)(?: again| training)? (?:from|at|with) (?:step|epoch|checkpoint|iteration) $",
            r"total|limit|asked",
        ),
    )
)
"""What a verb says that a span or a step is, and the columns that are something else: what was planned, allowed or waited."""

_USED = lazy.compile(
    r"(?i)\b(?:used|uses|consumed|consumes|filled|exhausted|needed|took|peaked at|grew to)(?: up)?(?: about| all| only)? (?:of )?$"
)
_USED_UP = lazy.compile(
    r"(?i) (?:of memory )?(?:was|were|had been) (?:all |fully )?(?:used|exhausted|consumed|filled|needed)\b"
)
_BY_HOW_MUCH = lazy.compile(
    r"(?i)\b(?:rises?|rose|risen|grows?|grew|grown|increased?|climbed|falls?|fell|fallen|dropped|drops?|decreased?|declined|sank|went (?:up|down)) by (?:about |only )?$"
)
_CHANGE = lazy.compile(
    r"ris|grow|grew|increas|climb|fall|fell|drop|decreas|declin|chang|delta|diff|gain|lost|given_back|added|more|less"
)
"""Ahead of how much something changed; and what the name or description of that says."""
_OF_LIMIT = lazy.compile(r"(?i) of (?:(?:its|the|their) (?:time |memory )?limit|it(?=\W*$))\b")
"""Behind a share of a limit: that much of it was used."""
_BESIDE_EDGE = lazy.compile(
    r"(?i) (?:after|before) (?:the |its |their )?(?:job's |run's )?(?:start|beginning|launch|submission|submitting|end|it (?:started|began|ended|was submitted))\b"
)
_AFTER_EVENT = lazy.compile(
    r"(?i) (?:after|later than|from|since) (?:the |its |their )?(?:[a-z]+'s )?(?:(?:job|run|attempt|it) (?:had )?(?:been |was )?)?(?P<e>submi\w+|start\w*|beg\w+|end\w*|preempt\w+|requeue\w*)\b"
)
_TO_END = r"end|last|since|before|after|until|quiet|silen|left"
_TO_START = r"start|begin|launch|submi|first|since|before|after|until"
"""What the name or description of a span says that runs up to an end of a life, or from its beginning."""
_NOT_FROM: tuple[tuple[re.Pattern[str], str], ...] = (
    (lazy.compile(r"(?i) after .*(?:submi\w+)$"), r"elapsed|limit|quiet"),
    (lazy.compile(r"(?i) after .*(?:start\w*|beg[ai]n\w*|launch)$"), r"wait|limit|quiet"),
    (lazy.compile(r"(?i) before .*(?:start\w*|beg[ai]n\w*|launch|submi\w+)$"), r"elapsed|limit|quiet"),
    (lazy.compile(r""), r"wait|elapsed|limit"),
)
"""A span is told from a moment on, or up to one; and the columns that are spans of something else."""

_WAS = lazy.compile(
    r"(?i),? (?:(?:which|that) )?(?:is|are|was|were|has|have|had|has been|had been|went|ended|ends|goes|turned)(?: as| in| to| now| then)? "
)
_MACHINES = lazy.compile(r"^(?:node|host|gpu|rank)(?:_|$)")
"""Who has no state of a job, and what would give them one."""
_GENERIC = lazy.compile(
    r"^(?:value|name|what|text|message|key|n|num|number|count|cnt|total|detail|label|title|kind|word|item|result|answer)s?$"
)
_AHEAD = lazy.compile(
    rf"(?i)\b({'|'.join(_THINGS)})(?: (?:number|id|name))?(?: (?:is|was|were|called|named|at|with))?(?: ?[=:#])? ?$"
)
_BEHIND = lazy.compile(
    r"(?i) (?:different |distinct |separate )?(ranks?|nodes|hosts|machines|gpus|cards|users|jobs|steps|epochs|attempts|times)\b"
)
_ONE = lazy.compile(r"(?i)\b(rank|node|host|machine|gpu|card|attempt|job|user)(?: (?:number|id))?(?: ?[=:#])? $")
_MANY = lazy.compile(
    r"^(?:ranks|nodes|hosts|machines|gpus|cards|attempts|jobs|users)\b|_count\b|(?i:\bhow many\b|\bnumber of\b)"
)
"""A noun in the singular names one; and columns that say how many there are."""
_BEGAN = lazy.compile(r"(?i)\b(?:start\w*|began|begun|begin\w*|submitted|launched)(?: (?:at|on))? ?:? ?$")
_SET_IN = lazy.compile(
    r"(?i)\b(?:started|began|begins|starts) to [a-z]+(?: [a-z]+)? (?:at|on) $|\b(?:set in|first (?:seen|printed|came|raised|throttled|hit))(?: at| on) $"
)
_ENDED = lazy.compile(r"(?i)\b(?:end|ended|ends|ending|finished|stopped|died|over)(?: (?:at|on))? ?:? ?$")
_OF_BEGIN, _OF_END = (
    lazy.compile(r"start|begin|began|submit|eligible"),
    lazy.compile(r"(?:^|_)(?:end|ended|finish\w*|stop\w*)(?:_|$)"),
)
_JOB_BEGAN = lazy.compile(rf"(?i)\b(?:job|run|attempt)(?: {HOLE}+)? (?:started|began) at $")
_NO_BEGIN, _NO_END = lazy.compile(r"^(?:first|last|since|until|signal|progress)_"), lazy.compile(r"^(?:first|since)_")
"""Of something within a job, not of the job itself."""
_PER = lazy.compile(rf"[^{HOLE}.,;:]{{0,24}}\b(?:per|each|every) ([a-z]+)")
_LOG_BEGAN = lazy.compile(
    r"(?i)\b(?:training|reports?|progress)(?: itself)? (?:start(?:s|ed)?|began|begins) (?:at|on) $"
)
_TRAINED = lazy.compile(
    r"(?i)\b(?:training|reports?|progress|the loss|steps)(?: itself)? (?:went on|goes on|ran|lasted|continued|kept going|stopped|ended|ceased|stalled|halted)(?: \w+)? ?(?:until|till|up to|at|to)? ?$"
)
_DENIED = lazy.compile(r"(?i)(?:^|[:;,]) ?no [^:;]*")
"""What a description says that a cell is not: `no run makes more steps than that`."""
_OF_STEPS = lazy.compile(r"(?:^|_)(?:steps?|epoch|loss|reports|progress|line|line_no)(?:_|$)")
"""Columns of answers that were read from a run's own reports."""
_COUNTED = lazy.compile(r"gpu|node|rank|user|step|epoch|line|rank")


def mislabelled(text: str, ledger: Ledger) -> str:
    """Why a cell is not what the words beside it call it; "" where each is."""
    own = masked(text)
    last: tuple[int, frozenset[str]] = (0, frozenset())
    before = ""
    for mark in marks(text):
        try:
            cell = resolve(mark.ref, ledger)
        except BadReference:
            continue
        whose, before = before, cell.column
        between = own[last[0] : mark.start]
        part = last[1] if _OF_IT.fullmatch(between) else frozenset[str]()
        last = mark.end, stems(f"{cell.column} {cell.doc}")
        ahead, behind = own[: mark.start], own[mark.end :]
        wrong = miscalled(cell, ahead, behind, ledger)
        if not wrong and not _GENERIC.match(cell.column):
            wrong = (
                _named(cell, ahead, behind)
                or _not_its(cell, whose, between)
                or _timed(cell, ahead, ledger)
                or _spanned(cell, ahead, ledger)
                or _goes_on(cell, ahead, behind, ledger)
                or _each(cell, behind)
                or _used(cell, ahead, behind)
                or _since_first(cell, behind, ledger)
                or _lasted(cell, ahead)
                or _changed(cell, ahead)
                or _predicated(cell, ahead, behind, part, ledger)
                or saved_at(cell, ahead, ledger)
            )
        if wrong:
            about = f" ({cell.doc})" if cell.doc else ""
            return f"[[{mark.ref}]] is {cell.column}{about}, and the words beside it say {wrong!r}: cite the cell of that, or name this one"
    return ""


def _named(cell: CellValue, ahead: str, behind: str) -> str:
    said = f"{cell.column} {_DENIED.sub('', cell.doc)}".lower()
    number = isinstance(cell.value, (int, float)) and not isinstance(cell.value, bool)
    if number and (((own := _BEHIND.match(behind)) and _is(own[1], said)) or done_to(cell, ahead, behind)):
        return ""
    found = _AHEAD.search(ahead)
    if number and found and _MANY.search(f"{cell.column} {cell.doc}") and (one := _ONE.search(ahead)):
        return one[1]  # "on rank *" of a column that says how many ranks
    placed = found and isinstance(cell.value, str) and re.search(r"(?i) at ?$", found[0]) and TIME.match(cell.value)
    quoted = found and found[0].rstrip().endswith(":") and _TEXT.search(cell.column)
    stated = found and cell.column == "state" and re.search(r"(?i) (?:is|was|were) ?$", found[0])
    if number and cell.column.endswith("signal") and (code := re.search(r"(?i)\b(?:exit )?(?:code|status) $", ahead)):
        return code[0].strip()
    counted = (
        found and re.search(r"(?i)(?:with|at) $", found[0]) and ahead[: found.start()].endswith(f"{HOLE} ")
    )  # "* ranks with *"
    if found and not counted and not placed and not quoted and not stated and not _is(found[1], said):
        return found[1]
    if number and (found := _BEHIND.match(behind)):
        if found[1].lower() == "times":
            counts = not _COUNTED.search(cell.column) or re.search(r"(?i)count|n_|times", said)
            done = re.search(r"([A-Za-z]{3,}ed) $", ahead)
            of_it = done is None or OFTEN.search(said) is not None or spoken_of(done[1], stems(said))
            return "" if counts and of_it else found[1]
        return "" if _is(found[1], said) else found[1]
    return ""


def _not_its(cell: CellValue, whose: str, between: str) -> str:
    """A job's state, or Slurm's reason of it, that is told of a machine or a rank beside it: `Node [[E1.node_list]] was [[E1.state]]`."""
    of_job = cell.column == "state" and cell.value in _OVER | _WAITING | {"RUNNING"}
    of_job = of_job or cell.column == "state_reason"
    found = _WAS.fullmatch(between) if of_job and _MACHINES.search(whose) else None
    return f"{whose} {found[0].strip()}" if found else ""


def _is(noun: str, said: str) -> bool:
    return any(re.fullmatch(name, noun.lower()) and re.search(columns, said) for name, columns in _THINGS.items())


def _spanned(cell: CellValue, ahead: str, ledger: Ledger) -> str:
    """A span or a step that was planned, allowed or waited, told as the one that passed; unless the row has them equal."""
    if not isinstance(cell.value, (int, float)) or isinstance(cell.value, bool):
        return ""
    columns = ledger.get(cell.id).columns
    tail = cell.column.rpartition("_")[2]
    names = [c.name for c in columns if c.unit == cell.unit and (c.unit or c.name.rpartition("_")[2] == tail)]
    for verb, others in _SPANS:
        if (found := verb.search(ahead)) and others.search(cell.column):
            equal = any(held(ledger, cell, n) == cell.value for n in names if not others.search(n) and n != cell.column)
            if not equal:
                return found[0].strip()
    return ""


def _each(cell: CellValue, behind: str) -> str:
    """A figure of a whole that is told as one of each: `310 s per step`."""
    found = _PER.match(behind) if isinstance(cell.value, (int, float)) and not isinstance(cell.value, bool) else None
    said = f"{cell.column} {cell.unit} {cell.doc}".lower()
    if (
        found is None
        or "/" in cell.unit
        or re.search(rf"per_|_per|\bper\b|\beach\b|\bof (?:a|one) {found[1][:4]}", said)
    ):
        return ""
    return found[0].strip()


def _used(cell: CellValue, ahead: str, behind: str) -> str:
    """What was asked for or allowed, told as what was used; and a span that is put behind a moment which it does not follow."""
    said = f"{cell.column} {cell.doc}".lower()
    asked = re.search(r"request|limit|reserved", said) and not re.search(r"used|peak|rss|current", said)
    asked = asked and not (unit_of(cell) == "ratio" and _OF_LIMIT.match(behind))
    if asked and (found := _USED.search(ahead) or _USED_UP.match(behind)):
        return found[0].strip()
    if (
        unit_of(cell) in ("s", "min", "h")
        and not since_start(cell, ahead, behind)
        and (found := _BESIDE_EDGE.match(behind))
    ):
        other = next(columns for edge, columns in _NOT_FROM if edge.match(found[0]))
        at_end = re.search(r"(?i)end(?:ed)?$", found[0].strip()) is not None
        told = re.search(_TO_END if at_end else _TO_START, said)
        return found[0].strip() if re.search(other, cell.column) or (cell.doc and not told) else ""
    return ""


def _since_first(cell: CellValue, behind: str, ledger: Ledger) -> str:
    """A span since the first event that is told as one since another."""
    found = _AFTER_EVENT.match(behind) if cell.column == "after_s" else None
    evidence = ledger.get(cell.id)
    if found is None or not any(c.name == "event" for c in evidence.columns):
        return ""
    first = stem(str(evidence.value("event", 0)))
    return "" if found["e"].lower()[:4] == first[:4] else found[0].strip()


def _lasted(cell: CellValue, ahead: str) -> str:
    """The time of one thing told as that of another: `An epoch took [[E7.step_time_s]]`."""
    found = _TOOK.search(ahead) if unit_of(cell) in ("s", "ms", "us", "min", "h") else None
    said = f"{cell.column} {cell.doc}".lower()
    return "" if found is None or found[1].lower()[:5] in said else found[0].strip()


def _changed(cell: CellValue, ahead: str) -> str:
    """A value that is told as how much it changed: `rose by [[E8.last_value]]`."""
    found = _BY_HOW_MUCH.search(ahead)
    return found[0].strip() if found and not _CHANGE.search(f"{cell.column} {cell.doc}".lower()) else ""


def _predicated(cell: CellValue, ahead: str, behind: str, part: frozenset[str], ledger: Ledger) -> str:
    """A figure that is given the name of its neighbour: `[[E5.free_gib]] were requested`, `the limit of [[E6.peak_gib]]`.

    `part`: of `* of * were free` what the first one is, which is what is free."""
    number = isinstance(cell.value, (int, float)) and not isinstance(cell.value, bool)
    if cell.column in SUBJECTS or not number:
        return ""
    same = [c.name for c in ledger.get(cell.id).columns if c.unit == cell.unit and c.name != cell.column]
    others = [stems(n) for n in same if not n.endswith("_ts")]
    if (tried := _TRIED.search(ahead)) and "request" not in cell.column and any("request" in n for n in same):
        return tried[0].strip()
    first = " ".join(cell.doc.split()[:2])  # "highest memory, its limit apart" is no limit
    for found, doc in ((_WERE.match(behind), cell.doc), (_THE_OF.search(ahead), first)):
        said = next((w for w in found.groups() if w), "") if found else ""
        if not said or stem(said) in stems(f"{cell.column} {doc}") or (part and stem(said) in part):
            continue
        if any(stem(said) in o for o in others):
            return said
    return ""


def _goes_on(cell: CellValue, ahead: str, behind: str, ledger: Ledger) -> str:
    """What is over, told as something that begins or goes on."""
    own = ahead.rpartition(HOLE)[2]
    if cell.value in _OVER and ((found := _BEGINS.search(own)) or (found := _SINCE.match(behind))):
        return found[0].strip()
    states = {v for n in ("state", "end_ts") if (v := held(ledger, cell, n)) is not None}
    waits = held(ledger, cell, "state") in _WAITING
    found = _RUNNING.search(f"{own}*{behind}") if waits or states & _OVER else None
    if found and not (_WAITS.search(found[0]) and "PENDING" in states):
        return found[0]
    waits = waits and held(ledger, cell, "start_ts") is None  # one that was sent back has run before
    if waits and re.match(r"gpus|cpus|node|memory", cell.column) and (found := _HOLDS.search(ahead)):
        return found[0].strip()  # what is asked for by one that waits
    return ""


def _timed(cell: CellValue, ahead: str, ledger: Ledger) -> str:
    """A beginning that is called an end, or the other way round."""
    if not (isinstance(cell.value, str) and re.match(r"\d{4}-\d\d-\d\d[T ]", cell.value)):
        return ""
    name = cell.column.lower()
    if (found := _LOG_BEGAN.search(ahead)) and name == "start_ts":
        return found[0].strip()
    names = [c.name for c in ledger.get(cell.id).columns]
    if (found := _TRAINED.search(ahead)) and not any(_OF_STEPS.search(n) for n in names):
        return found[0].strip()  # the last sample of a probe, or the job's own end
    for word, wrong, right in ((_JOB_BEGAN, _NO_BEGIN, _OF_BEGIN), (_ENDED, _NO_END, _OF_END)):
        if (found := word.search(ahead)) and wrong.search(name) and not right.search(name):
            return found[0].strip()
    at = re.match(r"last_|until_", name)
    if at and (found := _BEGAN.search(ahead) or _SET_IN.search(ahead)):
        others = [held(ledger, cell, f"{n}_ts") for n in ("first", "begin", "since", "start")]
        if any(v is not None and v != cell.value for v in others):
            return found[0].strip()  # the last of several moments
    for word, wrong, right in ((_BEGAN, _OF_END, _OF_BEGIN), (_ENDED, _OF_BEGIN, _OF_END)):
        if (found := word.search(ahead)) and wrong.search(name) and not right.search(name):
            return found[0].strip()
    return ""

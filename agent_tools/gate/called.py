"""Is a figure the one of its row that the words beside it name, or a neighbour of that one?

    The gradient norm ended at [[E7.highest_grad_norm]].      the highest of all, and no last one
    The limit was [[E5.peak_gib]].                            the row has a limit of its own
    It was ended by signal [[E1.exit_signal]].                of a zero: there was none

`labels` asks whether a noun can be the cell's at all; here the row tells what else it could be.
"""

from __future__ import annotations

import re

from agent_tools.evidence import CellValue, Ledger
from agent_tools.formats import unit_of
from agent_tools.gate.clauses import SUBJECTS, held, job_of
from agent_tools.gate.words import stem, stems
from agent_tools.references import HOLE
from store import lazy

_OF_A = r"(?: (?:an?|the|its) (?:[a-z]+ ){1,3}of)? $"
_ENDS = lazy.compile(
    rf"(?i)\b(?:ended|ends|finished|finishes|closed|concluded|settled|left off)(?: (?:up|off))? (?:at|with|on|near){_OF_A}"
)
_BEGINS = lazy.compile(
    rf"(?i)\b(?:started|starts|began|begins|begun|opened|opens|set out|set off)(?: (?:out|off))? (?:at|with|on|from|near){_OF_A}"
)
_WHOLE = "highest|max|peak|lowest|min|best|mean|avg|median|total"
_NOT_LAST, _NOT_FIRST = (
    lazy.compile(rf"^(?P<of>first|start|begin|{_WHOLE})_(?P<what>\w+)$"),
    lazy.compile(rf"^(?P<of>last|end|final|{_WHOLE})_(?P<what>\w+)$"),
)
_SAID_SO = lazy.compile(r"(?i)\b(?:high\w*|peak\w*|max\w*|low\w*|min\w*|best|mean|average|median|total|first|last)\b")
"""Words that say themselves which one of all it is."""
_EDGES = ((_ENDS, _NOT_LAST, ("last", "end", "final")), (_BEGINS, _NOT_FIRST, ("first", "start", "begin")))
_IS_ITS = lazy.compile(
    r"(?i)(?:\b(?:the|its|his|her|their|this)|['’]s)(?: [a-z]+)? (?P<noun>[a-z]+)(?: (?:is|was|were|stood at|came to|amounted to|being))? $"
)
_FIRST_WORDS = 4
"""Of a description: what is behind may be what the cell is not ("highest memory, its limit apart")."""
_SIGNALLED = lazy.compile(
    r"(?i)\b(?:ended|killed|stopped|terminated|died|down|got|gets|gave|received|receives|took|takes|caught|sent|hit|struck)\b[^,;:]{0,12}(?<!exit) signal $"
)
_STRIKES = lazy.compile(r"(?i)^ (?:had |has )?(?:ended|killed|stopped|terminated|hit|struck|reached|came|arrived)\b")
_DERIVED = lazy.compile(r"(?i)\b(?:derived|highest|steps?|srun)\b")
_LASTED = lazy.compile(
    r"(?i)\b(?:took|takes|taken|lasted|lasts|needed|needs|waited|ran|runs)(?: (?:for|about|only|some))* $|\b(?:every|in|after|within|during|for) $"
)
_OF_CARDS, _CARDS = lazy.compile(r"(?:gpu|node|core|cpu)_(?:hours|seconds)"), lazy.compile(r"(?i) ?(?:GPU|card|of GPU)")
"""Hours of several that ran beside each other are no span; and what is said behind where they are told as what they are."""
_REACHED = lazy.compile(
    r"(?i)^ (?:was|were|had been|has been|is) (?:finally |at last )?(?:reached|done|passed|made|completed|finished|run|attained)\b"
)
_AT_STEP = lazy.compile(r"(?i)\b(?P<what>step|epoch|iteration) $")
_PLANNED = lazy.compile(r"(?:^|_)(?:total|limit|asked|planned|target)(?:_|$)")
_ALLOWED = lazy.compile(
    r"(?i)\b(?:(?:asked|asks|asking|applied) for|requested|allowed|granted|allotted|permitted|limited to|capped at|a limit of|an allowance of)(?: (?:up to|only|just|about))? $"
)
_PASSED = lazy.compile(r"(?:^|_)(?:elapsed|lived|quiet|wait|waited|peak|rss|used|span|run|idle)(?:_|$)")
_TEXT_ENDS = lazy.compile(r"(?i)\b(?:ends?|ended|closes|closed|stops|stopped|finishes)(?: (?:at|on|in|with))? line $")
_TEXT_BEGINS = lazy.compile(r"(?i)\b(?:begins?|began|starts?|started|opens|opened)(?: (?:at|on|in|with|from))? line $")
_FIRST_LINES, _LAST_LINES = ("line_no", "first_line"), ("line_end", "last_line", "end_line")
_NAMED = lazy.compile(r"(?i)\b(?P<noun>user|owner|node|host|partition|account|rank) $")
_OWN_COLUMNS = {"owner": ("user",), "host": ("host", "node", "node_list"), "node": ("node", "node_list", "host")}
_SUBMITTED = lazy.compile(
    rf"(?i)^\W? ?(?:had |has |who |then )*(?:submitted|owns|owned|queued|requested) (?:the|this|that|its|job|run|attempt|{HOLE})"
)
_BY = lazy.compile(
    r"(?i)\b(?:submitted|owned|queued|requested|cancelled|canceled) by (?:the |an? )?(?:user |owner |operator |account )?$"
)
_WHO = lazy.compile(r"(?:^|_)(?:user|owner|account|by|who|uid|sender|value|actor|whose)(?:_|$)")
_PLACES = tuple(
    (lazy.compile(rf"(?i)\b(?:the|its|this) (?:{noun})s? (?:is|was|lies|stands)(?: (?:in|at|under))? $"), lazy.compile(of))
    for noun, of in (
        ("log|output", r"log|stdout|stderr|output|(?:^|_)file(?:_|$)"),
        ("checkpoint", r"checkpoint|load|save|resum|(?:^|_)path(?:_|$)"),
        ("script|program|command", r"command|script|submit|frame|program|comm$"),
    )
)  # fmt: skip
_MEASURES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("loss", lazy.compile(r"(?:^|_)loss(?:_|$)")),
    ("gradient norm|grad norm|gradient", lazy.compile(r"(?:^|_)grad(?:_|$)")),
    ("learning rate", lazy.compile(r"(?:^|_)(?:rate|lr)(?:_|$)|learning_rate")),
    ("temperature", lazy.compile(r"(?:^|_)temp(?:_|$)")),
    ("power|power draw", lazy.compile(r"(?:^|_)power(?:_|$)")),
)
_OF_MEASURE = lazy.compile(
    rf"(?i)\b(?:the|its|a|an|training|final) (?P<noun>{'|'.join(n for n, _ in _MEASURES)})\b[^,;:.(){HOLE}]{{0,28}} $"
)
_ENDED_SO = lazy.compile(
    r"(?i)\b(?:ended|ends|failed|stopped|finished|completed|crashed|died|exited|killed|cancelled|canceled|preempted|over)\b[^,;:.]{0,40}$"
)
_OF_OTHER_LIFE = lazy.compile(r"(?i)\b(?:ranks?|nodes?|gpus?|cards?|hosts?|machines?|process(?:es)?|tasks?)\b")
_AFTER_START = lazy.compile(
    r"(?i) after (?:(?:its|the|their) (?:job's |run's |attempt's )?(?:start|beginning|launch)\b|(?:it|the job|the run) (?:had )?(?:started|begun|began|been started)\b)"
)
_DONE_TO = lazy.compile(
    r"(?i)(?:^|[.,;:] |\b(?:slurm|scheduler|controller|it|and|but|then|had|has) )([a-z]{3,}ed) (?:the|its|this|that) (?:job|run|training|attempt) $"
)
_ENDED_AT = lazy.compile(
    r"(?i)\b(?:job|run|training|it|attempt|but|and) (?:stopped|ended|finished|halted|died|crashed|hung|failed|was killed) (?:at|in|with) step $"
)
_OF_SAVE = lazy.compile(
    rf"(?i)\b(?:(?:checkpoint|save|snapshot)s? (?:of|at|for|from)|(?:saved|written|stored|wrote)(?: an?| the| its)?(?: checkpoints?| models?)? (?:at|after|for|of)) (?:the )?steps? (?:{HOLE}+(?:,| and|, and) )*$"
)
_GOT = lazy.compile(r"(?i)\b(?:reached|reaches|got to|came to|went to|ran to|trained to) step $")
_OTHER_STEP = lazy.compile(r"^(?:best|lowest|highest|min|max|first|asked|total)_steps?$")
_USERS = lazy.compile(
    rf"(?i)\b(?:(?:user|owner)['’]s (?:own )?|own |user )(?:code|script|program|frame)\b[^,;:{HOLE}]*$"
)
_IS_NOW = lazy.compile(
    r"(?i)\b(?:is|are)(?: (?:now|still|currently|presently|again|yet|today|in|marked|as|reported|listed))* $|\b(?:remains?|stays?|continues? to be)(?: (?:in|as|marked))? $"
)
_HAS_BEEN, _UNTIL_NOW = (
    lazy.compile(r"(?i)\b(?:has|have) been(?: [a-z]+){0,2} $"),
    lazy.compile(r"(?i)^ (?:ever |all the time )?(?:since|until now|up to now|to this day|for)\b"),
)


def miscalled(cell: CellValue, ahead: str, behind: str, ledger: Ledger) -> str:
    """The words beside a cell that name another one of its row; "" where there are none. `ahead` and `behind` have references as holes."""
    if isinstance(cell.value, str):
        return _of_text(cell, ahead, behind, ledger)
    if isinstance(cell.value, bool) or not isinstance(cell.value, (int, float)):
        return ""
    return (
        _edge(cell, ahead, ledger)
        or _neighbour(cell, ahead, ledger)
        or _signal(cell, ahead, behind, ledger)
        or _spent(cell, ahead, behind, ledger)
        or _line(cell, ahead, ledger)
        or _measure(cell, ahead)
    )


def _edge(cell: CellValue, ahead: str, ledger: Ledger) -> str:
    """What is of the whole, or of the other end, told as what something ended or began with."""
    for verb, wrong, own in _EDGES:
        found, of = verb.search(ahead), wrong.match(cell.column)
        if found is None or of is None or _SAID_SO.search(found[0]):
            continue
        if not any(held(ledger, cell, f"{o}_{of['what']}") == cell.value for o in own):
            return found[0].strip()
    return ""


def _neighbour(cell: CellValue, ahead: str, ledger: Ledger) -> str:
    """`The limit was *` of a peak, where the row has a limit in the same unit."""
    found = _IS_ITS.search(ahead)
    if found is None or cell.column in SUBJECTS:
        return ""
    noun = stem(found["noun"])
    others = [c.name for c in ledger.get(cell.id).columns if c.name != cell.column and c.unit == cell.unit]
    own = stems(f"{cell.column} {' '.join(cell.doc.split()[:_FIRST_WORDS])}")
    named = [n for n in others if noun in stems(n) and isinstance(held(ledger, cell, n), (int, float))]
    return found["noun"] if named and noun not in own else ""


def _signal(cell: CellValue, ahead: str, behind: str, ledger: Ledger) -> str:
    """A zero told as a signal that came; and the highest end of the steps as that of the job itself."""
    if cell.column.endswith("signal") and cell.value == 0:
        found = _SIGNALLED.search(ahead)
        if found or (re.search(r"(?i)\bsignal $", ahead) and _STRIKES.match(behind)):
            return found[0].strip() if found else "signal"
    if cell.column.startswith("derived_") and not _DERIVED.search(f"{ahead}{behind}"):
        own = held(ledger, cell, cell.column.removeprefix("derived_"))
        return "the job's own" if own is not None and own != cell.value else ""
    return ""


def _spent(cell: CellValue, ahead: str, behind: str, ledger: Ledger) -> str:
    """A rate told as a span, a plan as what was reached, and what passed as what was allowed."""
    if "/" in unit_of(cell) and (found := _LASTED.search(ahead)):
        return found[0].strip()
    if _OF_CARDS.search(cell.column) and not _CARDS.match(behind) and (found := _LASTED.search(ahead)):
        return found[0].strip()
    if _PASSED.search(cell.column) and "limit" not in cell.column and (found := _ALLOWED.search(ahead)):
        return found[0].strip()
    at = _AT_STEP.search(ahead)
    if at and _PLANNED.search(cell.column) and (found := _REACHED.match(behind)):
        return "" if held(ledger, cell, f"last_{at['what'].lower()}") == cell.value else found[0].strip()
    return ""


def _line(cell: CellValue, ahead: str, ledger: Ledger) -> str:
    """The first line of several told as the last of them, or the other way round."""
    for verb, wrong, right in ((_TEXT_ENDS, _FIRST_LINES, _LAST_LINES), (_TEXT_BEGINS, _LAST_LINES, _FIRST_LINES)):
        if cell.column in wrong and (found := verb.search(ahead)):
            others = [v for n in right if (v := held(ledger, cell, n)) is not None]
            if others and cell.value not in others:
                return found[0].strip()
    return ""


def _measure(cell: CellValue, ahead: str) -> str:
    """`The loss ended at *` of a gradient norm."""
    own = [nouns for nouns, columns in _MEASURES if columns.search(cell.column)]
    found = list(_OF_MEASURE.finditer(ahead))
    if not own or not found:
        return ""
    noun = found[-1]["noun"]
    return "" if any(re.fullmatch(nouns, noun, re.IGNORECASE) for nouns in own) else noun


def _over(cell: CellValue, ledger: Ledger) -> bool:
    """Whether the row of a state says that it has ended."""
    still = held(ledger, cell, "still")
    return still is False or (still is None and held(ledger, cell, "until_ts") is not None)


def _of_text(cell: CellValue, ahead: str, behind: str, ledger: Ledger) -> str:
    if cell.column == "state" and _over(cell, ledger):
        found = _IS_NOW.search(ahead)
        if found is None and _UNTIL_NOW.match(behind):
            found = _HAS_BEEN.search(ahead)
        if found:
            return found[0].strip()
    if cell.column in ("frame", "entry_frame") and (found := _USERS.search(ahead)):
        own = held(ledger, cell, "user_frame")
        if own != cell.value:
            return found[0].strip()
    said = f"{cell.column} {cell.doc}".lower()
    if (found := _NAMED.search(ahead)) and found["noun"].lower() not in said:
        noun = found["noun"].lower()
        names = _OWN_COLUMNS.get(noun, (noun,))
        others = [v for n in names if cell.column != n and (v := held(ledger, cell, n)) is not None]
        if cell.column not in names and others and cell.value not in others:
            return noun
    if (found := _SUBMITTED.match(behind) or _BY.search(ahead)) and not _WHO.search(cell.column):
        return found[0].strip()
    if "/" in str(cell.value):
        for place, of in _PLACES:
            if (found := place.search(ahead)) and not of.search(cell.column.lower()):
                return found[0].strip()
    return ""


def since_start(cell: CellValue, ahead: str, behind: str) -> bool:
    """Whether a running time is told as what it is: how long after its start a job ended."""
    ran = re.match(r"(?:elapsed|lived)_", cell.column)
    own = re.split(r"[.;:!?] ", ahead)[-1]
    of_job = cell.column.startswith("elapsed_") and _OF_OTHER_LIFE.search(own)
    return bool(ran and _ENDED_SO.search(own) and not of_job and _AFTER_START.match(behind))


def done_to(cell: CellValue, ahead: str, behind: str) -> bool:
    """Whether a count is told as how often its own verb was done to something: `restarted the job * times`."""
    found = _DONE_TO.search(ahead) if re.match(r" times?\b", behind) else None
    return found is not None and stem(found[1]) in stems(cell.column)


def saved_at(cell: CellValue, ahead: str, ledger: Ledger) -> str:
    """The step of a save, or one of another place than the last, told as the one at which a run ended, or that it reached by itself;
    and a step of which no save is known, told as that of one."""
    save = cell.column == "step" and ledger.get(cell.id).query == "checkpoints"
    if save and held(ledger, cell, "name") in ("resumed", "loaded", "loading") and (got := _GOT.search(ahead)):
        return got[0].strip()
    if not save and (of := _OF_SAVE.search(ahead)) and _unsaved(cell, ledger):
        return of[0].strip()
    other = _OTHER_STEP.match(cell.column) and held(ledger, cell, "last_step") != cell.value
    found = _ENDED_AT.search(ahead) if save or other else None
    return found[0].strip() if found else ""


def _unsaved(cell: CellValue, ledger: Ledger) -> bool:
    """Whether the saves of the job of a cell are known by their steps, and none is of the step that the cell has."""
    job = job_of(ledger, cell)
    saves = [e for e in ledger.all() if e.query == "checkpoints" and str(e.params.get("job_id") or "") == job]
    steps = {row.get("step") for e in saves for row in e.dicts()}
    return bool(job) and bool(steps) and None not in steps and cell.value not in steps

"""An exception of an earlier try: one file holds several starts of a program, and a later one got past what stopped the first.

Who resubmits into the same file, or runs a script again in the same allocation, leaves the first failure above the run that
worked. Order alone does not tell: standard error runs ahead of a buffered standard output. A program that could not even
be imported has printed nothing before, though, so what comes after is another start.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime

from agent_tools.facts.exceptions import Raised
from agent_tools.facts.progress import Progress
from agent_tools.facts.views import RowView, View
from store import lazy

_UNLOADED = frozenset({"ImportError", "ModuleNotFoundError", "SyntaxError", "IndentationError", "TabError"})
_UNREAD = frozenset({"SyntaxError", "IndentationError", "TabError"})
_ENTRY = lazy.compile(r"(?P<file>.+):(?P<line>\d+) in <module>")
_PACKAGED = lazy.compile(r"[/\\](?:site|dist)-packages[/\\](?!.*(?:spawn|worker|process)).{1,300} in (?!<module>)")
"""A stack that begins in a package's own function, and in none that a process or a worker begins with."""
_WARNS = lazy.compile(r"\S+\.py:\d+: \w*Warning: ")
"""How the warnings module names the line that warned: some program ran as far as that."""
_FAILED = lazy.compile(
    r"\w+Error\b|(?i:\berror:|\bfail(?:ed|ure)\b|\bkilled\b|\babort(?:ed|ing)\b|exit(?:ed)? .{0,20}code)"
)
_HEAD = 120
"""Lines at the head of a script in which its imports stand; one further down may come after hours of work."""
_WAITED = ("rendezvous", "collective", "peer")
"""What other ranks of the same start say, who waited in vain for the one that failed: no further than it."""
_QUIET_S, _OTHER_WORDS = 120.0, 4
"""Seconds and lines by which a log outlives all that failed in it, where another start has to be thought of."""
_SLURMS = lazy.compile(r"(?:srun|slurmstepd)[\w.-]*: |frame #\d+|\s*$|\s+File \"|(?:Current )?[Tt]hread 0x")
"""Slurm's words and the stacks that a dying process prints: none of another start."""
_WENT_ON = 3
"""Steps, or lines of a loop, by which a run is known to have gone on."""
_CLOSING = 40
"""Lines between the words of an interrupt and an exception of the closing down."""
_BUFFER = 200
"""Reports that no buffer holds back: standard output keeps 8 KiB of a process until it ends, and a report has forty bytes or more."""

_LONG = 2 * _BUFFER
"""Lines of any kind that no buffer of one process holds back."""


def of_earlier_try(raised: Raised, progress: Progress, others: Iterable[Raised], tail: Callable[[], View]) -> bool:
    """Whether a later start, whose steps or whose own failure follow in the same file, got further than this.

    `tail` gives the end of the log, which tells whether it is one file.
    """
    if _unread(raised) and _another_ran(raised, tail):
        return True
    entry = _ENTRY.fullmatch(raised.row.text("entry_frame"))
    if entry is None or not only_loaded(raised):
        return False
    line, file = raised.row.number("line_no") or 0, raised.row.text("file")
    if _came_after(progress, line, file, tail):
        return True
    for other in others:
        if other.role in _WAITED:
            continue
        later = _ENTRY.fullmatch(other.row.text("entry_frame"))
        if later is None or other.row.text("file") != file or (other.row.number("line_no") or 0) <= line:
            continue
        if later["file"] == entry["file"] and int(later["line"]) > int(entry["line"]):
            return True
    return False


def only_loaded(raised: Raised) -> bool:
    """Whether a program failed as it was loaded, by an import at its head: it had done nothing before."""
    entry = _ENTRY.fullmatch(raised.row.text("entry_frame"))
    if raised.name.rsplit(".", 1)[-1] not in _UNLOADED or entry is None or int(entry["line"]) > _HEAD:
        return False
    frames = [f for f in raised.calls.split("\n") if f and not f.startswith("> ")]
    return all(f.endswith(" in <module>") or "importlib" in f for f in frames)


def after_interrupts(raised: Raised, others: Iterable[Raised]) -> bool:
    """Whether a program failed as it was loaded below every keyboard interrupt of its file: they ended an earlier start."""
    stops = [o.row for o in others if o.role == "interrupt" and o.row.text("file") == raised.row.text("file")]
    return only_loaded(raised) and bool(stops) and all(_last_line(s) < _last_line(raised.row) for s in stops)


def _last_line(row: RowView) -> float:
    """Where the last of alike exceptions stands."""
    return (row.number("line_no") or 0) + (row.number("lines_left") or 0) - (row.number("lines_after") or 0)


def closing_down(raised: Raised, end: RowView | None) -> bool:
    """Whether a program that told of a keyboard interrupt failed while it closed down. A bare ^C may be an earlier command's."""
    if end is None or not end.number("keyboard") or end.get("interrupt_first") is not True or only_loaded(raised):
        return False
    after = (raised.row.number("line_no") or 0) - (end.number("interrupt_line") or 0)
    return 0 < after <= _CLOSING and "^C" not in end.text("interrupt_message")


def _unread(raised: Raised) -> bool:
    """Whether Python could not read the program itself, which then did nothing at all, not so much as a word of output."""
    at = raised.row.text("entry_frame")
    return raised.name.rsplit(".", 1)[-1] in _UNREAD and " in " not in at and at == raised.row.text("frame")


def _another_ran(raised: Raised, tail: Callable[[], View]) -> bool:
    """Whether below a program that could not be read another one warns, goes on with words of its own, and nothing fails."""
    file, line = raised.row.text("file"), raised.row.number("line_no") or 0
    below = [r.text("text") for r in tail() if r.text("file") == file and (r.number("line_no") or 0) > line]
    warned = next((i for i, text in enumerate(below) if _WARNS.match(text)), len(below))
    words = [text for text in below[warned + 1 :] if text.strip()]
    return len(words) >= _OTHER_WORDS and not any(_FAILED.search(text) for text in words)


def passed_over(raised: Raised, others: Iterable[Raised]) -> bool:
    """Whether a logger told of this, or an installed package that went on without what failed.

    The stack of the latter begins inside the package, and below it in the same file another exception went through the whole
    program.
    """
    if raised.row.text("severity") != "fatal":
        return True
    if not _PACKAGED.search(raised.row.text("entry_frame")):
        return False
    line, file = raised.row.number("line_no") or 0, raised.row.text("file")
    return any(
        o.row.text("file") == file
        and (o.row.number("line_no") or 0) > line
        and _ENTRY.fullmatch(o.row.text("entry_frame")) is not None
        and "-packages" not in o.row.text("entry_frame")
        and o.message != raised.message
        for o in others
    )


def _came_after(progress: Progress, line: float, file: str, tail: Callable[[], View]) -> bool:
    """All that the log shows of a training stands below this line of its file."""
    steps, hints = progress.steps, progress.hints
    if steps is not None:
        after = steps.text("file") == file and (steps.number("first_line") or 0) > line
        return after and (steps.number("reports") or 0) >= _WENT_ON
    if hints is None or any(r.text("file") != file for r in tail()):
        return False
    if (hints.number("bar_line") or 0) > line and (hints.number("bar_step") or 0) >= _WENT_ON:
        return True
    return (hints.number("first_line") or 0) > line and (hints.number("lines") or 0) >= _WENT_ON


def went_on(row: RowView, progress: Progress) -> bool:
    """Whether a run that had trained before this row (with steps_after, file, line_no) trained on for longer than a buffer can hold.

    As many reports of several ranks may be of a buffer each: what follows has to be less than one rank's reports.
    """
    steps, after = progress.steps, row.number("steps_after") or 0
    if steps is None or not _BUFFER <= after < (steps.number("reports") or 0) or steps.text("file") != row.text("file"):
        return False
    return (steps.number("first_line") or 0) < (row.number("line_no") or 0)


def trained_past(row: RowView, progress: Progress) -> bool:
    """Whether a run trained before and after this row of its log, and then came to its end: nothing that the row tells of ended it."""
    steps, at = progress.steps, row.number("last_line" if "last_line" in row.columns else "line_no")
    if at is None or steps is None or steps.text("file") != row.text("file"):
        return False
    if not (steps.number("first_line") or 0) < at < (steps.number("last_line") or 0):
        return False
    return (progress.finish_line or 0) > at or (steps.number("done") or 0) >= 1


def echoed(row: RowView, progress: Progress) -> bool:
    """Whether the only word of an end that follows is one that a batch script prints as well, and says of whatever came before.

    An exception that nobody caught, from the program's first line on, has ended it; no step follows it.
    """
    if row.text("severity") != "fatal" or "entry_frame" not in row.columns or progress.finish is None:
        return False
    return row.text("entry_frame").endswith(" in <module>") and not progress.finish.text("framework")


def followed(row: RowView) -> bool:
    """Whether the same file reports more training after this row than a buffer can have held back."""
    return (row.number("steps_after") or 0) >= _BUFFER


def outlived(raised: Raised, others: Iterable[Raised], tail: Callable[[], View]) -> tuple[RowView, RowView] | None:
    """The last thing that failed in the log of this exception, and its last line, where minutes or very many lines lie between the two.

    What ends a program is close to the end of its log, or is followed by what else failed of it. Where the log goes on for
    long with other words, something else was running, or the program was started anew. Of ranks each has a buffer of its own.
    """
    file = raised.row.text("file")
    told = (raised.row.number("line_end") or 0) + (raised.row.number("lines_left") or 0)
    last = next((r.row for r in others if r.row.text("file") == file and r.row.number("line_end") == told), None)
    if last is None or last.number("events") != 1:
        return None
    after = [
        r
        for r in tail()
        if r.text("file") == file and (r.number("line_no") or 0) > told and not _SLURMS.match(r.text("text"))
    ]
    if len(after) < _OTHER_WORDS:
        return None
    if not last.has("first_ts") or not after[-1].has("line_ts"):
        ranked = last.has("rank") or after[-1].has("rank")
        return (last, after[-1]) if not ranked and (after[-1].number("line_no") or 0) - told >= _LONG else None
    passed = datetime.fromisoformat(after[-1].text("line_ts")) - datetime.fromisoformat(last.text("first_ts"))
    return (last, after[-1]) if passed.total_seconds() >= _QUIET_S else None

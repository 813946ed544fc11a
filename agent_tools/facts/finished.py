"""Whether the work of a run was done, by what it printed: a program may say so and then not exit."""

from __future__ import annotations

from agent_tools.facts import Facts
from agent_tools.facts.progress import FAR
from agent_tools.facts.status import recorded
from agent_tools.facts.views import RowView
from agent_tools.say import count, quoted
from store import lazy


def completion(facts: Facts, end: RowView | None) -> list[str]:
    """What tells that the whole work is done, in sentences: Slurm, the program's own words, its plan; empty where nothing does."""
    said: list[str] = []
    if facts.overview is not None and facts.ending.succeeded:
        said.append(f"Slurm recorded the end as {recorded(facts.overview)}.")
    if end is not None and count(end, "ends"):
        said.append(_said_end(end))
    if end is not None and (end.number("done") or 0) >= 1:
        said.append(f"All {end['total_steps']} planned steps were reported.")
    elif end is not None and end.has("epochs_done") and not count(end, "ends"):
        said.append(f"All {end['epochs_done']} planned epochs were reported.")
    words = facts.table("end_words").first
    if len(said) == 1 and facts.ending.succeeded and (bar := _bar_at_its_end(facts, words)) is not None:
        said.append(f"The progress bar stands at its end, {bar['bar_total']} steps.")
    if words is not None and not said:
        said += _end_words(facts, end, words)
    if not said and (program := program_end(facts, end)):
        said.append(program)
    return said


def _said_end(end: RowView) -> str:
    return f"The program says that training finished: {quoted(end, 'end_message', 'end_line')}."


def program_end(facts: Facts, end: RowView | None) -> str:
    """What a code that is no training prints at a normal end and nowhere else, in words; empty where it printed none."""
    words = facts.table("closing_words").first
    if words is None or not count(words, "programs") or count(words, "program_line") < _goes_on(facts, end):
        return ""
    if any(0 <= count(words, "program_line") - count(r, "line_no") <= _BEFORE for r in facts.table("plain_errors")):
        return ""  # some print the same where they exit over an error
    return f"The program prints what it prints at a normal end: {quoted(words, 'program_text', 'program_line')}."


_SAVED = lazy.compile(r"(?i)\b(?:saved|stored|wrote|written|exported|dumped|pickled)\b")
_OF_THE_END = lazy.compile(r"(?i)\bfinal\b|train|finish|complet|\bdone\b")
_BEST = lazy.compile(r"(?i)\bbest\b")
_OF_A_STEP = lazy.compile(
    r"(?i)\bcheckpoint (?:at|for|from|of|after) (?:global[ _])?(?:iteration|iter|step|epoch)s?[ :=#]{1,9}\d"
)
_AT_EXIT = 12
"""Lines that may still come below a program's last step while it ends: warnings of what it leaves behind, and who ended it."""
_BEFORE = 12
"""Lines before a program's last words in which it may have said why it exits."""


def closing_end(facts: Facts, end: RowView | None) -> list[str]:
    """What a script says last: that it is done or has saved its results. Said before, between reports, it is of a part."""
    words = facts.table("closing_words").first
    if words is None or not count(words, "closings") or count(words, "closing_line") < _goes_on(facts, end):
        return []
    if (facts.progress.begun and count(words, "closed_before")) or facts.table("plain_errors"):
        return []
    if _kept(words.text("closing_text")) and _to_come(facts, end):
        return []  # a model that is kept on the way
    return [f"The log ends with {quoted(words, 'closing_text', 'closing_line')}."]


def _kept(text: str) -> bool:
    """Whether a line tells of a save and of nothing that is over: such are said on the way as well."""
    return _SAVED.search(text) is not None and _OF_THE_END.search(text) is None


def _of_a_step(text: str, end: RowView | None) -> bool:
    """Whether a save says of which step it is, and no plan says that this was the last: such a save comes every so many steps."""
    return count(end, "done") < _NEARLY and _OF_A_STEP.search(text) is not None


def _to_come(facts: Facts, end: RowView | None) -> bool:
    """Whether steps or epochs of the plan were still to come."""
    steps = facts.progress.steps
    epochs = (
        steps is not None and steps.has("last_epoch") and count(steps, "last_epoch") + 1 < count(steps, "total_epochs")
    )
    return (end is not None and end.has("done") and count(end, "done") < _NEARLY) or epochs


def _goes_on(facts: Facts, end: RowView | None) -> float:
    """The last line that shows the work still going on."""
    words = facts.table("end_words").first
    return max(count(end, "progress_line"), count(words, "goes_on_line"), facts.progress.last_hint)


_NEARLY = 0.95
"""Share of the planned steps below which the work was not done; the last reports may stand some steps apart."""
_NEAR = 3
"""Lines after a full bar that may still speak of its last step."""


def _end_words(facts: Facts, end: RowView | None, words: RowView) -> list[str]:
    """Completion in plain words: it has to stand after the last progress, and a full bar needs a save or an end beside it."""
    after = max(count(end, "progress_line"), count(words, "goes_on_line"))
    hints = facts.progress.hints
    looped = (
        count(words, "bar_line") < count(hints, "last_line") - _NEAR
    )  # a bar of the data, with the training after it
    looped = looped or count(words, "parts") > 0
    said: list[str] = []
    on_the_way = _kept(words.text("done_text")) and (
        _to_come(facts, end) or _BEST.search(words.text("done_text")) or _of_a_step(words.text("done_text"), end)
    )
    if count(words, "dones") and count(words, "done_line") >= after and not on_the_way:
        said.append(f"The log says {quoted(words, 'done_text', 'done_line')}.")
    saved = count(words, "save_line") >= count(words, "bar_line") >= after - 1
    if count(words, "bars") and not looped and (said or saved):
        said.append(f"The progress bar stands at its end, {words['bar_total']} steps.")
        if count(words, "saves"):
            said.append(f'After it the log says "{words["save_text"]}".')
    return said


def _bar_at_its_end(facts: Facts, words: RowView | None) -> RowView | None:
    """The loop's own bar, where it is full, is the last that shows the loop alive, and counts more than a handful of steps."""
    hints = facts.progress.hints
    if facts.progress.parsed or hints is None or facts.progress.done_by_bar != 1.0 or count(words, "parts"):
        return None
    last = count(hints, "bar_line") >= count(hints, "last_line") - _NEAR
    return hints if last and count(hints, "bar_total") >= FAR else None


def bar_short_of_end(facts: Facts, end: RowView | None) -> RowView | None:
    """The loop's own bar, where steps were missing on it when the log ended, and no word of an end was said."""
    share = facts.progress.done_by_bar
    return facts.progress.hints if not count(end, "ends") and share is not None and share < _NEARLY else None


def done_without_node(end: RowView) -> bool:
    """Whether all that was planned was done below the line about a lost node: srun and sbatch can be told to go on without the node (--no-kill)."""
    below = count(end, "progress_line") > count(end, "stop_line") > 0
    return end.text("stop_name") == "node_failure" and below and (end.number("done") or 0.0) >= 1.0


def unexited(facts: Facts) -> list[str]:
    """What tells that the program had done its work when it was ended from outside; empty where that is not so.

    A bar that is full counts too, where it is the only one and little is printed after it: the end of its last step is not an
    epoch's, and a bar that more follows was of a part of the work. The last step of a plan does not: what comes after it, a save
    or an evaluation, may still have been at work.
    """
    end = facts.table("run_ending").first
    if facts.ending.succeeded or not facts.progress.begun:
        return []
    if count(end, "ends") and count(end, "end_line") < _goes_on(facts, end):
        return []  # that of a part of the work, which went on after it
    words, hints = facts.table("end_words").first, facts.progress.hints
    behind = 0 < count(end, "done") < _NEARLY and count(words, "bar_line") <= count(end, "progress_line")
    if not count(end, "ends") and behind:
        return []  # steps of the plan were still to come, whatever was said of a save
    if words is not None and count(words, "done_line") == count(words, "save_line") > 0:
        words = None  # "successfully saved": of a checkpoint, and one comes after every so many steps
    said = [] if end is None or not count(end, "ends") else [_said_end(end)]
    said = said or (_end_words(facts, end, words) if words is not None else [])
    said = said or [t for t in (program_end(facts, end),) if t]
    alone = not count(hints, "bar_epochs") and count(hints, "bar_fulls") <= 1
    alone = alone and count(words, "last_line") - count(words, "bar_line") <= _AT_EXIT
    if not said and alone and words is not None and 0 < count(words, "bar_line") >= _goes_on(facts, end):
        said.append(f"The progress bar stands at its end, {words['bar_total']} steps.")
    return said

"""Words without a run around them: a text that holds nothing but the last line of an exception.

Python prints a traceback before an exception that nobody caught. Without one, and with nothing else to go on, the words may
have been logged and lived through as well, and at any point of a run.
"""

from __future__ import annotations

from agent_tools.facts.core import Facts
from agent_tools.facts.views import RowView
from store import lazy

_BESIDE = ("slurm_job", "slurm_step", "process", "gpu_sample", "cuda_sample")
"""What would tell of the run that the words are of."""
_PYTHON = lazy.compile(r"\s*(?:[\w.]*(?:Error|Exception|Interrupt)|[\w.]+\.[A-Z]\w*): |.{0,120}?<class '[\w.]+'>")
"""How Python prints one, or its type where a program has caught it; other programs print an error and exit, and then the words are all that there is."""
_MOST = 12
"""Lines that the words of a few exceptions take at most."""


def lone_words(facts: Facts) -> bool:
    """Whether all that is there are the words of one or a few exceptions, none of them with a frame."""
    if facts.overview is not None or facts.progress.begun or any(map(facts.has, _BESIDE)):
        return False
    raised, refused = [r.row for r in facts.raised], facts.table("oom_events").rows
    if not (raised or refused) or any(r.has("frame") or r.has("user_frame") for r in raised):
        return False
    ends = [*((r, "line_end") for r in raised), *((r, "last_line") for r in refused)]
    spans = [(r.text("file"), r.number("line_no") or 0, r.number(end) or 0) for r, end in ends]
    printed = facts.table("log_tail").rows

    def is_theirs(line: RowView) -> bool:
        number = line.number("line_no") or 0
        around = [first for file, first, last in spans if line.text("file") == file and first <= number <= last]
        return bool(around) and (number not in around or _PYTHON.match(line.text("text")) is not None)

    return 0 < len(printed) <= _MOST and all(map(is_theirs, printed))

"""From what a file tells of ends and starts to the lines at which another run begins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Literal

Sign = Literal["head", "start", "steps"]
Kind = Literal["end", "finished", "head", "restart", "start", "steps"]
_WENT_ON = 3
"""Reports, none of them from further back, by which a run is known to have gone on after what looked like its end."""


class End(IntEnum):
    """How sure an end is: an exception of one process, the last word of a launcher on all, Slurm's on the job."""

    FAILED = 1
    CLOSED = 2
    JOB = 3


@dataclass(slots=True)
class Mark:
    """Lines `line` to `last` tell something of the course of a run. Of `steps`: how many, and whether from further back or on."""

    line: int
    last: int
    kind: Kind
    name: str = ""
    end: End | None = None
    entry: str | None = None
    """Of an exception: the file of its program."""
    unloaded: bool = False
    """Of an exception: the program failed at its own imports, before it did anything."""
    back: bool = False
    on: bool = False
    count: int = 0


@dataclass(frozen=True, slots=True)
class Begin:
    """A run begins at a line, shown by `sign`: the head of the file again, a start, or steps that go back."""

    line: int
    sign: Sign
    certain: bool


def decided(marks: Sequence[Mark], *, many: bool) -> list[Begin]:
    """Where runs begin after the first. `many`: several processes wrote into the file, which may each say the same."""
    course = _Course(many)
    marks = sorted(marks, key=lambda m: (m.line, m.kind != "end"))
    for mark in marks:
        course.take(mark)
    return _of_one_program(course.begins, marks)


class _Course:
    """What is known of the run that is going on."""

    def __init__(self, many: bool) -> None:
        self.begins: list[Begin] = []
        self._many = many
        self._open = False
        """The last begin is taken back by steps that go on from where the run before stood, unless it loads a checkpoint."""
        self._anew()

    def _anew(self) -> None:
        self._end: Mark | None = None
        self._latest: Mark | None = None
        """The last of what tells of an end."""
        self._told = 0
        """Last line that tells of an end."""
        self._moved = self._restarted = self._usual = self._done = False
        self._after = 0
        """Reports that follow the end."""
        self._starts: set[str] = set()
        self._failed: dict[str, str] = {}
        """Programs that an exception ended, with that."""
        self._head: int | None = None
        """Line at which the head of the file came again, without anything that had ended the run."""
        self._start: int | None = None
        """Line of the first start since the end, or since the last steps."""

    def take(self, mark: Mark) -> None:
        """Take the next mark in the order of lines. What stands in the line of an end tells nothing of what came after it.

        Nor does an error's own word of a checkpoint, further down in its message.
        """
        if self._end is not None and mark.kind != "end":
            of_error = not self._many and mark.line <= self._told and mark.name.startswith("checkpoint")
            if of_error or mark.line <= self._end.line:
                return
        if mark.kind == "end":
            self._take_end(mark)
        elif mark.kind == "restart":
            self._end, self._restarted, self._start = None, True, None
        elif mark.kind == "head":
            self._take_head(mark)
        elif mark.kind == "finished":
            self._done = self._moved
        elif mark.kind == "start":
            self._take_start(mark)
        elif mark.kind == "steps":
            self._take_steps(mark)

    def _take_end(self, mark: Mark) -> None:
        if mark.unloaded and self._moved and self._end is not None:
            # A program that has trained does not fail at its imports: that is another one, or another run of it.
            self._begin(mark.line, "start", mark.entry in self._failed)
        elif (
            mark.entry
            and not (self._many or self._moved or self._restarted)
            and self._failed.get(mark.entry, mark.name) != mark.name
        ):
            self._begin(mark.line, "start", False)  # one process does not end twice
        if mark.entry:
            self._failed.setdefault(mark.entry, mark.name)
        if self._end is None or (mark.end or 0) > (self._end.end or 0):
            self._end = mark
        self._restarted = self._restarted and mark.end is End.FAILED
        self._after, self._start, self._told, self._latest = 0, None, max(self._told, mark.last), mark

    def _take_head(self, mark: Mark) -> None:
        if self._end is not None:
            # One process of many may fail while another still says its first words, and an epoch may say them again.
            alone = self._moved or not self._many or self._end.end is not End.FAILED
            of = (
                self._latest
                if self._latest and self._end.last < self._latest.line <= mark.line <= self._latest.last
                else None
            )
            self._begin(of.line if of else mark.line, "head", alone and not self._usual)
            if of is not None:  # all that this run said is why it failed, and the first words are among that
                self._take_end(of)
        elif self._done and not self._usual:
            self._begin(mark.line, "head", True)
        elif self._moved:
            self._head, self._usual = self._head or mark.line, True

    def _take_start(self, mark: Mark) -> None:
        if self._start is None:
            self._start = mark.line
        again = mark.name in self._starts
        if self._end is not None and self._end.end is End.JOB:
            # What a program held back while it printed no steps, it may write when it is told to end.
            self._begin(mark.line, "start", again or self._moved)
        elif self._end is not None and again and not self._restarted and (self._moved or not self._many):
            self._begin(mark.line, "start", False)
        self._open = self._open and not mark.name.startswith("checkpoint")
        self._starts.add(mark.name)

    def _take_steps(self, mark: Mark) -> None:
        if self._open and mark.on:
            self.begins[-1] = replace(self.begins[-1], certain=False)
        self._open = False
        if mark.back and self._end is not None:
            sure = self._end.end is End.JOB and self._start is not None
            self._begin(self._start or self._told + 1, "steps", sure)
        elif mark.back and self._head is not None and not self._restarted:
            self._begin(self._head, "head", False)  # folds and seeds of one program look the same
        elif self._end is not None and self._end.end is not End.JOB:
            self._after += mark.count
            if self._after >= _WENT_ON:
                self._end = None
        self._moved, self._done = True, False
        self._start = self._head = None

    def _begin(self, line: int, sign: Sign, certain: bool) -> None:
        self._open = (
            sign == "head" and certain and self._moved and self._end is not None and self._end.end is End.FAILED
        )
        self.begins.append(Begin(line, sign, certain))
        self._anew()


def _of_one_program(begins: Sequence[Begin], marks: Sequence[Mark]) -> list[Begin]:
    """The begins, of which those between failures of two programs are not certain: a next stage of one script looks like that.

    Where the two failures are of the same program, it was started again; unless nothing was trained before they are alike, as
    the failures of several processes are.
    """
    known: list[Begin] = []
    bounds = [0, *(b.line for b in begins), float("inf")]
    for place, begin in enumerate(begins):
        before = _failure(marks, bounds[place], bounds[place + 1])
        after = _failure(marks, bounds[place + 1], bounds[place + 2])
        ended = any(m.end is End.JOB and bounds[place] <= m.line < begin.line for m in marks)
        certain = begin.certain
        if before is not None and after is not None and not ended:
            moved = any(m.kind == "steps" and bounds[place] <= m.line < begin.line for m in marks)
            same = before.entry == after.entry
            certain = same and (moved or (certain and before.name != after.name))
        known.append(replace(begin, certain=certain))
    return known


def _failure(marks: Sequence[Mark], first: float, stop: float) -> Mark | None:
    """The exception of a program in these lines; None where none did fail or it does not say which."""
    return next((m for m in marks if m.entry and first <= m.line < stop), None)

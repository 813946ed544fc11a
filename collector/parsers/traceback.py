"""Python tracebacks, with their chains, and exceptions that stand alone on a line.

SOURCE  CPython 3.8 to 3.14 (`^^^^` and `~~~~` markers, exception groups), Rich's boxes, Ray's and DataLoader's nested ones.
ROWS    one `exception` per traceback: `name` is the exception's type as printed, `cause_*` the root of its chain.
CAVEAT  a printed traceback may have been caught; `severity` is fatal only for one that Python itself printed at the end
        of a thread of execution (no logger's prefix), error for a logged or lone one, warning for an ignored one.
EXAMPLE torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 6.00 GiB.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import ClassVar

from collector.parsers.base import Line, ParsedRow
from collector.parsers.frames import Frame, begins_program, frame_at, in_thread, through_program, unfold
from collector.parsers.raised import (
    ASIDE,
    CARRIES,
    CAUGHT,
    CAUGHT_ANCHORS,
    GLUED,
    GOES_ON,
    IGNORED,
    LOGGED,
    LONE,
    MAX_TEXT,
    ONE_LINE,
    PARAGRAPHS,
    QUOTED,
    RAISED,
    SITE,
    UNUSUAL_ANCHORS,
    Raised,
    exception_row,
    half_said,
    names_exception,
    says_no_failure,
)
from collector.parsers.shapes import APART, BAR, LOG_LINE, MILD_PREFIX, strip_label
from store import lazy

NAMES: dict[str, str] = {
    "*": "the exception's type as printed: ValueError, torch.OutOfMemoryError, ray.exceptions.RayTaskError(ValueError)",
    "Traceback": "a traceback was cut before its exception was printed (detail.truncated)",
}

HEADER = "Traceback (most recent call last)"
_CHAIN = ("During handling of the above exception", "The above exception was the direct cause of")
_NESTED = lazy.compile(r"(?:-- Process (?P<process>\d+) terminated with the following error:|Original Traceback)")
_GROUP = lazy.compile(r"^\s*(?:\| ?|\+ (?=Exception Group)|\+-\+-{5,}|\+-{5,})")
_MARKER = lazy.compile(r"\s*[\^~]+\s*$|\s*\.\.\.<\d+ lines>\.\.\.$|\s*\[Previous line repeated")
_ABOVE = " (see above for traceback): "  # TensorFlow 1 prints the exception a second time, below where the op was built
_METRIC = lazy.compile(r"-?\d+\.\d+(?:e[+-]?\d+)?%?")  # MeanSquaredError: 0.31 is a score
_SUMMARY, _PLACE = lazy.compile(r"\s*traceback\s*:\s*$"), lazy.compile(r"\s*/\S+:\d+\s*$")
_MILD, _CPP = lazy.compile(r"\b(?:WARN(?:ING)?|INFO|DEBUG)\b"), lazy.compile(r"frame #\d+|Exception raised from ")
_MAX_LINES, _MAX_STRAY, _MAX_TAIL, _MAX_FOLDED = 5000, 12, 40, 20_000


class Traceback:
    """State: nothing open; inside frames (`_frames`); or inside the text of an exception (`_raised`)."""

    name: ClassVar[str] = "traceback"
    anchors: ClassVar[tuple[str, ...]] = (
        HEADER,
        '", line ',
        "Error",
        "Exception",
        "KeyboardInterrupt",
        "ArrowInvalid",
        "NotFound: ",
        *UNUSUAL_ANCHORS,
        *CAUGHT_ANCHORS,
    )
    ignores = staticmethod(says_no_failure)

    def __init__(self) -> None:
        self._reset()
        self._aside: str | None = None

    def _reset(self) -> None:
        self._start: Line | None = None
        self._last = self._lines = self._stray = self._base = 0
        self._frames: list[Frame] | None = None
        self._source: str | None = None
        self._code = set[str]()
        self._prefix: re.Pattern[str] | None = None
        self._severity = "fatal"
        self._place: str | None = None
        self._announced: str | None = None
        self._raised: Raised | None = None
        self._chain: list[Raised] = []
        self._wrappers: list[Raised] = []
        self._blank: list[str] = []
        self._headed = self._rich = self._notebook = self._seen_blank = self._torn = False
        self._extra: dict[str, object] = {}

    @property
    def wants_more(self) -> bool:
        """True while a traceback or the text of an exception is open."""
        return self._start is not None or self._aside is not None

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        if self._start is None:
            if HEADER in line.text and (lines := unfold(line.text[:_MAX_FOLDED], HEADER)):
                rows = [row for text in lines for row in self.feed(replace(line, text=text))]
                return [*rows, *(self.close() if "\\n" in line.text else [])]  # a text that ends with the line
            return self._idle(line)
        self._lines += 1
        if self._lines > _MAX_LINES:
            return [*self.close(), *self._idle(line)]
        text = self._clean(line.text)
        if self._frames is not None:
            return self._inside_frames(line, text)
        return self._inside_text(line, text)

    def close(self) -> Iterable[ParsedRow]:
        """The stream ended: an exception that was complete is given whole, one that was cut says so."""
        self._aside = None
        if self._start is None:
            return []
        if self._frames is not None:
            # Frames from the program's first line on, and then nothing: both its ends were cut away.
            self._headed |= through_program(self._frames) and "aside" not in self._extra
            return self._cut()
        return self._finish()

    # -- nothing open ------------------------------------------------------------------------------------------------

    def _idle(self, line: Line) -> list[ParsedRow]:
        text = line.text
        if ASIDE.search(text) or (not text.strip() and SITE.search(self._aside or "")):
            self._aside = text[:200] if text.strip() else self._aside
            return []
        aside, self._aside = self._aside, None
        if "%|" not in text and HEADER not in text and CAUGHT.match(strip_label(text[:400])):
            self._aside = text[:200]
        if HEADER in text:
            self._open(line, aside)
            return []
        if (frame := frame_at(strip_label(text))) is not None:
            self._begin(line, headed=False)
            self._base, self._frames = max(0, frame.indent - 2), [frame]
            if aside:
                self._set_aside(aside)
            return []
        return self._lone(line, aside)

    def _lone(self, line: Line, aside: str | None) -> list[ParsedRow]:
        if len(line.text) > 20_000:
            return []
        bare = strip_label(line.text).replace(_ABOVE, ": ", 1)
        found = LONE.match(bare) or GLUED.search(bare)
        if found is None and (quoted := QUOTED.search(bare)) and not CAUGHT.search(bare):
            found = quoted
        logged = None if found else LOGGED.match(bare)
        if logged and LOG_LINE.match(logged["prefix"]):
            found = logged
        if not found or _METRIC.fullmatch(found["text"] or ""):
            return []
        self._begin(line, headed=False)
        # What C code raises where nobody can catch it (a flush, a close) CPython prints without a traceback.
        mild = (logged and _MILD.search(logged["prefix"])) or (aside and IGNORED.search(aside))
        conda = found["name"] in ("CommandNotFoundError", "CondaError")  # of `conda activate`; the script goes on
        self._severity = "warning" if mild or conda else "error"
        self._extra = {"traceback": False}
        self._raised = Raised(found["name"], [found["text"] or ""])
        self._base = len(bare) - len(bare.lstrip())
        return []

    def _begin(self, line: Line, *, headed: bool) -> None:
        self._reset()
        self._start, self._last, self._headed = line, line.line_no, headed

    def _open(self, line: Line, aside: str | None) -> None:
        self._begin(line, headed=True)
        before = line.text.partition(HEADER)[0]
        self._rich = "╭" in before or before.lstrip().startswith("+---") or "┌" in before
        self._read_prefix(before)
        self._frames = []
        if aside:
            self._set_aside(aside)

    def _set_aside(self, aside: str) -> None:
        self._severity = "error" if "in thread" in aside else "warning"
        self._extra["aside"] = aside.strip()

    def _read_prefix(self, before: str) -> None:
        bare = _GROUP.sub("", strip_label(before))
        if RAISED.fullmatch(bare.strip()) and "  " in bare:
            # IPython (notebooks, papermill) puts the type before the header, and its frames have a shape of their own.
            self._notebook, self._announced = True, bare.strip()
            return
        self._base = len(bare) if not bare.strip() else 0
        known = bare.strip() in ("", "Original", "Exception Group", "Remote") or CARRIES.match(f"{bare}{HEADER}:")
        if known or self._rich:
            return
        if _SUMMARY.match(bare):
            # torchrun's summary repeats what a rank wrote into its error file, indented by two.
            self._base, self._severity = 4, "error"
            self._extra["in_summary"] = True
            return
        # A logger that puts its prefix before every line repeats it with other digits.
        # The words that the header's line may have after that prefix are not repeated.
        ends = max(bare.rfind("]") + 1, bare.rfind(" - ") + 2)
        wholes = [bare.rstrip()[:160], bare[:ends].rstrip()[:160]] if ends > 1 else [bare.rstrip()[:160]]
        shape = "|".join(re.sub(r"\d+", r"\\d+", re.escape(w)) for w in wholes)
        self._prefix = lazy.compile(f"(?:{shape}) ?")
        if LOG_LINE.match(bare) and "%|" not in bare:
            # A level that stands before every line of it is the program's own word that it went on.
            self._severity = "warning" if MILD_PREFIX.match(bare) else "error"
            self._extra["logged"] = True

    def _clean(self, text: str) -> str:
        text = strip_label(text).replace(_ABOVE, ": ", 1)
        if self._prefix is not None and (found := self._prefix.match(text)):
            text = text[found.end() :]
        if self._rich:
            inner = text.strip()
            if inner[:1] in "│┃|" and inner:
                return "  " + inner.strip("│┃|").rstrip()
            return text
        if (found := _GROUP.match(text)) and ("|" in found[0] or "+" in found[0]):
            return "" if "+-" in found[0] else text[found.end() :]
        return text

    # -- inside the frames -------------------------------------------------------------------------------------------

    def _inside_frames(self, line: Line, text: str) -> list[ParsedRow]:
        assert self._frames is not None
        if self._rich and self._place and text.strip().startswith("in "):
            text, self._place = f"{self._place} {text.strip()}", None
        frame = frame_at(text, rich=self._rich, notebook=self._notebook)
        if frame is not None:
            self._frames.append(frame)
            self._last, self._stray, self._source = line.line_no, 0, None
            return []
        self._place = text.strip() if self._rich and _PLACE.match(text) else None
        if (carrier := CARRIES.match(text)) and self._frames:
            # raised once more, with the worker's whole traceback for its text (DataLoader up to 1.2)
            self._wrappers.append(Raised(carrier["name"], [""], self._frames, self._source))
            self._next_link(line)
            return []
        if HEADER in text:
            return self._header_again(line, text)
        stripped = text.strip()
        indent = len(text) - len(text.lstrip())
        if not stripped or indent > self._base or _MARKER.match(text) or stripped[0] in "╭╰│┃":
            if self._source is None and stripped and indent > self._base and not _MARKER.match(text):
                self._source = stripped[:200]
                self._code.add(self._source)
            if not stripped and not self._headed:
                self._reset()  # frames without a header and an exception (a warning, a stack dump) are nobody's failure
            return []
        if not LOG_LINE.match(text) or LONE.match(text):
            raised = RAISED.match(stripped)
            if raised and names_exception(raised["name"], raised["text"], self._headed):
                self._raised = Raised(raised["name"], [raised["text"] or ""], self._frames, self._source)
                self._frames, self._last, self._raised.bare = None, line.line_no, stripped == raised["name"]
                return []
        self._stray += not self._notebook
        if self._stray > _MAX_STRAY:
            return [*self._cut(), *self._idle(line)]
        return []

    def _header_again(self, line: Line, text: str) -> list[ParsedRow]:
        # Two ranks that write into one stream print two headers in a row; a header long after is another traceback.
        if self._frames or (self._lines > 3 and not self._chain and not self._wrappers):
            return [*self._cut(), *self._idle(line)]
        return []

    # -- inside the text of an exception -----------------------------------------------------------------------------

    def _inside_text(self, line: Line, text: str) -> list[ParsedRow]:
        assert self._raised is not None
        stripped = text.strip()
        if not stripped:
            self._seen_blank = True
            self._blank.append("")
            return self._finish() if len(self._blank) > _MAX_TAIL else []
        if any(c in stripped for c in _CHAIN):
            self._take_blank()
            self._chain.append(self._unwrapped(stated=_CHAIN[1] in stripped))
            self._next_link(line)
            return []
        nested = _NESTED.match(stripped)
        holds = self._raised.message() in ("", '"""') and not self._raised.bare
        if nested or (HEADER in text and (holds or self._raised.name.endswith("Group"))):
            self._wrappers.append(self._raised)
            if nested and nested["process"]:
                self._extra["process"] = int(nested["process"])
            self._next_link(line)
            return []
        if HEADER in text:
            return [*self._finish(), *self._idle(line)]
        frame = frame_at(text)
        if frame is not None and "ray" in self._raised.name.lower():
            self._wrappers.append(self._raised)
            self._next_link(line)
            self._frames = [frame]
            return []
        return self._more_text(line, text)

    def _more_text(self, line: Line, text: str) -> list[ParsedRow]:
        assert self._raised is not None
        indent = len(text) - len(text.lstrip())
        graph = "Graph execution" in self._raised.text[0] and (indent > 5 or frame_at(text) is not None)
        # Another rank's code came between: two that write into one stream have the same frames.
        torn = text.strip()[:200] in self._code or (self._torn and _MARKER.match(text))
        self._torn = indent > self._base and bool(torn)
        if graph or self._torn or _CPP.match(text.strip()) or (text.strip() == '"""' and self._raised.message()):
            self._last = line.line_no
            return []
        inner = LONE.match(text)
        # Megatron puts a space before its records.
        logged = LOG_LINE.match(text) if indent <= self._base + 1 and not GOES_ON.match(text) else None
        other = logged or inner or frame_at(text) or BAR.search(text) or APART.match(text)
        if inner and self._raised.message().endswith("raised:"):
            # torch._dynamo prints what its backend raised as the second line of its own message.
            self._wrappers.append(self._raised)
            self._raised, self._last = Raised(inner["name"], [inner["text"] or ""], self._raised.frames), line.line_no
            return []
        if inner and self._raised.frames and in_thread(self._raised.frames[0]) and inner["name"] == self._raised.name:
            self._last = line.line_no  # a second thread said the same, its lines between those of the first
            return []
        if other or ASIDE.search(text) or len(self._blank) > _MAX_TAIL or ONE_LINE.search(self._raised.name):
            return [*self._finish(), *self._idle(line)]
        if self._seen_blank:
            self._blank.append(text)
            return []
        if len(self._raised.text) <= _MAX_TAIL and sum(map(len, self._raised.text)) < MAX_TEXT:
            self._raised.text.append(text.rstrip())
        elif indent <= self._base:
            return [*self._finish(), *self._idle(line)]
        self._last = line.line_no
        return []

    def _take_blank(self) -> None:
        """What came after a blank line turned out to be the same message."""
        if self._raised is not None and sum(map(len, self._raised.text)) < MAX_TEXT:
            self._raised.text.extend(self._blank)
        self._blank, self._seen_blank = [], False

    def _next_link(self, line: Line) -> None:
        self._raised, self._frames, self._last = None, [], line.line_no
        self._stray, self._headed = 0, True
        self._blank, self._seen_blank = [], False

    def _unwrapped(self, *, stated: bool) -> Raised:
        """The exception just read; the wrappers around it are dropped when it is only a link of a longer chain."""
        assert self._raised is not None
        self._wrappers, self._raised.stated = [], stated
        return self._raised

    # -- rows --------------------------------------------------------------------------------------------------------

    def _cut(self) -> list[ParsedRow]:
        start, frames = self._start, self._frames or []
        known = self._wrappers[-1] if self._wrappers else self._chain[-1] if self._chain else None
        begun = half_said(self._source, self._announced, known, frames)
        if start is None or (not self._headed and known is None and begun is None):
            self._reset()
            return []
        self._raised = begun or known or Raised("Traceback", [""], source=self._source)
        if not self._raised.frames or not known:
            self._raised.frames = frames
        if known in self._wrappers and begun is None:
            self._wrappers.remove(known) if known else None
        self._extra["truncated"] = True
        self._frames = None
        return self._finish()

    def _finish(self) -> list[ParsedRow]:
        start, raised = self._start, self._raised
        if start is None or raised is None or raised.reports_signal():
            self._reset()
            return []
        if self._blank and PARAGRAPHS.search(raised.name + raised.message()[:80]):
            self._take_blank()
        aside = str(self._extra.get("aside", ""))
        if raised.frames and begins_program(raised.frames[0]) and CAUGHT.match(strip_label(aside)):
            self._severity = "fatal"  # whatever was said before it, this one went through the whole program
            del self._extra["aside"]
        elif raised.frames and in_thread(raised.frames[0]) and self._severity == "fatal":
            self._set_aside("in thread")  # threads that print at once tear its announcement away from the header
        row = exception_row(
            start,
            self._last,
            self._severity,
            raised,
            chain=self._chain,
            wrappers=self._wrappers,
            parser=self.name,
            extra=self._extra,
        )
        self._reset()
        return [row]

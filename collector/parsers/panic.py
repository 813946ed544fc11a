"""Native code gives up: Rust panics, failed checks of C++ libraries (glog, TensorFlow, XLA), CUDA's calls and libraries, OpenMP without threads.

SOURCE  Rust before and since 1.73 (the message moved to the next line), glog's F lines, absl's CHECK, easylogging's FATAL, Kaldi's ERROR lines, the
        macro that CUDA's samples, bitsandbytes and others put around calls (csrc/ops.cuh: CUDA_CHECK_RETURN, which then ends the process).
ROWS    `exception` named as below; the place in `frame`.
CAVEAT  a Rust panic reaches Python as pyo3_runtime.PanicException, which is a row of its own.
EXAMPLE thread '<unnamed>' panicked at src/tokenizer.rs:12:3: index out of bounds
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import ClassVar

from collector.parsers.base import Line, ParsedRow
from collector.parsers.shapes import LOG_LINE, detail, strip_label
from store import lazy

NAMES: dict[str, str] = {
    "RustPanic": "a thread of Rust code panicked (detail.thread)",
    "CheckFailed": "a CHECK of a C++ library failed, or it logged a fatal error, and the process aborts",
    "KaldiError": "a program of Kaldi's gave up with an error or a failed assertion",
    "RestoreFailed": "TensorFlow's operation that reads a checkpoint failed; its exception is raised elsewhere",
    "CudaCheckFailed": "a call of CUDA's failed, the runtime's text was printed, and the process ends",
    "LibraryNotLoaded": "a CUDA library could not be loaded at run time, and the process aborts (detail.library)",
    "ThreadsRefused": "an OpenMP runtime got no more threads and ends the process: GNU's, LLVM's and Intel's",
}

_OLD = lazy.compile(r"thread '(?P<thread>[^']*)' (?:\(\d+\) )?panicked at [‘'](?P<text>.*)[’'], (?P<place>\S+:\d+:\d+)")
_NEW = lazy.compile(
    r"thread '(?P<thread>[^']*)' (?:\(\d+\) )?panicked at (?P<place>[^\s':]+:\d+:\d+):?\s*(?P<text>.*)$"
)
_CHECK = lazy.compile(
    r"(?:^F(?:20\d\d)?\d{4} .{0,60}?|\bF (?:external/|tensorflow/|\./)?)(?P<place>[\w./-]+\.(?:cc|cpp|h|cu):\d+)\] (?P<text>(?:Check failed|Non-OK-status|CHECK).{1,600})"
)
# glog and absl end the process after an F line. Of those about other processes the families have rows of their own.
_FATAL = lazy.compile(
    r"(?:^F(?:20\d\d)?\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ |^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[.,]\d+: F )(?P<place>[\w./-]+\.(?:cc|cpp|h|cu):\d+)\] (?P<text>\S.{0,600})"
)
# The level as a word, which easylogging and its kin print.
_SPELLED = lazy.compile(
    r"^.{0,60}\bFATAL\b[\]:| ]{1,4}(?P<place>[\w./-]+\.(?:cc|cpp|cxx|hpp|h|cuh|cu):\d+)[\]:) ]{1,4}(?P<text>\S.{0,600})"
)
_OTHERS = lazy.compile(
    r"Terminating process because|[Hh]eartbeat|[Cc]oordinat|[Tt]ime[ds]? ?out|another (?:task|process|rank)|\b[Pp]eer\b|[Rr]endezvous|\bECC\b"
)
_GONE = lazy.compile(
    r"\b(?:Unavailable|UNAVAILABLE|Aborted|ABORTED|Cancelled|CANCELLED): |Socket closed|Connection reset"
)
_KALDI = lazy.compile(
    r"^\s*(?:ERROR|ASSERTION_FAILED) \([\w.-]{1,80}(?:\[[^\]]{0,60}\])?:[^)]{0,120}?\(\):(?P<place>[\w./-]+:\d+)\) (?P<text>\S.{0,800})"
)
_RESTORE = lazy.compile(
    r"OP_REQUIRES failed at (?P<place>(?:\w*/)*save_restore\w*\.cc:\d+) ?: (?P<text>(?:Not found|NOT_FOUND|Data loss|DATA_LOSS|Invalid argument|INVALID_ARGUMENT): .{1,600})"
)
_LIBRARY = lazy.compile(
    r"^\s*(?:Could not load library (?P<a>lib\S+?\.so\S*?)\. Error: |Unable to load any of \{(?P<b>lib[^}]{1,200})\})(?P<text>.{0,400})"
)
# Memory that ran out is told by a parser of its own.
_CALL = lazy.compile(
    r"^\s*(?:C[Uu][Dd][Aa] )?[Ee]rror:? (?!out of memory)(?P<text>[a-z][\w ,.'()/-]{5,160}?) at line (?P<at>\d{1,5}) in file "
    r"(?P<place>\S(?:.{0,200}\.cuh?|.{0,120}\bcsrc\W.{0,80}\.(?:c|cc|cpp)))\s*$"
)
# OpenBLAS says the like and goes on.
_INFORMED = lazy.compile(
    r"I(?:20\d\d)?\d{4} \d\d:\d\d:\d\d(?:[.,]\d{1,9})? +[-+\d.eE]{1,60} [\w./-]{1,200}\.(?:cc|cpp|h):\d{1,20}\] (?!OP_REQUIRES)"
)
_SOURCES = (".cc:", ".cpp:", ".h:")
_THREADS = lazy.compile(
    r"^\s*(?:libgomp: Thread creation failed: .{1,200}|OMP: Error #\d+: .{0,80}unable to allocate necessary resources for OMP thread.{0,40})$"
)


class Panic:
    """State: a panic whose message stands on the next line."""

    name: ClassVar[str] = "panic"
    anchors: ClassVar[tuple[str, ...]] = (
        "panicked at",
        "Check failed",
        "Non-OK-status",
        "ERROR (",
        "ASSERTION_FAILED (",
        ".cc:",
        ".cpp:",
        ".h:",
        "FATAL",
        "Could not load library lib",
        "Unable to load any of {lib",
        "libgomp: ",
        "OMP: Error #",
        " in file ",
    )

    @staticmethod
    def ignores(text: str) -> bool:
        """What glog and its kin print for information, as long as it holds no more of these words than a source's name."""
        return _INFORMED.match(text) is not None and not any(a in text for a in Panic.anchors if a not in _SOURCES)

    def __init__(self) -> None:
        self._held: tuple[Line, str, str] | None = None

    @property
    def wants_more(self) -> bool:
        """True while the message is still to come."""
        return self._held is not None

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        if self._held is not None:
            held, thread, place = self._held
            self._held = None
            message = line.text.strip()
            if message and not LOG_LINE.match(line.text) and "panicked at" not in message:
                return [self._row(held, "RustPanic", message, place, thread, line.line_no)]
            return [self._row(held, "RustPanic", "", place, thread, held.line_no), *self.feed(line)]
        text = line.text[:8000]
        if found := _OLD.search(text):
            return [self._row(line, "RustPanic", found["text"], found["place"], found["thread"], line.line_no)]
        if found := _NEW.search(text):
            if found["text"]:
                return [self._row(line, "RustPanic", found["text"], found["place"], found["thread"], line.line_no)]
            self._held = (replace(line), found["thread"], found["place"])
            return []
        if (found := _CHECK.search(text)) and not _GONE.search(found["text"]):
            return [self._row(line, "CheckFailed", found["text"], found["place"], None, line.line_no)]
        fatal = _FATAL.match(text) or _SPELLED.match(text)
        if (found := fatal) and not (_OTHERS.search(found["text"]) or _GONE.search(found["text"])):
            return [self._row(line, "CheckFailed", found["text"], found["place"], None, line.line_no)]
        if found := _KALDI.match(text):
            return [self._row(line, "KaldiError", found["text"], found["place"], None, line.line_no)]
        if found := _RESTORE.search(text):
            return [self._row(line, "RestoreFailed", found["text"], found["place"], None, line.line_no)]
        if found := _CALL.match(strip_label(text)):
            place = f"{found['place']}:{found['at']}"
            return [self._row(line, "CudaCheckFailed", found[0].strip(), place, None, line.line_no)]
        if found := _THREADS.match(strip_label(text)):
            return [line.event("exception", "ThreadsRefused", found[0].strip(), severity="error", parser=self.name)]
        if found := _LIBRARY.match(strip_label(text)):
            return [
                line.event(
                    "exception",
                    "LibraryNotLoaded",
                    found[0].strip(),
                    severity="error",
                    parser=self.name,
                    detail=detail(library=found["a"] or found["b"]),
                )
            ]
        return []

    def close(self) -> Iterable[ParsedRow]:
        """Give the panic that is open."""
        if self._held is None:
            return []
        held, thread, place = self._held
        self._held = None
        return [self._row(held, "RustPanic", "", place, thread, held.line_no)]

    def _row(self, line: Line, name: str, message: str, place: str, thread: str | None, line_end: int) -> ParsedRow:
        return line.event(
            "exception",
            name,
            message,
            line_end=line_end,
            severity="error",
            parser=self.name,
            frame=place,
            detail=detail(thread=thread),
        )

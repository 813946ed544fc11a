"""A log that ends with the words that a logger prints before a traceback, or inside a traceback's first words.

SOURCE  detectron2, ignite, absl and programs that log what they caught: the announcement first, the stack below it.
ROWS    one `exception` named `Traceback` whose detail has `truncated`, and only where nothing stands after the words.
CAVEAT  four letters of the header count only where they are the whole last line; the same words above a traceback that is there are that traceback's, and above anything else they are nobody's.
EXAMPLE ERROR [06/03 10:12:59 d2.engine.train_loop]: Exception during training:
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from collector.parsers.base import Line, ParsedRow
from collector.parsers.shapes import detail, strip_label
from collector.parsers.untyped import told
from store import lazy

NAMES: dict[str, str] = {"Traceback": "a traceback was announced and is not there (detail.truncated)"}

_WORDS = lazy.compile(
    r"(?:.{0,200}(?:[\]:|-]|\b[A-Z]{4,8}) ?)??(?i:(?:an? )?(?:(?:un(?:handled|caught|expected)|fatal) )?(?:exception|error)\b"
    r"(?: was)? (?:during|in|while|raised|caught|occurred|encountered)\b.{0,120}:\s*$)"
    r"|.{0,200}\b(?:ERROR|CRITICAL|FATAL)\b\W{1,6}(?:[\w.]{1,60}\W{1,4})?(?i:(?:the )?(?:training|run|job) (?:has )?(?:failed|crashed)"
    r"|(?:unhandled|uncaught) exception)\b.{0,60}$"
)


_HEADER = "Traceback (most recent call last)"


def _breaks_off(text: str) -> bool:
    """Whether the line ends inside the header of a traceback, as one does that was being written when the log was cut."""
    at = text.rfind("Trac")
    begun = text[at:]
    if at < 0 or begun == _HEADER or not _HEADER.startswith(begun):
        return False
    return not text[:at].strip() or (len(begun) > 5 and not text[at - 1].isalnum())


class Heralded:
    """State: the announcement that was read last, until something stands after it."""

    name: ClassVar[str] = "heralded"
    anchors: ClassVar[tuple[str, ...]] = ("xception", "rror ", "ERROR", "CRITICAL", "FATAL", "Trac")

    def __init__(self) -> None:
        self._open: Line | None = None

    @staticmethod
    def ignores(text: str) -> bool:
        """Any line that announces nothing; figures are no part of the words."""
        return _WORDS.match(text) is None and not _breaks_off(text)

    @property
    def wants_more(self) -> bool:
        """True until something stands after an announcement."""
        return self._open is not None

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Keep an announcement; drop it when anything follows."""
        if line.text.strip():
            text = strip_label(line.text)
            words = len(line.text) < 600 and _WORDS.match(text) is not None and not told(text)
            begun = _breaks_off(text) or words
            self._open = line if begun else None
        return ()

    def close(self) -> Iterable[ParsedRow]:
        """The log ends here: what was announced is not in it."""
        line, self._open = self._open, None
        if line is None:
            return ()
        told = detail(truncated=True, announced=line.text.strip()[:200])
        return [line.event("exception", "Traceback", "", severity="error", parser=self.name, detail=told)]

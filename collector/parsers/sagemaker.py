"""SageMaker's training toolkit: the exception of the user's script, quoted in the toolkit's own report of the failure.

SOURCE  sagemaker-training-toolkit 3 to 5: ExecuteUserScriptError, InstallModuleError and kin
ROWS    one `exception` with the type and the text that the report quotes
CAVEAT  the report's own type says only that the script failed. A quote that names no type gives nothing.
EXAMPLE
    ErrorMessage "ImportError: cannot import name 'Foo' from 'bar'
    Command "/opt/conda/bin/python3.10 train.py --epochs 3"
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from collector.parsers.base import Line, ParsedRow
from collector.parsers.raised import LONE
from collector.parsers.shapes import strip_label
from store import lazy

NAMES: dict[str, str] = {"ImportError": "for example: the type is the one that the report quotes"}

_OPEN = lazy.compile(r'ErrorMessage "(?P<rest>.*)$')
_SHUT = lazy.compile(r'Command "')
_MOST = 40
"""Lines after which a quote that does not end is none."""


class SageMaker:
    """State: the quote that is open, its last line that names an exception, and how many lines it has."""

    name: ClassVar[str] = "sagemaker"
    anchors: ClassVar[tuple[str, ...]] = ('ErrorMessage "',)

    def __init__(self) -> None:
        self._start: Line | None = None
        self._found: tuple[str, str, int] | None = None
        self._lines = 0

    @property
    def wants_more(self) -> bool:
        """True inside a quote."""
        return self._start is not None

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        text = strip_label(line.text).strip()
        if (opened := _OPEN.match(text)) is not None:
            rows = [*self.close()]
            self._start, text = line, opened["rest"]
        elif self._start is None:
            return ()
        else:
            rows = []
            self._lines += 1
            if _SHUT.match(text) or self._lines > _MOST:
                return [*self.close()]
        if (named := LONE.match(text.strip().rstrip('"'))) is not None and named["text"]:
            self._found = named["name"], named["text"].strip(), line.line_no
        return rows

    def close(self) -> Iterable[ParsedRow]:
        """The quote is over, or the stream is."""
        start, found = self._start, self._found
        self._start, self._found, self._lines = None, None, 0
        if start is None or found is None:
            return ()
        name, text, last = found
        return [start.event("exception", name, text, line_end=last, severity="fatal", parser=self.name)]

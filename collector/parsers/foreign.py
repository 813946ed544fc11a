"""Errors with which programs in other languages than Python end: R, MATLAB, Lua, Rust and what runs on a Java machine.

SOURCE  R's conditions in the languages that it speaks, MATLAB -batch, Lua and LuaJIT (Torch 7), the JVM, a Rust program's `main`.
ROWS    `exception` named `RError`, `MatlabError`, `LuaError`, `RustError` or by its Java type; the text in one line.
CAVEAT  of R and MATLAB a script may catch and print the same words: `severity` is fatal where R says that it halts, where Lua
        prints its stack, for a thread of Java's that is called main and for what main gives back in Rust; it is error for the rest.
        Any program may print `Error: `: of Rust it is where the value's own shape, the causes or the stack after it say so.
EXAMPLE Error in library(luz) : there is no package called 'luz'
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import ClassVar

from collector.parsers.base import Line, ParsedRow
from collector.parsers.shapes import LOG_LINE, strip_label
from store import lazy

NAMES: dict[str, str] = {
    "RError": "an error of R's that nobody caught",
    "MatlabError": "an error of MATLAB's, with the function that gave it in the text",
    "RustError": "an error that a Rust program's main gave back, with its causes in the text",
    "LuaError": "an error of Lua's, with the place that it names in the text",
    "*": "the exception of Java's as printed: java.lang.IllegalStateException",
}

# R puts a blank before the colon, in each of its languages; a call that was shortened ends with what follows it, or with a comma.
_R = lazy.compile(
    r"\s*(?:Error in|Errore in|Fehler in|Erreur dans|Error en|Erro em|Ошибка в|エラー|错误于|錯誤在)\s?(?P<call>.{1,300}?) ?: (?P<text>.*)$"
    r"|\s*(?:Error in|Errore in|Fehler in|Erreur dans|Error en|Erro em|Ошибка в) (?P<open>.{1,300}) :\s*$"
)
_CALL = lazy.compile(r"[)}\]]$|^[\w.$@:<-]+$|^[\w.$@:<-]+\(.*,$")
_HALTS = lazy.compile(
    r"\s*(?:Execution halted|Esecuzione interrotta|Ausführung angehalten|Exécution arrêtée|Ejecución interrumpida|Execução interrompida)"
)
_TRACE = lazy.compile(r"\s*(?:Calls|Chiamate|Aufrufe|Appels|Llamadas|Chamadas|\d+: .*|Backtrace):? ?|\s*▆")
_MATLAB = lazy.compile(r"\s*(?:\{\x08)?Error using (?P<call>[\w./>]{1,200})(?: \(line \d{1,7}\))?\s*$")
# Without "Error using" above it the message stands on its own, above the first line of MATLAB's stack, which a terminal gets as a link.
_MATLAB_AT = lazy.compile(
    r"\s*(?:\{\x08?)?Error in (?:<a href=[^>]{1,400}>)?(?P<call>[\w./>]{1,200})(?:</a>)? "
    r"\((?:<a href=[^>]{1,400}>)?line (?P<at>\d{1,7})(?:</a>)?\)\s*$"
)
# What MATLAB itself says above that line, by the words of its own catalogue; what a program's error() says there is its own.
# SOURCE: MathWorks' documentation of error identifiers (MATLAB:UndefinedFunction, MATLAB:badsubscript, MATLAB:sizeDimensionsMustMatch and kin).
_MATLAB_SAYS = (
    "Unrecognized function or variable '",
    "Unrecognized method, property, or field '",
    'Unrecognized field name "',
    "Undefined function ",
    "Undefined variable ",
    "Index exceeds ",
    "Index in position ",
    "Array indices must be ",
    "Arrays have incompatible sizes",
    "Matrix dimensions must agree",
    "Not enough input arguments",
    "Reference to non-existent field '",
    "Dot indexing is not supported",
    "Unable to perform assignment because ",
    "Unable to resolve the name ",
)
_MATLAB_NEAR = 6
"""Lines that may lie between that and the first line of the stack."""
_LUA = lazy.compile(r"\s*(?:\S{0,300}/)?(?:lua|luajit|th|qlua)(?:\d[\d.]*)?: (?P<text>\S.*)$")
_LUA_STACK = lazy.compile(r"\s*stack traceback:\s*$")
_JAVA = lazy.compile(
    r'\s*Exception in thread "(?P<thread>[^"]{1,200})" (?P<name>(?:[a-z]\w*\.)+[A-Z][\w$]{1,120})(?:: (?P<text>.*))?$'
)
_RUST = lazy.compile(r"Error: (?P<text>\S.*)$")
_RUST_VALUE = lazy.compile(r"[A-Z]\w* \{ \w+: |[A-Z]\w*\((?:[A-Z]\w* ?[({]|[A-Z]+(?:_[A-Z]+)+\b)")
_RUST_CAUSES = lazy.compile(r"Caused by:\s*$")
_RUST_FRAME = lazy.compile(r"\s{2,}\d{1,3}: (?:<?\w+::|[\w<>]+(?:::[\w<>{}]+)+)|Stack backtrace:\s*$")
_LONGEST = 12
_STACK = 60
"""Lines that MATLAB's stack may take below its first."""


class Foreign:
    """State: an error whose text, or whose proof that it ended the program, may stand on the lines that follow."""

    name: ClassVar[str] = "foreign"
    anchors: ClassVar[tuple[str, ...]] = (
        "Error in ",
        "Errore in ",
        "Fehler in ",
        "Erreur dans ",
        "Error en ",
        "Erro em ",
        "Ошибка в ",
        "エラー",
        "错误于",
        "錯誤在",
        "Error using ",
        *_MATLAB_SAYS,
        "lua: ",
        "luajit: ",
        "/th: ",
        'Exception in thread "',
        "Error: ",
    )

    def __init__(self) -> None:
        self._held: Line | None = None
        self._kind = ""
        self._text: list[str] = []
        self._seen = 0
        self._last = 0
        self._sure = False
        self._matlab = -_STACK
        self._matlab_said = (-_STACK, "")

    @property
    def wants_more(self) -> bool:
        """True while more of an error may follow."""
        return self._held is not None

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        if self._held is not None:
            if (rows := self._goes_on(line)) is not None:
                return rows
            return [*self.close(), *self._begins(line)]
        return self._begins(line)

    def close(self) -> Iterable[ParsedRow]:
        """Give the error that is open; of Lua's nothing was sure before its stack."""
        held, self._held = self._held, None
        if held is None or self._kind == "LuaError" or not any(t.strip() for t in self._text):
            return []
        if self._kind == "RustError":
            return [self._row(held, "fatal")] if self._sure else []
        return [self._row(held, "error")]

    def _begins(self, line: Line) -> list[ParsedRow]:
        text = strip_label(line.text[:8000])
        if found := _JAVA.match(text):
            severity = "fatal" if found["thread"] == "main" else "error"
            return [line.event("exception", found["name"], found["text"] or "", severity=severity, parser=self.name)]
        if found := _RUST.match(text):
            if _RUST_VALUE.match(found["text"]):
                return [line.event("exception", "RustError", found["text"], severity="fatal", parser=self.name)]
            self._sure = False
            return self._hold(line, "RustError", found["text"])
        if found := _LUA.match(text):
            return self._hold(line, "LuaError", found["text"])
        if found := _MATLAB.match(text):
            self._matlab = line.line_no
            return self._hold(line, "MatlabError", "")
        if found := _MATLAB_AT.match(text):
            first, self._matlab = line.line_no - self._matlab > _STACK, line.line_no
            above, text = self._matlab_said
            place = f"in {found['call']}, line {found['at']}"
            said = f"{text} ({place})" if line.line_no - above <= _MATLAB_NEAR else f"{place}; what it is stands above"
            return [line.event("exception", "MatlabError", said, severity="error", parser=self.name)] if first else []
        if text.startswith(_MATLAB_SAYS):
            self._matlab_said = (line.line_no, text.strip())
            return []
        if (found := _R.match(text)) and _CALL.search((found["call"] or found["open"]).strip()):
            if found["call"] and " : " not in text:
                return []
            return self._hold(line, "RError", found["text"] or "")
        return []

    def _hold(self, line: Line, kind: str, text: str) -> list[ParsedRow]:
        self._held, self._kind, self._text = replace(line), kind, [text] if text else []
        self._seen, self._last = 0, line.line_no
        return []

    def _goes_on(self, line: Line) -> list[ParsedRow] | None:
        """The rows of a line that belongs to the open error; None where it does not."""
        text = strip_label(line.text[:2000])
        self._seen += 1
        held = self._held
        if held is None or self._seen > _LONGEST:
            return None
        if self._kind == "LuaError":
            if _LUA_STACK.match(text):
                self._held, self._last = None, line.line_no
                return [self._row(held, "fatal")]
            return None if LOG_LINE.match(text) else self._more(text, line)
        if self._kind == "RustError":
            return self._rust(text, line)
        if self._kind == "MatlabError":
            return None if self._text or not text.strip() else self._more(text, line)
        if _HALTS.match(text):
            self._held = None
            return [self._row(held, "fatal")] if self._text else []
        if not self._text or (line.text.startswith(" ") and len(self._text) < 3 and not _TRACE.match(text)):
            return None if LOG_LINE.match(text) else self._more(text, line)
        return [] if not LOG_LINE.match(text) else None

    def _rust(self, text: str, line: Line) -> list[ParsedRow] | None:
        """Causes are indented and stand after a blank line, frames directly below the message."""
        if _RUST_CAUSES.match(text) or _RUST_FRAME.match(text):
            self._sure = True
            return []
        if not text.strip():
            return []
        if not self._sure or not text.startswith("  "):
            return None
        return [] if text.lstrip().startswith("at ") else self._more(text, line)

    def _more(self, text: str, line: Line) -> list[ParsedRow]:
        self._text.append(text.strip())
        self._last = line.line_no
        return []

    def _row(self, held: Line, severity: str) -> ParsedRow:
        text = " ".join(t for t in self._text if t)[:2000]
        return held.event("exception", self._kind, text, line_end=self._last, severity=severity, parser=self.name)

"""Stack frames as Python and Rich print them, and whether a file belongs to an installed package."""

from __future__ import annotations

import re
from dataclasses import dataclass

from store import lazy

_PYTHON = lazy.compile(
    r'(?P<indent>\s*)File "(?P<file>[^"]{1,500})", line (?P<line>\d{1,9})(?:, in (?P<where>.{1,200}?))?\s*$'
)
_RICH = lazy.compile(r"\s{0,4}(?P<file>\S[^:│]{0,400}):(?P<line>\d{1,9}) in (?P<where>\S{1,200})\s*$")
_NOTEBOOK = lazy.compile(
    r"(?:File )?(?P<file>[~/][^\s:]{1,400}\.py|Cell In ?\[\d+\]|Input In \[\d+\]|<ipython[^>]{1,80}>)"
    r"(?::(?P<line>\d{1,9}))?(?:, line (?P<line2>\d{1,9}))?(?:,? in (?P<where><cell line: \d{1,6}>|[\w<>.]{1,200}).*)?\s*$"
)
# Colab and VS Code make a link of each file, which a copy in Markdown keeps; the line may be a link of its own.
_LINK = lazy.compile(
    r"\[(?P<shown>[^\[\]]{1,400}(?:\[\d+\])?)\]\((?:https?|vscode-[\w-]+|command|file):[^()\s]{0,1000}\)"
)
_INSTALLED = lazy.compile(
    r"/(?:site|dist)-packages/|/lib(?:64)?/python\d|^<frozen|^<string>|^<__array|/python\d\.\d+/[^/]+\.py$|torchinductor_"
    r"|\\(?:site-packages|[Ll]ib)\\|/pytorch/torch/|/bin/(?:torchrun|accelerate|deepspeed|python|hydra|axolotl|llamafactory-cli)"
)

_DEEP = 3


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame; `indent` is how far it was indented."""

    file: str
    line: int
    where: str | None
    indent: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" + (f" in {self.where}" if self.where else "")


def frame_at(text: str, *, rich: bool = False, notebook: bool = False) -> Frame | None:
    """The frame that this line prints, if it prints one. A SyntaxError's place has no function, an old notebook's no line."""
    if notebook and (cell := _NOTEBOOK.match(_LINK.sub(r"\g<shown>", text) if "](" in text else text)):
        return Frame(cell["file"], int(cell["line"] or cell["line2"] or 0), cell["where"])
    found = _PYTHON.match(text) or (_RICH.match(text) if rich else None)
    if found is None:
        return None
    indent = len(text) - len(text.lstrip())
    return Frame(found["file"].strip(), int(found["line"]), found["where"], indent)


_FOLDED = lazy.compile(
    r'\s(?P<frame>File "[^"]{1,500}", line \d{1,9}, in (?:<\w+>|[\w.]+(?=\s|$|\()))(?P<code>(?:(?!\sFile ").)*)'
)
_FOLDED_END = lazy.compile(r"\s(?P<raised>(?:[a-z_]\w*\.){0,8}[A-Z]\w*(?:Error|Exception|Interrupt|Exit)(?:: .*)?)$")


_ESCAPED = {
    quote: lazy.compile(rf"Traceback \(most recent call last\):(?:\\.|[^{quote}\\]){{20,}}") for quote in ('"', "'")
}
_ESCAPES = {"n": "\n", "t": "\t"}
_LEVEL = lazy.compile(r"(?i)[\"'](?:level|levelname|severity)[\"'] ?: ?[\"'](\w{4,8})[\"']")


def _unescape(text: str) -> list[str]:
    """The lines of a traceback that stands as one text, its line ends escaped, in an object that a logger wrote."""
    if "\\n" not in text:
        return []
    # JSON escapes the quotes of the frames; Python's own notation takes the other quotes around it.
    found = _ESCAPED["'" if 'File "' in text else '"'].search(text)
    if found is None or "\\n" not in found[0]:
        return []
    body = re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), found[0])
    level = _LEVEL.search(text)
    first, *others = body.split("\n")
    return [f"{level[1].upper() if level else 'ERROR'} {first}", *others]


def unfold(text: str, header: str) -> list[str]:
    """The lines of a traceback that a copy of the log has put on one line; none where it has not."""
    if lines := _unescape(text):
        return lines
    head, found, rest = text.partition(header)
    frames = list(_FOLDED.finditer(rest)) if found else []
    if not frames:
        return []
    lines = [f"{head}{header}:"]
    for at, frame in enumerate(frames):
        code = frame["code"].strip()
        raised = _FOLDED_END.search(f" {code}") if at == len(frames) - 1 else None
        lines.append(f"  {frame['frame']}")
        if before := f" {code}"[: raised.start() if raised else None].strip():
            lines.append(f"    {before}")
        if raised:
            lines.append(raised["raised"])
    return lines


def is_installed(file: str) -> bool:
    """True for a file of the standard library, an installed package, a launcher's entry script or generated code."""
    return _INSTALLED.search(file) is not None


def begins_program(outermost: Frame) -> bool:
    """True where a stack begins at the top of a file that is not installed: the exception went through the whole program."""
    return outermost.where == "<module>" and not is_installed(outermost.file)


def through_program(frames: list[Frame]) -> bool:
    """True for a stack from the top of a program down that is deep enough for one that an exception unwinds."""
    return len(frames) >= _DEEP and begins_program(frames[0])


def in_thread(outermost: Frame) -> bool:
    """True where a stack begins with a thread of the process that is not its main one: the program goes on without it."""
    return (
        outermost.where in ("_bootstrap", "_bootstrap_inner")
        and re.search(r"\bthreading\.py$", outermost.file) is not None
    )

"""A log that ends with the text of an exception whose type was not printed: programs that catch it, print what it says and end.

SOURCE  Python's own texts, those of PyTorch and of Hugging Face's libraries, the dynamic loader's of an extension.
ROWS    one `exception` by the type that raises such a text (detail.untyped), and only where nothing stands after it.
CAVEAT  a warning, what a program passes over, what it had said before and outlived, and what stands below a printed exception
        or traceback are none. A text that several types share (a key, a plain path) is not known.
EXAMPLE 2026-04-02 10:03:06,410 - ERROR - no tokenizer: Can't load tokenizer for 'lab/net'. If you were trying to load it from
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from collector.parsers.base import Line, ParsedRow
from collector.parsers.raised import CAUGHT, LOGGED, LONE
from collector.parsers.shapes import detail, strip_label
from store import lazy

NAMES: dict[str, str] = {"*": "the type that raises the text which the log ends with (detail.untyped)"}

_TEXTS: tuple[tuple[str, str], ...] = (
    ("OSError", r"Can't load (?:the )?(?:tokenizer|config|configuration|model|image processor|feature extractor|processor) (?:of|for) '"),
    ("OSError", r"(?<!\S)\S{1,300} (?:is not a local folder and is not a valid model identifier|does not appear to have a file named )"),
    ("OSError", r"(?:We couldn't connect to '\S{1,200}' to load|You are trying to access a gated repo\b)"),
    # requests' and the hub's text for an answer that is none
    ("HTTPError", r"\b[45]\d\d (?:Client|Server) Error(?:: .{0,200} for url: https?://|\. \(Request ID: )"),
    # later lines of a longer text, whose head a copy may lack
    ("OSError", r"(?:Cannot access gated repo for url https?://|Access to (?:model|dataset) \S{1,200} is restricted\b)"),
    ("RuntimeError", r"(?:size mismatch for [\w.]{1,300}: copying a param with shape |(?:Missing|Unexpected) key\(s\) in state_dict: \")"),
    ("ImportError", r"(?<!\S)\S{1,300}\.so(?:\.\d+)*: (?:undefined symbol: |cannot open shared object file|version `\S{1,60}' not found)"),
    ("ImportError", r"cannot import name '\w+' from '"),
    ("ModuleNotFoundError", r"No module named '?[\w.]+'?\.?\s*$"),
    ("FileNotFoundError", r"\[Errno 2\] No such file or directory: "),
    ("PermissionError", r"\[Errno 13\] Permission denied: "),
    ("RuntimeError", r"Failed to import [\w.]+ because of the following error"),
    ("RuntimeError", r"Expected all tensors to be on the same device|mat1 and mat2 (?:shapes cannot be multiplied|must have the same dtype)"),
    ("RuntimeError", r"The size of tensor \w+ \(\d+\) must match|Sizes of tensors must match except|stack expects each tensor to be equal"),
    ("RuntimeError", r"Error\(s\) in loading state_dict for \w+|expected scalar type \w+ but found|shape '\[.{1,80}\]' is invalid for input of size"),
    ("AttributeError", r"(?:'[\w.]+' object|module '[\w.]+'|type object '[\w.]+') has no attribute '"),
    ("IndexError", r"(?:list|tuple|string) (?:assignment )?index out of range\W*$|index \d+ is out of bounds for (?:dimension|axis) \d+"),
    ("TypeError", r"[\w.]+\(\) (?:got an unexpected keyword argument|missing \d+ required|takes \d+ positional argument)"),
    ("TypeError", r"'\w+' object is not (?:subscriptable|iterable|callable)|unsupported operand type\(s\) for "),
    ("ValueError", r"(?:not enough|too many) values to unpack|could not convert string to float: |invalid literal for int\(\) with base "),
    ("ValueError", r"setting an array element with a sequence\b|operands could not be broadcast together with shapes \(|could not broadcast input array from shape \("),
    ("ValueError", r"cannot reshape array of size \d+ into shape \(|need at least one array to (?:stack|concatenate)\W*$|zero-size array to reduction operation "),
    ("OSError", r"CUDA_HOME environment variable is not set\. Please set it to your CUDA install root"),
    ("RuntimeError", r"No CUDA GPUs are available\W*$|Found no NVIDIA driver on your system\b"),
    ("AssertionError", r"Torch not compiled with CUDA enabled\W*$"),
    ("NameError", r"name '\w+' is not defined"),
)  # fmt: skip
_PIECES = (
    "Can't load",
    " is not a local folder",
    "does not appear to have a file",
    "We couldn't connect",
    "a gated repo",
    " Client Error",
    " Server Error",
    "access gated repo",
    " is restricted",
    "size mismatch for ",
    " key(s) in state_dict",
    ".so: ",
    ".so.",
    "[Errno 2] ",
    "[Errno 13] ",
    "Error(s) in loading",
    "cannot import name",
    "No module named",
    "Failed to import",
    "Expected all tensors",
    "mat1 and mat2",
    "The size of tensor",
    "Sizes of tensors",
    "stack expects each",
    "expected scalar type",
    "is invalid for input",
    "has no attribute",
    "out of range",
    "out of bounds",
    "() got an unexpected",
    "() missing ",
    "() takes ",
    "object is not ",
    "unsupported operand",
    "values to unpack",
    "could not convert",
    "invalid literal",
    "is not defined",
    "element with a sequence",
    " broadcast",
    "cannot reshape array",
    "at least one array",
    "zero-size array",
    "CUDA_HOME environment",
    "No CUDA GPUs",
    "Found no NVIDIA",
    "not compiled with CUDA",
)
"""Of each text a part that is no pattern: a line without any of them is not looked at closer."""
_TEXT = tuple((name, lazy.compile(text)) for name, text in _TEXTS)
_ANY = lazy.compile("|".join(f"(?:{text})" for _, text in _TEXTS))
_BEFORE = lazy.compile(
    r"(?:.{0,160}\b(?i:\w*error|\w*exception|fail(?:ed|ure)|could not|cannot|unable|critical|fatal|erro|erreur|fehler)\b.{0,120}[:：-] +)?[\"']?"
)
"""What may stand before the text: nothing, or that something failed."""
_MILD = lazy.compile(
    r"\b(?:WARN(?:ING)?|INFO|DEBUG|TRACE|NOTICE)\b|\b(?i:warn(?:ing)?s?:|optional|attempt #?\d|retry|retrying|try again|"
    r"will (?:use|try|be)|using|instead|disabl\w+|raise|except|sav\w+|writ\w+|plot\w*|figures?|upload\w*|clean\w*|clos\w+|"
    r"delet\w+|samples?|requests?|files?|images?|videos?|frames?|rows?|batch|items?|lines?|records?|callbacks?|hooks?|plugins?)\b"
)
"""Levels below an error; what a program does instead; asides, and the single pieces of work that a run can spare."""
_HEADER = "Traceback (most recent call last)"
_BELOW = 60
"""Lines below a printed exception or the header of a traceback that may be of its message."""
_RAISES = lazy.compile(r"\s*raise \w")
_NUMBERS = lazy.compile(r"\d+")
_MOST = 200


class Untyped:
    """State: the text that was read last, until something other than the like stands after it; texts that were outlived."""

    name: ClassVar[str] = "untyped"
    anchors: ClassVar[tuple[str, ...]] = (
        "Error",
        "Exception",
        *_PIECES,
        "Traceback (",
    )

    def __init__(self) -> None:
        self._open: tuple[Line, str, str] | None = None
        self._said: set[str] = set()
        self._outlived: set[str] = set()
        self._typed = -_BELOW

    @staticmethod
    def ignores(text: str) -> bool:
        """Any line that holds neither such a text nor an exception."""
        return _told(text) is None and not _typed(text)

    @property
    def wants_more(self) -> bool:
        """True until something stands after a text."""
        return self._open is not None

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Keep a text; drop it when anything follows."""
        if not line.text.strip() or (self._open is not None and _RAISES.match(line.text)):
            return ()
        found = _told(line.text) if line.line_no - self._typed >= _BELOW else None
        if found is None:
            self._outlived.update(self._said if len(self._outlived) < _MOST else ())
            self._said.clear()
        if _typed(line.text):
            self._typed = line.line_no
        self._open = None
        if found is not None and (shape := _shape(found[1])) not in self._outlived:
            self._open = (line, *found)
            self._said.add(shape)
        return ()

    def close(self) -> Iterable[ParsedRow]:
        """The log ends here."""
        told, self._open = self._open, None
        if told is None:
            return ()
        line, name, text = told
        extra = detail(traceback=False, untyped=True)
        return [line.event("exception", name, text, severity="error", parser=self.name, detail=extra)]


def told(text: str) -> bool:
    """Whether the line is such a text."""
    return _told(text) is not None


def _told(text: str) -> tuple[str, str] | None:
    """The type that raises the text in a line, and the text."""
    if len(text) > 3000 or not any(p in text for p in _PIECES) or (any_found := _ANY.search(text)) is None:
        return None
    bare = strip_label(text).strip()
    said = any_found[0]
    at = bare.find(said)
    if at < 0 or not _BEFORE.fullmatch(bare[:at]) or _MILD.search(bare[:at]) or CAUGHT.search(bare) or _typed(bare):
        return None
    return next(((name, bare[at:]) for name, words in _TEXT if words.match(said)), None)


def _typed(text: str) -> bool:
    if "Error" not in text and "Exception" not in text:
        return _HEADER in text
    bare = strip_label(text)
    return _HEADER in text or LONE.match(bare) is not None or LOGGED.match(bare) is not None


def _shape(text: str) -> str:
    return _NUMBERS.sub("#", text)[:60]

"""What counts as a figure or a name in a sentence: the things that must come from a cell and not from a keyboard.

Figures: anything with a digit in any script, fractions and superscripts, number words, percentages, month and weekday
names, homoglyphs that could hide one. Names: exceptions, paths and file names, quoted text, hosts after "node".
LIMIT: English number words only; prose outside references must therefore be in Latin letters.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from agent_tools.references import HOLE
from agent_tools.verdict import FAMILIES
from store import lazy

Kind = Literal["figure", "word", "name", "quote", "script"]


@dataclass(frozen=True, slots=True)
class Finding:
    """Something in a sentence that needs a cell behind it."""

    kind: Kind
    start: int
    end: int
    token: str


ALLOWED = frozenset(FAMILIES) | frozenset({"UTF-8", "IPv4", "IPv6", "c10d", "P2P", "S3", "L1", "L2"})
"""Literals with a digit that are names of things and no measurement: family codes, and a few technical terms."""

_STAMP = r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z| UTC)?)?"
_STOP = rf"\s{HOLE}()\[\]{{}}\"'“”‘’`,;"
_SPELL = r"\d+ (?:d|h|min)(?: \d+ (?:h|min|s)\b)+"
_FIGURE = lazy.compile(rf"{_STAMP}|{_SPELL}|\d{{1,3}}(?:,\d{{3}})+(?:\.\d+)?|[^{_STOP}]*\d[^{_STOP}]*")

_CARDINAL = (
    "zero|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|"
    "eighteen|nineteen|twenty|thirty|forty|fourty|fifty|sixty|seventy|eighty|ninety|hundreds?|thousands?|millions?|"
    "billions?|trillions?|dozens?|tens|score"
)
_OTHER = (
    "twice|thrice|half|halves|halved|thirds?|quarters?|fourths?|fifths?|sixths?|sevenths?|eighths?|ninths?|tenths?|"
    "eleventh|twelfth|hundredths?|thousandths?|doubled|doubling|tripled|triples?|quadrupled?|quintupled?|"
    "(?:two|three|four|five|six|seven|eight|nine|ten|hundred|thousand)[- ]?fold|tenfold|couple|duo|trio|quartet|"
    "quintet|octet|umpteen|nought|naught|percent|percents|percentage points?|per cent|noon|midnight"
)
_CALENDAR = (
    "January|February|April|June|July|August|September|October|November|December|"
    "Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday"
)
_THING = (
    "ranks?|gpus?|cards?|devices?|nodes?|hosts?|machines?|workers?|process(?:es)?|tasks?|steps?|epochs?|iterations?|"
    "jobs?|attempts?|restarts?|requeues?|checkpoints?|saves?|hours?|minutes?|seconds?|days?|weeks?|milliseconds?|"
    "microseconds?|bytes?|gib|mib|gb|mb|tib|kernels?|collectives?|errors?|events?|lines?|samples?|times|links?|ports?|"
    "tokens?|batch(?:es)?|watts?|degrees?|users?|signals?|exceptions?"
)
_VERB = "of|that|which|who|is|was|to|and|or|on|in|per|by|for|must|can|may|has|had|at|from|with|but|than|if|as|cannot"
_WORD = lazy.compile(
    rf"(?<![^\W\d_])(?:(?i:{_OTHER}|(?:[a-z]+-)?(?:{_CARDINAL})(?:-[a-z]+)?)|{_CALENDAR}"
    rf"|(?i:one(?=[ -](?:(?!(?:{_VERB})\b)[a-z-]+ )?(?:{_THING})\b))"
    rf"|(?i:one[- ](?:{_CARDINAL})\w*)"
    rf"|(?i:(?<!\ba )(?<!per )second(?= (?:{_THING})\b))"
    rf"|(?:I{{2,3}}|I[VX]|V?I{{1,3}}|X[IVX]{{1,4}}|[LC][IVXLC]{{1,5}})(?= (?i:{_THING})\b))(?![^\W\d_])"
)
_HARMLESS = lazy.compile(
    r"(?i)half[- ]precision|non-zero|zero[- ](?:length|copy|shot|grad)|ZeRO|third[- ]part(?:y|ies)|"
    r"quarter of no|one-(?:off|to-one|shot|time)|single-precision|double-precision|two-phase|two-way|"
    r"second[- ]guess|five-tuple"
)
_EXCEPTION = lazy.compile(
    r"(?<![\w.])(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Interrupt|Warning|Timeout|Exit|Failure|Abort|Fault)(?!\w)"
)
_PATH = lazy.compile(
    rf"(?<![\w/.])(?:~|\.{{1,2}})?/[^\s{HOLE}()\[\]{{}}\"'“”‘’`,;]{{2,}}"
    r"|(?<![\w./-])[\w][\w./-]*\.(?:py|json|jsonl|ya?ml|toml|sh|sbatch|csv|tsv|parquet|arrow|pt|pth|ckpt|bin|h5|keras|"
    r"safetensors|log|out|err|txt|cfg|ini|so|cu|cpp|tar|gz|zip|gguf|npy|npz)(?!\w)"
)
_SYSTEM_PATH = lazy.compile(r"/(?:dev|proc|sys|etc|tmp|var)(?:/[a-z_.-]+){0,4}/?")
_QUOTE = lazy.compile(
    rf"\"([^\"{HOLE}]*)\"|“([^”{HOLE}]*)”|‘([^’{HOLE}]*)’|`([^`{HOLE}]*)`|(?<![\w{HOLE}])'([^'{HOLE}]+)'(?!\w)|«([^»{HOLE}]*)»"
)
_HOST = lazy.compile(
    r"\b(?i:node|host|hostname|machine|server|user|partition|rank|GPU|device|link|port)\s+(?:called |named )?"
    r"([A-Za-z][\w.]*[-_.][\w.-]*\w|(?!GPU|NCCL|CPU|PCIe|SLURM|Slurm|CUDA|NVLink|OOM|DNS|RAM|ECC|XID|TCP|UUID)[A-Z][A-Za-z]*)"
)


_NOT_ASCII = lazy.compile(r"[^\x00-\x7f]")


def find(masked: str) -> list[Finding]:
    """Everything in a masked sentence that needs a cell, in order; nothing is reported twice."""
    return list(_found(masked))


@lru_cache(maxsize=1024)
def _found(masked: str) -> tuple[Finding, ...]:
    """`find`, once for a sentence: the gate looks at each several times."""
    found: list[Finding] = [Finding("script", *m.span(), m[0]) for m in _NOT_ASCII.finditer(masked) if _foreign(m[0])]
    found += _figures(masked)
    found += [Finding("name", *m.span(), m[0]) for m in _EXCEPTION.finditer(masked)]
    paths = (_path_span(m) for m in _PATH.finditer(masked))
    found += [Finding("name", *path) for path in paths if not _SYSTEM_PATH.fullmatch(path[2])]
    for m in _QUOTE.finditer(masked):
        inner = next(g for g in m.groups() if g is not None)
        if inner.strip():
            found.append(Finding("quote", m.start(), m.end(), inner.strip()))
    found += [Finding("name", *m.span(1), m[1]) for m in _HOST.finditer(masked) if _hostlike(m[1])]
    return tuple(_without_overlap(found))


def _figures(text: str) -> list[Finding]:
    """Digits in any script and number words."""
    found: list[Finding] = []
    for m in _FIGURE.finditer(text):
        token = m[0].rstrip(".:!?…-–—/")
        lead = len(token) - len(token.lstrip("<>≤≥~≈=±+−–—:/.#*_"))
        core = token[lead:]
        parts = [core] if core in ALLOWED else re.split(r"[/'’–-]", core)
        if any(part not in ALLOWED and any(c.isnumeric() for c in part) for part in parts):
            found.append(Finding("figure", m.start() + lead, m.start() + len(token), core))
    calm = [m.span() for m in _HARMLESS.finditer(text)]
    words = (m for m in _WORD.finditer(text) if not any(a <= m.start() < b for a, b in calm))
    return found + [Finding("word", m.start(), m.end(), m[0]) for m in words]


def _path_span(m: re.Match[str]) -> tuple[int, int, str]:
    token = m[0].rstrip(".:!?…")
    return m.start(), m.start() + len(token), token


def _hostlike(token: str) -> bool:
    """`login-a`, `Alpha`, `node_x`; not `out-of-memory` or any lower-case compound of plain words."""
    return bool(re.search(r"[_.]|[A-Z]", token)) or (token.count("-") == 1 and len(token.rsplit("-", 1)[1]) <= 2)


def _foreign(c: str) -> bool:
    """A letter outside the Latin script, or a number sign that is no plain digit: both can hide a figure."""
    if c == HOLE or c.isascii():
        return False
    if c.isalpha():
        return not unicodedata.name(c, "").startswith(
            ("LATIN SMALL LETTER", "LATIN CAPITAL LETTER", "MICRO SIGN", "GREEK SMALL LETTER MU")
        )
    return c.isnumeric() or unicodedata.category(c).startswith("M") or "TALLY" in unicodedata.name(c, "")


def _without_overlap(found: list[Finding]) -> list[Finding]:
    """One finding per place: figures before quotes before names (a quote with a figure in it is a figure's matter)."""
    order = {"script": 0, "quote": 1, "name": 2, "figure": 3, "word": 4}
    kept: list[Finding] = []
    for one in sorted(found, key=lambda f: (order[f.kind], f.start)):
        if not any(one.start < k.end and k.start < one.end for k in kept):
            kept.append(one)
    return sorted(kept, key=lambda f: f.start)


def has_figure(token: str) -> bool:
    """Whether a name or a quotation contains a figure of its own."""
    return any(f.kind in ("figure", "word") for f in _figures(token))

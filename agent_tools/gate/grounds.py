"""What a sentence may stand on: the cells that were shown, the words that the families use, the numbers as words."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from functools import cached_property, lru_cache

from agent_tools.evidence import CellValue, Ledger
from agent_tools.families.base import Assessment, ruling
from agent_tools.formats import format_cell
from agent_tools.gate.clauses import SUBJECTS
from agent_tools.untrusted import clean
from agent_tools.verdict import FAMILIES, Draft
from store import lazy

_UNITS = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"),
    *("ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
NUMBER_WORDS: dict[str, int] = {
    **{word: n for n, word in enumerate(_UNITS)},
    **{word: 20 + 10 * n for n, word in enumerate(_TENS)},
    **{f"{ten}-{_UNITS[u]}": 20 + 10 * n + u for n, ten in enumerate(_TENS) for u in range(1, 10)},
}
"""English cardinals below a hundred."""
COUNTED = "|".join(sorted((w for w, n in NUMBER_WORDS.items() if n), key=len, reverse=True))
SEVERAL = "|".join(sorted((w for w, n in NUMBER_WORDS.items() if n > 1), key=len, reverse=True))
"""Patterns of those from one on, and from two on."""

_EVERYDAY = frozenset({"done", "dones", "ends"})
"""Columns whose names are words of any sentence: beside a number they name nothing."""
OFTEN = lazy.compile(r"^(?:n|count|cnt|events|times|number)\b|(?i:\bhow (?:often|many alike)\b)")
"""Columns of how often something was: told as so many times."""
_SMALL = frozenset({"of", "the", "a", "in", "to", "and", "or", "no", "by", "at", "on"})
_UNIT_BESIDE = lazy.compile(r"(?<=\]\])[ \u00a0]?(?:%|°C|[KMGT]i?B(?:/s)?|min|ms|[sdhW]|[GMk]?Hz)(?![\w/])")
"""A unit behind a reference. The walk drops one that the filled cell carries, by which the sentence is no other one."""
_PLAIN_NUMBER = lazy.compile(r"[+-]?\d+(?:\.\d+)?")


class Grounds:
    """An index over the shown cells, and the sentences of the families' assessments and of the differential's draft."""

    def __init__(self, ledger: Ledger, assessments: Sequence[Assessment], preferred: Draft | None = None) -> None:
        self.ledger = ledger
        said = [t for a in assessments for t in assessment_texts(a)] + (draft_texts(preferred) if preferred else [])
        self.facts = [t for a in assessments if a.status in ("confirmed", "suspected") for t in assessment_facts(a)]
        self.texts = frozenset(_flat(t) for t in said)
        self.vetted = "\n".join(self.texts)
        self.checked: dict[tuple[str, str, bool], tuple[str, tuple[str, ...]]] = {}
        """What became of sentences that were held against these grounds: their linked text, and the problems."""

    @cached_property
    def cells(self) -> list[CellValue]:
        """Every shown cell that holds something."""
        return [c for c in self.ledger.shown() if c.value is not None]

    @cached_property
    def measures(self) -> dict[str, str]:
        """Names of the shown columns that hold numbers, by their words without the plural: `exit code` is `exit_code`."""
        names = [n for n in dict.fromkeys(self.ledger.measured()) if n not in _EVERYDAY]
        return {" ".join(_stem(w) for w in name.lower().split("_")): name for name in names}

    def mislabelled(self, cell: CellValue, phrases: list[list[str]]) -> str:
        """The other measure that a phrase beside a number names; "" where none does, or one names the number's own."""
        if OFTEN.search(f"{cell.column} {cell.doc}"):
            phrases = [p for p in phrases if p[:1] != ["times"]]
        own = {_stem(w) for w in re.findall(r"[a-z]+", f"{cell.column} {cell.unit} {cell.doc}".lower())}
        said = [[_stem(w.lower()) for w in phrase] for phrase in phrases if phrase]
        named = [words for words in said if " ".join(words) in self.measures]
        whole = [
            words for words in said for n in named if n in (words[-len(n) :], words[: len(n)])
        ]  # "memory error" of "error"
        return (
            self.measures[" ".join(named[0])] if named and not any(own & set(words) - _SMALL for words in whole) else ""
        )

    @cached_property
    def _by_text(self) -> dict[str, list[CellValue]]:
        index: dict[str, list[CellValue]] = {}
        for cell in self.cells:
            for form in {format_cell(cell), _flat(str(cell.value))}:
                index.setdefault(form, []).append(cell)
        return index

    @cached_property
    def _haystack(self) -> str:
        return "\n".join(dict.fromkeys(_flat(c.value) for c in self.cells if isinstance(c.value, str)))

    def verbatim(self, text: str) -> bool:
        """Whether the families or the differential say exactly this sentence, but for units that the cells carry anyway."""
        return _flat(text) in self.texts or _unitless(text) in self._unitless

    def admit(self, text: str) -> None:
        """Take a part of the families' sentences as one of them."""
        self.texts |= {_flat(text)}
        self.checked.clear()

    @cached_property
    def _unitless(self) -> frozenset[str]:
        return frozenset(_unitless(t) for t in self.texts)

    def contains(self, piece: str) -> bool:
        """Whether a piece of text stands in a shown cell, or in what the families say, not inside a longer word."""
        pattern = lazy.compile(rf"(?<!\w){re.escape(_flat(piece))}(?!\w)")
        return bool(pattern.search(self._haystack) or pattern.search(self.vetted))

    def link(self, token: str, sentence: str, *, counts: bool = False) -> CellValue | None:
        """The one shown cell that a typed figure or name equals; None where there is none or more than one.

        `counts`: it stands before what it counts, and no number of a rank or a GPU is meant.

        A number below a hundred equals too much by accident: it is linked only where the sentence also has a word of
        the column's name or unit.
        """
        value = NUMBER_WORDS.get(token.lower())
        token = token if value is None else str(value)
        hits = [c for c in self._by_text.get(_flat(token), []) if not counts or c.column not in SUBJECTS]
        if not hits:
            return None
        if all(isinstance(c.value, str) and not _PLAIN_NUMBER.fullmatch(c.value) for c in hits):
            return hits[0]
        if len(hits) > 1 or (_common(token) and not _named(hits[0], sentence)):
            return None
        return hits[0]

    def near(self, token: str, limit: int = 4, *, among: Collection[str] | None = None) -> list[str]:
        """Shown cells that come close to a typed figure or name, as `[[ref]] = value`; `among` are the answers to look at, None for all."""
        word = NUMBER_WORDS.get(token.lower())
        number = float(word) if word is not None else _number(token)
        scored: list[tuple[float, CellValue]] = []
        for cell in self.cells if among is None else (c for c in self.cells if c.id in among):
            if number is not None and isinstance(cell.value, (int, float)) and not isinstance(cell.value, bool):
                forms = (float(cell.value), _number(format_cell(cell)))
                gap = min(abs(f - number) for f in forms if f is not None) / max(abs(number), 1e-12)
                if gap <= 0.1:
                    scored.append((gap, cell))
            elif len(token) > 1 and token.lower() in str(cell.value).lower():
                scored.append((0.05, cell))
        scored.sort(key=lambda pair: pair[0])
        return [f"[[{c.ref}]] = {format_cell(c)[:80]}" for _, c in scored[:limit]]


def title(code: str) -> str:
    """The name of a family; "" for none."""
    return FAMILIES[code][0] if code in FAMILIES else ""


def assessment_texts(a: Assessment) -> Iterable[str]:
    """Every sentence of an assessment."""
    claims = (*a.speaks_for, *a.speaks_against, *a.implies, *a.warnings, *a.actions)
    yield from (a.headline, a.counterfactual, ruling(a), *(c.text for c in claims))
    for missing in a.missing:
        yield from (missing.text, missing.signal)


def assessment_facts(a: Assessment) -> Iterable[str]:
    """The sentences of an assessment that say what was found; not what it supposes, misses or advises."""
    yield from (a.headline, *(c.text for c in a.speaks_for))
    yield from (c.text for c in (*a.implies, *a.warnings) if c.status != "hypothesis")


def draft_texts(draft: Draft) -> list[str]:
    """Every sentence of a draft, in reading order."""
    return [
        draft.headline,
        draft.disposition,
        *(c.text for c in (*draft.shows, *draft.implies)),
        *(text for m in draft.cannot_decide for text in (m.text, m.signal)),
        *(r.text for r in draft.ruled_out),
        *(c.text for c in (*draft.warnings, *draft.actions)),
        *(text for m in draft.timeline for text in (m.ts, m.text)),
    ]


@lru_cache(4096)
def _flat(text: str) -> str:
    return re.sub(r"\s+", " ", clean(text)).strip()


@lru_cache(4096)
def _unitless(text: str) -> str:
    return _UNIT_BESIDE.sub("", _flat(text))


def _number(token: str) -> float | None:
    found = re.match(r"[+-]?\d[\d,]*(?:\.\d+)?(?:[eE][+-]?\d+)?", token)
    try:
        return float(found[0].replace(",", "")) if found else None
    except ValueError:
        return None


def _common(token: str) -> bool:
    number = _number(token)
    return bool(_PLAIN_NUMBER.fullmatch(token)) and number is not None and abs(number) < 100 and number == int(number)


def _named(cell: CellValue, sentence: str) -> bool:
    words = {_stem(w) for w in re.findall(r"[a-z]{3,}", sentence.lower())}
    return any(_stem(w) in words for w in re.findall(r"[a-z]{3,}", f"{cell.column} {cell.unit}".lower()))


def _stem(word: str) -> str:
    return word[:-1] if word.endswith("s") and len(word) > 3 else word

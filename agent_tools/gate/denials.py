"""What a sentence affirms and what it denies, by the reach of its negations.

A family that is ruled out says what is not there ("nobody cancelled it"), and one that is found may do so too ("no crash of the
job"). Whoever cites the same cells may deny it as well; nobody may take the words for something that was seen.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from agent_tools.facts.ending import FAILED_STATES
from agent_tools.gate.vocabulary import GRAMMAR, NEUTRAL
from agent_tools.gate.words import parts, spoken_of, stem, stems
from store import lazy

_NO = r"(?:no|not|never|none|nobody|nothing|neither|nor|without|cannot|hardly|barely|\w+n['’]t|no one)"
_DENIED = lazy.compile(
    rf"(?i)\b(?:(?:\w+ )(?=(?:none|nothing|nobody)\b))?{_NO}\b.*?(?=[.;:](?:\s|$)|,\s(?:and|but|so|while)\b|$)"
)
"""In a family's sentence: from a negation to the end of what it may be said of, with the verb ahead of `none`."""
_AT_NO = lazy.compile(rf"(?i){_NO}\b")
_REACH = lazy.compile(
    rf"(?i)\b(?:[a-z]+ed (?=nothing\b))?{_NO}\b.*?(?=[,.;:()]|\b(?:and|but|while|whereas|then|after|before|when|until|as)\b|$)"
)
"""In a sentence that is to be checked: no farther than is sure."""

DENIED = lazy.compile(r"(?i)\b(?:not|never|no|none|neither|nor)\b|n['’]t\b")
"""A word that denies, anywhere."""
QUALIFIED = lazy.compile(
    r"(?i)\b(?:not|never|no|none|neither|nor|nobody|without|cannot|but|except|almost|nearly)\b|n['’]t\b"
)
"""Words beside which what a small word claims is not plain."""


_EMPHASIS = lazy.compile(
    r"(?i)\b(?:no|not|never|none|nothing|nobody|neither|nor)\b[^,;:.*\[\]]{0,60}?(?P<w> (?:at all|whatsoever))\b"
)
_NOT_ONE = lazy.compile(r"(?i)\bnot (?:one|a single)(?= [a-z]+ (?:was|were|is|are|has|have|had)\b)")


def plainer(text: str) -> str:
    """The text with what denies said plainly: `not at all` is `not`, `not one loss` is `no loss`."""
    text = _EMPHASIS.sub(lambda m: m[0][: m.start("w") - m.start()], text)
    return _NOT_ONE.sub(lambda m: "No" if m[0][0] == "N" else "no", text)


@lru_cache(1024)
def affirmed(text: str) -> str:
    """A family's sentence without what it denies."""
    return _DENIED.sub(" ", text)


@lru_cache(1024)
def refused(text: str) -> str:
    """What a family's sentence denies."""
    return " ".join(m[0] for m in _DENIED.finditer(text))


def negated(text: str, begin: int) -> bool:
    """Whether the word that begins there is within the reach of a negation."""
    return any(m.start() <= begin < m.end() and not _AT_NO.match(text, begin) for m in _REACH.finditer(text))


def is_absent(word: str, text: str, absent: frozenset[str], backed: frozenset[str]) -> bool:
    """Whether what "no" or "not" is said of is absent: a word after it, up to the next cell, is of what the zero counts; of what could
    not be done the verb, and to what is of what the rows speak of."""
    found = re.findall(
        rf"(?i)\b{re.escape(word)}\b((?: [^\W\d]+(?:[-'][^\W\d]+)*)+?)(?= (?:and|but|while|with)\b|\W*$| ?[,;:.([])",
        text,
    )
    if (
        not found
        and (verb := re.search(rf"(?i)\b([a-z]+ed) {re.escape(word)}\W*(?:\*|~|\[\[|$)", text))
        and word.lower() == "nothing"
    ):
        return spoken_of(verb[1], absent)  # "restarted nothing (*)"
    if not found:
        return re.search(rf"(?i)\b{re.escape(word)}\s*(?:[,:;.]|$)", text) is not None  # "No: ..."
    for said in found:
        telling = [w for w in re.split(r"[\s-]+", said.strip()) if w.lower() not in NEUTRAL]
        could = re.search(rf"(?i)\bcould {re.escape(word)}{re.escape(said)}", text) is not None
        known = absent | backed if could and telling and spoken_of(telling[0], absent) else absent
        own = telling or [w for w in said.split() if w.lower() not in GRAMMAR]
        if not (
            all(spoken_of(w, known if telling else absent | backed) for w in own) and (telling or stems(said) & absent)
        ):
            return False
    return True


def is_said(word: str, plain: str) -> bool:
    """Whether a sentence says of something that it is so: `was behind`, and not `no rank was behind`."""
    said = re.finditer(rf"(?i)\b(?:was|were|is|are|been|fell|stayed) {re.escape(word)}\b", plain)
    return any(not negated(plain, m.end() - 1) for m in said)


_RAN = FAILED_STATES | {"RUNNING", "COMPLETED", "REQUEUED"}
_LEFT_OUT = frozenset({"be", "been", "being", "is", "was", "were", "are", "a", "an", "the", "any"})
_ENOUGH = 3
_BEGUN = lazy.compile(r"(?i) (?:yet |been |ever )*(?:started|begun|run|launched)\b(?! (?:out|off|low)\b)")


def denies(word: str, text: str, said: Sequence[str]) -> bool:
    """Whether a cited row denies it in its own text, in the same words behind one another: `DependencyNeverSatisfied`, `No space left on device`."""
    for m in re.finditer(rf"(?i)\b{re.escape(word)}\b((?: [a-z'-]+)+)", text):
        asked = [stem(w) for w in m[1].split() if w.lower() not in _LEFT_OUT][:_ENOUGH]
        wanted = [stem(word), *asked]
        rows = [
            [stem(p) for w in re.findall(r"[^\W\d]+", t) for p in parts(w) if p.lower() not in _LEFT_OUT] for t in said
        ]
        if asked and any(row[i : i + len(wanted)] == wanted for row in rows for i in range(len(row))):
            return True
    return False


def unbegun(word: str, text: str, states: set[str]) -> bool:
    """Whether what is told not to have started is a job that waits, and of no other state is anything cited."""
    found = [m.end() for m in re.finditer(rf"(?i)\b(?:has|had|was) {re.escape(word)}\b", text)]
    return bool(found) and "PENDING" in states and all(_BEGUN.match(text, at) for at in found) and not states & _RAN


_ONE_WORD = lazy.compile(r"\b(?:[A-Z][a-z]+)*(?:Never|Not|No)(?P<what>[A-Z][a-z]+)(?:[A-Z][a-z]+)*\b")


def refuses(word: str, said: Sequence[str]) -> bool:
    """Whether a cited row denies a word in a name of one piece (`DependencyNeverSatisfied`): told as so, it is turned round."""
    return any(stem(m["what"]) == stem(word) for t in said for m in _ONE_WORD.finditer(t))

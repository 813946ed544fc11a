"""What a sentence affirms and what it denies, by the reach of its negations.

A family that is ruled out says what is not there ("nobody cancelled it"), and one that is found may do so too ("no crash of the
job"). Whoever cites the same cells may deny it as well; nobody may take the words for something that was seen.
"""

from __future__ import annotations

from store import lazy

_NO = r"(?:no|not|never|none|nobody|nothing|neither|nor|without|cannot|hardly|barely|\w+n['’]t|no one)"
_DENIED = lazy.compile(
    rf"(?i)\b(?:(?:\w+ )(?=(?:none|nothing|nobody)\b))?{_NO}\b.*?(?=[.;:](?:\s|$)|,\s(?:and|but|so|while)\b|$)"
)
"""In a family's sentence: from a negation to the end of what it may be said of, with the verb ahead of `none`."""
_REACH = lazy.compile(rf"(?i)\b{_NO}\b.*?(?=[,.;:()]|\b(?:and|but|while|whereas|then|after|before|when|until|as)\b|$)")
"""In a sentence that is to be checked: no farther than is sure."""


def affirmed(text: str) -> str:
    """A family's sentence without what it denies."""
    return _DENIED.sub(" ", text)


def refused(text: str) -> str:
    """What a family's sentence denies."""
    return " ".join(m[0] for m in _DENIED.finditer(text))


def negated(text: str, begin: int) -> bool:
    """Whether the word that begins there is within the reach of a negation."""
    return any(m.start() < begin < m.end() for m in _REACH.finditer(text))

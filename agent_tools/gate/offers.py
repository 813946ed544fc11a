"""What the rules offer to be said without a cell: what to do, and what is open. An advice that changes something is one of these.

    "Drain [[E28.node]] or take the GPU out of service, and escalate with the serial number."      the whole
    drain gpu-07 or take the GPU out of service                                                   a part of it, in other marks

A condition stays with what it is the condition of. Where several jobs were opened, what is offered on one is no advice on another.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from agent_tools.evidence import Ledger
from agent_tools.families.base import Assessment
from agent_tools.gate.clauses import job_of
from agent_tools.gate.grounds import assessment_texts, draft_texts
from agent_tools.references import BadReference, cited, plain, resolve
from agent_tools.untrusted import clean
from agent_tools.verdict import Draft
from store import lazy

MAX_NAMED = 3
"""Offers that a refusal names."""
_SENTENCE = lazy.compile(r"(?<=[.;:!?])\s+|\n+")
_PART = lazy.compile(r"(?<=,)\s+(?:(?:and|or|then) )?|\s+(?=\()|\s+(?:and|or)\s+")
_IF = lazy.compile(
    r"(?i)\b(?:if|unless|until|when|once(?! per)|before|after|otherwise|only|instead|not|never)\b|n['’]t\b"
)
"""What a part may not be parted from."""
_REASON = lazy.compile(r"(?i)(?:so that|since|because|which|who|as)\b")
"""What says why, and is no advice alone."""
_WORD = lazy.compile(r"[^\W_]+(?:[^\w\s]*[\w]+)*")
_LINKS = frozenset({"and", "or", "then", "also", "please", "first", "finally", "use", "try", "consider"})
_SMALL = frozenset({"the", "a", "an", "of", "at"})
_NOTHING = lazy.compile(
    r"(?i)^\W*(?:there is )?(?:nothing|no (?:further )?action)(?: (?:else|more|further))?(?: (?:is|has|needs?))?(?: to)?(?: be)?"
    r"(?: (?:do|done|needed|required|necessary))\W*$"
)

_NOTHING_TO_DO = lazy.compile(r"Nothing has to be done(?: about (?:it|this job))?\.$")
"""Advised in other words, as the rules say it."""


class Offers:
    """What the assessments, and the drafts that are made of them, offer."""

    def __init__(self, ledger: Ledger, assessments: Sequence[Assessment], drafts: Iterable[Draft]) -> None:
        self.ledger = ledger
        self._known: dict[str, tuple[str, ...]] = {}
        self.actions: list[tuple[str, str]] = []
        self.open: list[tuple[str, str]] = []
        for d in drafts:
            self._offer(
                draft_texts(d), [c.text for c in d.actions], [t for m in d.cannot_decide for t in (m.text, m.signal)]
            )
        for a in assessments:
            done = a.actions if a.status != "ruled_out" else []
            self._offer(assessment_texts(a), [c.text for c in done], [t for m in a.missing for t in (m.text, m.signal)])
        self.actions, self.open = list(dict.fromkeys(self.actions)), list(dict.fromkeys(self.open))
        self.jobs = {job for _, job in (*self.actions, *self.open)}

    def _offer(self, texts: Iterable[str], actions: Iterable[str], missing: Iterable[str]) -> None:
        job = next((j for ref in cited(texts) if (j := self.job(ref))), "")
        self.actions += [(t, job) for t in actions if t]
        self.open += [(t, job) for t in missing if t]

    def job(self, ref: str) -> str:
        """The job that a cell is of; "" for none."""
        try:
            cell = resolve(ref, self.ledger)
        except BadReference:
            return ""
        return job_of(self.ledger, cell)

    def quoted(self, text: str, offered: Sequence[tuple[str, str]], beside: Sequence[str]) -> str:
        """What is offered that a text repeats, whole or in parts, with its references; "" where it says anything else.

        `beside`: what the answer cites.
        """
        about = {job for ref in (*beside, *cited([text])) if (job := self.job(ref))}
        usable = [t for t, job in offered if len(self.jobs) < 2 or about <= {job} or cited([t])]
        if _NOTHING.match(text) and (nothing := next((t for t in usable if _NOTHING_TO_DO.match(t)), "")):
            return nothing
        said = self._words(text)
        if whole := next((t for t in usable if self._words(t) == said), ""):
            return whole
        parts = sorted(((self._words(p), p) for t in usable for p in _parts(t)), key=lambda one: -len(one[0]))
        found: list[str] = []
        at = 0
        while at < len(said):
            part = next((p for words, p in parts if words and said[at : at + len(words)] == words), "")
            if part:
                found.append(part.rstrip(" .,;:"))
            elif said[at] not in _LINKS:
                return ""
            at += len(self._words(part)) if part else 1
        return f"{found[0][:1].upper()}{'; '.join(found)[1:]}." if found else ""

    def named(self, offered: Sequence[tuple[str, str]]) -> str:
        """The first of what is offered, for the one who has to write again."""
        return " | ".join(repr(t) for t, _ in offered[:MAX_NAMED])

    def _words(self, text: str) -> tuple[str, ...]:
        """The words of a text by which it is known again: with what its references hold, without case and marks."""
        if text in self._known:
            return self._known[text]
        try:
            filled = plain(clean(text), self.ledger)
        except BadReference:
            filled = text
        words = (w.lower() for w in _WORD.findall(filled.replace("*", " ").replace("`", " ")))
        self._known[text] = tuple(w for w in words if w not in _SMALL)
        return self._known[text]


def _parts(text: str) -> Iterator[str]:
    """The parts of a sentence that may be said alone."""
    for sentence in _SENTENCE.split(text):
        yield sentence
        if not _IF.search(sentence):
            yield from (p for p in _PART.split(sentence) if not _REASON.match(p))

"""What the findings on a job affirm, in words, and of whom: the name of a finding is of those alone that its headline names.

GPU [[E6.gpu]] ran out of memory.        the headline's own GPU
GPU [[E8.gpu]] ran out of memory.        another one, of which the finding only tells what it used
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

from agent_tools.evidence import CellValue, Ledger
from agent_tools.families.base import Assessment
from agent_tools.gate.denials import affirmed, negated
from agent_tools.gate.grounds import assessment_facts, assessment_texts, title
from agent_tools.gate.vocabulary import FAILED
from agent_tools.gate.words import singular, stems
from agent_tools.references import BadReference, cited, resolve
from store import lazy

_MARK = lazy.compile(r"\[\[[^\]]*\]\]")
_OPEN = lazy.compile(r"(?i)[^.;:]*\bor\b[^.;:]*")
"""Of two ways a finding leaves open which one it was."""
_FAILS = ("F1", "F3")
"""Families of Slurm's doings that end a job badly: one that was cancelled or sent back did not fail."""
_WHOM = ("gpu", "rank")
Whom = Mapping[str, frozenset[str]]
"""Those that a finding names, by column; of a column that is not in it, it names none."""


def bare(texts: Iterable[str]) -> list[str]:
    """Texts without their references."""
    return [_MARK.sub(" ", t) for t in texts]


def affirmed_of(a: Assessment, ledger: Ledger) -> Iterator[tuple[set[str], frozenset[str], Whom]]:
    """What each sentence of a finding says of its own cells, but for what it denies or leaves open; and its name, of all of them that
    are of whom its headline names."""
    failed = FAILED if a.code[0] in "ABC" or a.code in _FAILS else ""
    name = " ".join([affirmed(title(a.code)), a.mode or "", a.attribution, failed])
    whom: dict[str, frozenset[str]] = {}
    for ref in cited([a.headline]):
        with suppress(BadReference):
            cell = resolve(ref, ledger)
            if cell.column in _WHOM:
                whom[cell.column] = whom.get(cell.column, frozenset()) | {str(cell.value)}
    yield set(cited(assessment_texts(a))), stems(name), whom
    for fact in assessment_facts(a):
        if refs := cited([fact]):
            yield set(refs), stems(_OPEN.sub(" ", affirmed(_MARK.sub(" ", fact)))), {}


def of_named(whom: Whom, cells: Iterable[CellValue]) -> bool:
    """Whether each rank or GPU that is cited is one of those that a finding names, of the columns in which it names any."""
    return all(str(c.value) in whom[c.column] for c in cells if c.column in whom)


def twins(refs: Iterable[str], ledger: Ledger) -> Iterator[str]:
    """The cells on which a finding rests instead of those that are cited: of the overview of a job, what its last attempt's row has too."""
    for ref in refs:
        with suppress(BadReference):
            cell = resolve(ref, ledger)
            own = ledger.get(cell.id)
            if own.query != "job_attempts" or cell.row != len(own.rows) - 1:
                continue
            for other in ledger.all():
                same = other.query == "job_overview" and other.params.get("job_id") == own.params.get("job_id")
                has = same and len(other.rows) == 1 and cell.column in {c.name for c in other.columns}
                if has and other.value(cell.column, 0) == cell.value:
                    yield f"{other.id}.{cell.column}"


def own_words(assessments: Iterable[Assessment], ledger: Ledger) -> Callable[[Iterable[str]], str]:
    """What says of cells in their own words what the confirmed findings that rest on them say."""
    told = [
        (set(cited([t])), affirmed(t).lower())
        for a in assessments
        if a.status == "confirmed"
        for t in assessment_facts(a)
    ]

    def said(refs: Iterable[str]) -> str:
        own = [*refs]
        own += twins(own, ledger)
        return " ".join(t for backed, t in told if backed & {*own})

    return said


_NONE = lazy.compile(r"(?i)\b(?P<verb>[a-z]{3,20}) no (?P<noun>[a-z]{3,20})\b")
"""What a finding says that there was none of, and what was not done with it: `reported no step`."""


_NOT_YET = lazy.compile(
    r"(?i)\b(?P<noun>[a-z]{3,20}) (?:has|have|had) not (?:yet )?(?:been )?(?P<verb>(?!been)[a-z]{3,20})\b"
)
"""What a finding on the job says has not come to it: `its start time has not come`."""


def contradictions(assessments: Iterable[Assessment]) -> Callable[[str, Sequence[str]], str]:
    """What says by which words a sentence affirms what a finding denies: of a cell that it cites, or that it has come to the job at all."""
    found = [a for a in assessments if a.status in ("confirmed", "suspected")]
    told = [(set(cited([t])), _MARK.sub("*", t), a.status) for a in found for t in assessment_facts(a)]
    none = [(refs, m["verb"].lower(), singular(m["noun"])) for refs, t, _ in told if refs for m in _NONE.finditer(t)]
    not_yet = [m for _, t, status in told if status == "confirmed" for m in _NOT_YET.finditer(t)]

    def said(text: str, refs: Sequence[str]) -> str:
        return _contradicts(text, refs, none) or _has_come(text, not_yet)

    return said


_OPEN_YET = lazy.compile(r"(?i)\b(?:once|when|until|till|before|if|whether|as soon as)\b[^,;:.]{0,24}$")


def _has_come(text: str, denied: Iterable[re.Match[str]]) -> str:
    """The words of a sentence that say has come what a finding on the job says has not; "" where there are none."""
    own = _MARK.sub("*", text)
    for m in denied:
        is_so = r"(?:has|have|had|is|was)(?: [a-z]+)?"
        found = re.search(rf"(?i)\b{re.escape(m['noun'])} {is_so} {re.escape(m['verb'])}\b", own)
        if found and not negated(own, found.end() - 1) and not _OPEN_YET.search(own[: found.start()]):
            return found[0].lower()
    return ""


def _contradicts(text: str, refs: Iterable[str], denied: Iterable[tuple[set[str], str, str]]) -> str:
    """The words of a sentence that affirm what a finding denies of a cell that it cites; "" where there are none."""
    own, cited_here = _MARK.sub("*", text), set(refs)
    for cells, verb, noun in denied:
        said = rf"(?i)\b(?P<w>{re.escape(verb)} (?:an?|one|some|several|many|its|the|all|every|only|\*)(?: [a-z]+)? {re.escape(noun)}s?)\b"
        found = re.search(said, own) if cells & cited_here else None
        if found and not negated(own, found.start()):
            return found["w"]
    return ""

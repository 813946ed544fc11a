"""What an empty answer says: that there was none of what its question asks for, on the job that it was asked of.

    No XID was logged ([[E5.row_count]]).                  the question of XIDs found no row on any of the job's nodes
    No error was logged ([[E5.row_count]]).                XIDs are not all that can go wrong: refused
    The log holds [[E6.row_count]] checkpoints.            the same, as a count

The question names what it has none of (`-- NONE:` in its header). A narrower one, or one of another node, says nothing of the job.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress

from agent_tools.evidence import FOUND, CellValue, Ledger
from agent_tools.gate.clauses import TIME
from agent_tools.gate.fleetnone import no_job
from agent_tools.gate.scope import narrowed, nodes_of
from agent_tools.gate.vocabulary import word_set
from agent_tools.gate.words import stems
from agent_tools.references import HOLE, BadReference, marks, masked, resolve
from store import lazy
from store.catalog import catalog

_NONE = lazy.compile(
    rf"(?i)\b(?:no|neither (?:an?|any)|nor (?:was|were|is|are|did|has|had) (?:an?|any)) (?P<what>[^{HOLE},.;:()]+)"
)
_COUNT = lazy.compile(rf"(?i){HOLE} (?P<what>[^{HOLE},.;:()]+)")
_AT_CLOSE = lazy.compile(rf"[^{HOLE}]*\({HOLE}+(?:(?:,| and| or) {HOLE}+)+\)\W*")
"""Two denials, and behind the last of them what each of them rests on."""
_NO = lazy.compile(r"(?i)\b(?:no|nor)\b")
_JOINED = lazy.compile(r"(?i)\W*\b(?:and|nor|or|but)\W*$")
_OTHER_DENIAL = lazy.compile(r"(?i)\b(?:not|never|none|nor|neither|nothing|nobody|without|\w+n['’]t)\b")
_ANYWHERE = lazy.compile(r"(?i)\bany (?:nodes?|gpus?|jobs?|machines?|hosts?)\b(?! of (?:the|this) (?:job|run)\b)")
"""More than what the job has."""
_TOLD = word_set(
    """was were is are be been logged seen found recorded there on of for in at its the a an job node nodes gpu gpus run that did
    any during while ran from by log logs kernel driver reported this whole throughout either stands stood shows showed got ended"""
)
"""Words that say no more than that something was there."""
_EVENTS = word_set("event events")
"""Behind what there was none of: `no XID events`."""
_DONE = word_set("did got ended")
"""Of none that nothing was done by them is nothing to be told."""


def nothing_of(text: str, cells: Sequence[CellValue], ledger: Ledger) -> bool:
    """Whether all that a sentence denies is what the empty answers that it cites have none of, each denial beside its own."""
    own = masked(text)
    empty = [c for c in cells if c.column == FOUND]
    if not empty or len({c.id for c in empty}) != len(empty):
        return False
    if no_job(own, cells, ledger):
        return True
    if len(empty) == 1:
        return _none_of(own, empty[0], cells, ledger)
    if len(empty) != len(cells):
        return False
    ends = [m.end for m in marks(text)]
    begins = [m.start() for m in _NO.finditer(own)]
    if _AT_CLOSE.fullmatch(own[begins[-1] :] if begins else "") and len(begins) == len(empty):  # "no * and no * (*, *)"
        cut = zip([0, *begins[1:]], [*begins[1:], len(own)], strict=True)
        pieces = [_JOINED.sub("", own[a:b]) for a, b in cut]
    else:
        pieces = [own[a:b] for a, b in zip([0, *ends[:-1]], ends, strict=True)]
        pieces[-1] += own[ends[-1] :]
    return all(_none_of(piece, cell, [cell], ledger) for piece, cell in zip(pieces, cells, strict=True))


_HALVES = lazy.compile(r"(?i),? (?:but|while|whereas)\s|;\s")


def halves(text: str, ledger: Ledger) -> list[str]:
    """A sentence in two, where one half is what an empty answer has none of and the other cites no such answer: each stands for itself."""
    for m in _HALVES.finditer(text):
        parts = [text[: m.start()], text[m.end() :]]
        empty = [[c for c in _cells(p, ledger) if c.column == FOUND] for p in parts]
        if sorted(len(e) for e in empty) == [0, 1] and all(_cells(p, ledger) for p in parts):
            none = parts[0] if empty[0] else parts[1]
            return parts if nothing_of(none, _cells(none, ledger), ledger) else []
    return []


def _cells(text: str, ledger: Ledger) -> list[CellValue]:
    found: list[CellValue] = []
    for mark in marks(text):
        with suppress(BadReference):
            found.append(resolve(mark.ref, ledger))
    return found


def _none_of(own: str, empty: CellValue, cells: Sequence[CellValue], ledger: Ledger) -> bool:
    denied = list(_NONE.finditer(own))
    counted = None if denied or len(cells) > 1 else _COUNT.search(own)
    denied = [counted] if counted else denied
    others = [m for m in _OTHER_DENIAL.finditer(own) if not any(d.start() == m.start() for d in denied)]
    if len(denied) != 1 or others or _ANYWHERE.search(own):
        return False
    evidence = ledger.get(empty.id)
    info = catalog().get(evidence.query)
    if (
        info is None
        or narrowed(evidence, ledger)
        or any(isinstance(c.value, str) and TIME.match(c.value) for c in cells)
    ):
        return False
    places = [c for c in cells if c.column in ("node", "node_list", "failed_node", "host")]
    if any(not set(str(c.value).split(",")) <= nodes_of(evidence, ledger) for c in places):
        return False
    if any(c.column not in ("node", "node_list", "gpu", "gpu_uuid", FOUND) for c in cells):
        return False  # what else is cited may be denied with it
    said = denied[0]["what"].lower().replace("'s", "").replace("’s", "").split()
    if counted and said and said[0] in ("times", "events"):  # "its counters rose * times"
        ahead = re.findall(r"[a-z'-]+", own[: counted.start()].lower().replace("'s", ""))
        said = [*ahead, *said[1:]]
    for phrase in info.none:
        words = phrase.lower().split()
        if words[0] == "log":
            if not re.search(r"(?i)\b(?:logs?|logged)\b", own) or {"kernel", "driver"} & {*said}:
                continue  # it says what stands in the log, and no more
            words = words[1:]
        at = [w for w in said if stems(w) in [stems(p) for p in words]]
        spoken = stems(own.replace(HOLE, " "))
        if not at or not all(stems(w) <= spoken for w in words):
            continue
        said = [w for i, w in enumerate(said) if w not in _EVENTS or not i or not stems(said[i - 1]) <= stems(phrase)]
        if all((w in _TOLD and not (counted and w in _DONE)) or stems(w) <= stems(phrase) for w in said):
            return True
    return False

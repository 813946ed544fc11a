"""One sentence at the gate: its references lead to shown cells, nothing is glued to them, nothing else is a figure.

`check` gives the sentence back with bare figures linked where exactly one shown cell equals them, and the problems that
remain. What it refuses it refuses with the remedy, for the one who has to write the sentence again.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from agent_tools.evidence import FOUND, CellValue
from agent_tools.formats import format_cell, unit_of
from agent_tools.gate import figures
from agent_tools.gate.agreement import disagreement
from agent_tools.gate.blame import reaches
from agent_tools.gate.called import done_to
from agent_tools.gate.clauses import held
from agent_tools.gate.contrary import contrary
from agent_tools.gate.english import english
from agent_tools.gate.grounds import NUMBER_WORDS, Grounds
from agent_tools.gate.labels import mislabelled
from agent_tools.gate.naming import unnamed
from agent_tools.gate.quantities import borne_out
from agent_tools.gate.rest import of_another
from agent_tools.gate.vocabulary import MEANS
from agent_tools.gate.words import without
from agent_tools.questions.meanings import known
from agent_tools.references import BadReference, Mark, cited, marks, masked, parse, resolve
from agent_tools.untrusted import clean
from store import lazy

Kind = Literal["claim", "advice", "time"]
"""`claim`: names must be grounded; `advice` (actions, missing signals): commands and names are free, figures are not."""

_BEFORE = " \t\n([{\"'“‘`«=:—,;"
_AFTER = " \t\n)]}\"'”’`».,;:!?…—"
_UNIT = lazy.compile(
    r"[ \u00a0]?(%|°C|°|percentage points?|per ?cents?|[KMGTP]i?B(?:/s)?|kB|bytes?|[Gg]igabytes?|[Mm]egabytes?|"
    r"(?:milli|micro|nano)?seconds?|minutes?|hours?|days?|weeks?|years?|watts?|kilowatts?|degrees?(?: Celsius)?|"
    r"tokens/s|[GM]b/s|[GMk]?Hz|ms|us|µs|ns|min|sec|secs|hrs?|[sdhWCBJkKMGTx×])(?![\w/])"
)
_ADVICE_FREE = lazy.compile(r"[A-Z][A-Z0-9_]+[A-Z0-9](?:=[01])?|bf16|fp16|fp32|fp64|tf32|fp8|int8|int4")
_SAME_UNIT = {
    "%": ("%", "percent", "per cent", "percents"),
    "s": ("s", "sec", "secs", "second", "seconds"),
    "min": ("min", "minute", "minutes"),
    "h": ("h", "hr", "hrs", "hour", "hours"),
    "d": ("d", "day", "days"),
    "°C": ("°C", "C", "degrees", "degree", "degrees Celsius"),
    "W": ("W", "watt", "watts"),
    "B": ("B", "byte", "bytes"),
}
_POINT = lazy.compile(r"\s*(?:[,.:;+*^x×±~-]|point|and a)\s*", re.IGNORECASE)
_SIGN = lazy.compile(r"(?:minus|negative|times ten to the)\s+$", re.IGNORECASE)
_LABEL_AHEAD = lazy.compile(r"((?:[A-Za-z]+ ){0,3}[A-Za-z]+)(?: ?[=:])? ?$")
_ONE_OF = lazy.compile(
    r"(?i)(?:[,;]|\b(?:and|but|while)) (?:the |this )?(?:job|run|node|user) $|\bat the [a-z]+ report (?:was |is )?$"
)
_COPULA = frozenset({"of", "is", "was", "were", "number", "the", "a"})
_USERS = (["job"], ["run"], ["attempt"], ["it"], ["It"], ["had"], ["has"])
"""Ahead of `used` where it is what one did."""
_LABEL_BEHIND = lazy.compile(r" ((?:[A-Za-z]+ ){0,2}[A-Za-z]+)")
_COUNTED = lazy.compile(
    r"(?i) (?:[a-z-]+ )?(?:ranks|process(?:es)|tasks|gpus|cards|devices|nodes|hosts|machines|users)\b"
)
_STAMP = lazy.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d.*")


@dataclass(slots=True)
class Checked:
    """A sentence after the check."""

    text: str
    problems: list[str] = field(default_factory=list[str])


def check(text: str, grounds: Grounds, kind: Kind = "claim", *, ours: bool = False) -> Checked:
    """Check one sentence and link what can be linked; of `ours`, which a program wrote about the cells, no figure has to be named.

    The rules of a gate look at the same sentences one after the other: each is checked once for the same grounds.
    """
    asked = (text, kind, ours)
    known = grounds.checked.get(asked)
    if known is None:
        done = _checked(text, grounds, kind, ours)
        known = grounds.checked[asked] = done.text, tuple(done.problems)
    return Checked(known[0], list(known[1]))


def _checked(text: str, grounds: Grounds, kind: Kind, ours: bool) -> Checked:
    seen = clean(text, "NFC")
    foreign = sorted({f.token for f in figures.find(masked(seen)) if f.kind == "script"})
    if foreign:
        what = ", ".join(f"{c!r} (U+{ord(c):04X})" for c in foreign[:4])
        return Checked(seen, [f"{what}: write plain Latin letters, and cite a cell for figures and quoted text"])
    done = Checked(clean(text))
    if ours and done.text in known():
        return done
    if not grounds.verbatim(done.text) and not english(done.text):
        return Checked(done.text, ["write English: what is claimed in another language cannot be checked"])
    if not grounds.verbatim(done.text) and (outside := reaches(masked(done.text))):
        return Checked(done.text, [f"{outside[:40]!r} would act outside: cite the cell that has it, or leave it out"])
    before = done.text
    _link(done, grounds, kind)
    _references(done, grounds)
    if not done.problems and done.text != before:
        _link(done, grounds, kind, final=True)
    if kind == "time" and not done.problems:
        _time(done, grounds)
    if done.problems or grounds.verbatim(done.text):
        return done
    if why := (
        disagreement(done.text, grounds.ledger)
        or mislabelled(done.text, grounds.ledger)
        or contrary(done.text, grounds.ledger)
        or ("" if ours else unnamed(done.text, grounds.ledger) or of_another(done.text, grounds.ledger))
    ):
        done.problems.append(why)
    return done


def _link(done: Checked, grounds: Grounds, kind: Kind, *, final: bool = False) -> None:
    """Replace bare figures and names by the one cell that they equal; report the others."""
    verbatim = grounds.verbatim(done.text)
    findings = figures.find(masked(done.text))
    counted = borne_out(done.text, grounds.ledger) if findings else []  # most of our own sentences have none
    for found in reversed(findings):
        if (
            any(a <= found.start and found.end <= b for a, b in counted)
            or _free(found, grounds, kind, verbatim)
            or _after_reference(found, done.text)
        ):
            continue
        end, cell = _longest(found, done.text, grounds)
        if cell is None or final or not grounds.ledger.is_shown(cell.id, cell.row, cell.column):
            done.problems.insert(0, _refusal(found, done.text, grounds))
        else:
            quoted = found.kind == "quote"
            start, end = (found.start + 1, end - 1) if quoted else (found.start, end)
            done.text = f"{done.text[:start]}[[{cell.ref}]]{done.text[end:]}"


def _free(found: figures.Finding, grounds: Grounds, kind: Kind, verbatim: bool) -> bool:
    """Whether a finding needs no cell."""
    numeric = figures.has_figure(found.token)
    if verbatim and found.token.lower() == "one":
        return True  # part of a family's own definition: "more than one rank"
    if kind == "advice":
        if found.kind in ("name", "quote"):
            return not numeric or found.token in grounds.vetted
        return found.kind == "figure" and bool(_ADVICE_FREE.fullmatch(found.token))
    if found.kind in ("name", "quote") and not numeric:
        return verbatim or grounds.contains(found.token)
    return False


def _after_reference(found: figures.Finding, text: str) -> bool:
    """A unit word right after a reference ("percent") is judged together with the reference."""
    return found.kind == "word" and any(
        (m := _UNIT.match(text, mark.end)) is not None and m.end() >= found.end > mark.end for mark in marks(text)
    )


def _longest(found: figures.Finding, text: str, grounds: Grounds) -> tuple[int, CellValue | None]:
    """The cell that the finding with its unit equals, else the finding alone; and where the linked text ends."""
    if found.kind == "figure" and (unit := _UNIT.match(text, found.end)):
        both = f"{found.token} {unit[1]}"
        for form in (both, both.replace(" ", "")):
            if cell := grounds.link(form, text):
                return unit.end(), cell
    return found.end, grounds.link(found.token, text, counts=bool(_COUNTED.match(text, found.end)))


def _refusal(found: figures.Finding, text: str, grounds: Grounds) -> str:
    if found.kind == "word":
        of = {parse(ref)[0] for ref in cited([text])}
        beside = grounds.near(found.token, among=of) if found.token.lower() in NUMBER_WORDS else []
        near = f"; cells beside it that hold as many: {'; '.join(beside)}" if beside else ""
        return (
            f"{found.token[:80]!r} is a typed figure, in words: it holds where one answer is cited that was shown whole and whose rows say so; "
            f"else cite the cell that holds it, or leave it out{near}"
        )
    shown = grounds.near(found.token)
    close = f"; shown cells that come near: {'; '.join(shown)}" if shown else "; no shown cell comes near"
    what = {
        "figure": "is a typed figure",
        "name": "is a name that stands in no shown cell",
        "quote": "is quoted but stands in no shown cell as such",
        "script": "is outside the Latin script",
    }[found.kind]
    return f"{found.token[:80]!r} {what}: cite the cell as [[E1.column]] or leave it out{close}"


def _references(done: Checked, grounds: Grounds) -> None:
    """Every reference leads to a shown cell that holds something, and the text around it does not alter its value."""
    if "[[" in masked(done.text) or "]]" in masked(done.text):
        done.problems.append("a reference is malformed; one looks like [[E1.column]] or [[E1:3.column]]")
        return
    for mark in reversed(marks(done.text)):
        _unit(done, mark, grounds)
    previous: tuple[Mark, CellValue] | None = None
    for mark in marks(done.text):
        try:
            cell = resolve(mark.ref, grounds.ledger)
        except BadReference as error:
            done.problems.append(f"[[{mark.ref}]]: {error}")
            continue
        if not grounds.ledger.is_shown(cell.id, cell.row, cell.column):
            done.problems.append(f"[[{mark.ref}]] was never shown: ask for it with a tool before citing it")
        elif cell.value is None:
            done.problems.append(f"[[{mark.ref}]] is empty (NULL): absent is not a value; say that it is not known")
        else:
            _surroundings(done, mark, cell, previous)
            if not isinstance(cell.value, (str, bool)) and cell.column != FOUND and not grounds.verbatim(done.text):
                _label(done, mark, cell, grounds)
        previous = (mark, cell)


def _surroundings(done: Checked, mark: Mark, cell: CellValue, previous: tuple[Mark, CellValue] | None) -> None:
    text = done.text
    ahead = text[: mark.start]
    if previous is not None:
        between = text[previous[0].end : mark.start]
        words = isinstance(previous[1].value, str)
        if between == "/" or (words and between in (":", "@", "=")):
            ahead = ""
        elif not between or (_POINT.fullmatch(between) and not re.fullmatch(r"[,;:]\s+", between)):
            done.problems.append(f"[[{mark.ref}]] runs into the reference before it: put words between them")
            return
    if (ahead and ahead[-1] not in _BEFORE) or (_SIGN.search(ahead) and not isinstance(cell.value, str)):
        done.problems.append(f"[[{mark.ref}]]: nothing may be glued to the front of a reference (found {ahead[-8:]!r})")
    behind = text[mark.end : mark.end + 3]
    glued = behind and behind[0] not in _AFTER and not behind.startswith("/[[")
    hyphen = re.match(r"-(?!fold\b)[A-Za-z]", behind) or (isinstance(cell.value, str) and re.match(r"[@=]\[\[", behind))
    if (glued and not hyphen) or re.match(r"[.,:]\w", behind):
        done.problems.append(f"[[{mark.ref}]]: nothing may be glued to the end of a reference (found {behind!r})")


def _label(done: Checked, mark: Mark, cell: CellValue, grounds: Grounds) -> None:
    """A number under another number's name is a false claim, however true the number: `exit code [[E1.restarts]]`."""
    other = _other_name(done.text, mark, cell, grounds)
    if other and (borne := borne_out(done.text, grounds.ledger)):
        other = _other_name(without(done.text, borne), mark, cell, grounds)  # what the rows bear out names nothing else
    if other:
        done.problems.append(
            f"[[{mark.ref}]] is {cell.column}{f' ({cell.doc})' if cell.doc else ''}, but the words beside it name "
            f"{other}: cite the cell of that name, or name this one"
        )


def _other_name(text: str, mark: Mark, cell: CellValue, grounds: Grounds) -> str:
    ahead = _LABEL_AHEAD.search(text[: mark.start])
    behind = _LABEL_BEHIND.match(text, mark.end)
    before = ahead[1].split() if ahead else []
    said = len(before)
    while before and before[-1].lower() in _COPULA:
        before.pop()
    if said > len(before) and (before[-2:-1] == ["to"] or before[-3:-1] == ["at", "the"]):
        before = []  # "the first rank to end was ...": a verb, and no measure's name
    if len(before) == 1 and before[0].endswith("ed") and ahead and text[: ahead.start(1)].endswith("]] "):
        before = []  # "GPU [[...]] used [[...]]"
    if done_to(cell, text[: mark.start], text[mark.end :]):
        before = []  # "restarted the job [[...]] times"
    if before[-2:] in (["had", "run"], ["has", "run"]) or (
        before[-1:] == ["used"] and before[-2:-1] in _USERS and unit_of(cell) in ("s", "min", "h")
    ):
        before = []  # "had run * of its *", "the job used * of its *": a verb, and no name of a measure
    if before and _ONE_OF.search(text[: mark.start]):
        before = []  # "the run took [[...]], the job [[...]]": of whom it is, and no count of them
    after = behind[1].split() if behind else []
    phrases = [before[-n:] for n in (3, 2, 1) if len(before) >= n] + [after[:n] for n in (3, 2, 1) if len(after) >= n]
    meant = MEANS.get(str(held(grounds.ledger, cell, "state")), "").split()  # "* jobs failed" of the failed ones
    phrases = [p for p in phrases if not {w.lower() for w in p} <= {*meant}]
    return grounds.mislabelled(cell, phrases)


def _unit(done: Checked, mark: Mark, grounds: Grounds) -> None:
    """A unit word after a reference must be the cell's own; it is dropped where the filled cell already carries it."""
    found = _UNIT.match(done.text, mark.end)
    if found is None:
        return
    try:
        cell = resolve(mark.ref, grounds.ledger)
    except BadReference:
        return
    if isinstance(cell.value, (str, bool)) and found[0].startswith(" "):
        return
    written, word = format_cell(cell), found[1]
    tail = written.rsplit(" ", 1)[-1] if " " in written else ""
    if tail and (word == tail or word in _SAME_UNIT.get(tail, ()) or word in _SAME_UNIT.get(unit_of(cell), ())):
        done.text = done.text[: mark.end] + done.text[found.end() :]
    elif tail or not _in_name(word, cell):
        done.problems.append(
            f"[[{mark.ref}]] reads {written!r}: the unit {word!r} after it is not the cell's; leave the unit out"
        )


def _in_name(word: str, cell: CellValue) -> bool:
    stem = word.lower().rstrip("s")
    return len(stem) > 2 and (stem in cell.column.lower() or stem in cell.unit.lower())


def _time(done: Checked, grounds: Grounds) -> None:
    """A timeline's time is one reference to a time, or words."""
    found = marks(done.text)
    if not found:
        return
    whole = len(found) == 1 and found[0].end - found[0].start == len(done.text.strip())
    value = resolve(found[0].ref, grounds.ledger).value
    if not whole or not (isinstance(value, str) and _STAMP.match(value)):
        done.problems.append(f"the time {done.text[:60]!r} must be one reference to a time column, or plain words")

"""What a model is told of what it wrote: what does not hold, and what would be shown as less than it was meant as."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Literal

from agent_tools.evidence import FOUND, Ledger
from agent_tools.gate.clauses import SUBJECTS
from agent_tools.gate.vocabulary import COMPARING, DENYING, SUPERLATIVE, word_set
from agent_tools.gate.words import listed
from agent_tools.references import BadReference, cited, resolve

Written = Literal["verdict", "answer"]
_BECOME: dict[Written, str] = {
    "verdict": "a headline is replaced, and any other becomes a hypothesis",
    "answer": "they become hypotheses",
}
_LATER = word_set("later earlier afterwards afterward before after then followed follows following preceded")
_OF_HOW_MANY = word_set("only all both each every one ones everyone alone most")
_HELP: tuple[tuple[frozenset[str], str], ...] = (
    (
        DENYING,
        "what there was none of stands with the cell that counts it as zero, or with an empty answer's own count ([[E7.row_count]])",
    ),
    (
        _OF_HOW_MANY,
        "of how many it is so holds where the clause cites one answer that was shown whole, and nothing of another, and its rows say so",
    ),
    (_LATER, "what came first or later is told with the times of both, each in its own clause"),
    (
        (COMPARING | SUPERLATIVE) - _LATER - _OF_HOW_MANY,
        "what is more, less or most stands with both figures of one column, or with the column of that name (a max, a min, a rise)",
    ),
)
"""Kinds of words, and with which cells beside them they pass."""
_FEW, _SHORT = 4, 60
"""Columns that a refusal describes, and how much of each description."""


def helped(words: Sequence[str]) -> str:
    """How words that nothing backed can be said so that something does, by their kinds; "" where no kind is known."""
    low = {w.lower() for w in words}
    return "; ".join(
        text for kind, text in _HELP if low & kind or (kind is DENYING and any(w.endswith("n't") for w in low))
    )


def described(text: str, ledger: Ledger) -> list[str]:
    """The first few columns that a text cites, each with what it says of itself; what only names whose a row is, is left out."""
    told: dict[str, str] = {}
    for ref in cited([text]):
        with suppress(BadReference):
            cell = resolve(ref, ledger)
            if cell.column not in SUBJECTS and cell.column != FOUND:
                told[cell.column] = cell.doc
    return [f"{name}: {doc[:_SHORT]}" if doc else name for name, doc in list(told.items())[:_FEW]]


def remedy(words: Sequence[str], columns: Sequence[str] = ()) -> str:
    """What is wrong with a sentence of such words, and what helps; `columns` are those that it cites, as they are described."""
    more = f" ({how})" if (how := helped(words)) else ""
    strange = [w for w in words if not any(w.lower() in kind for kind, _ in _HELP)]
    own = f" ({'; '.join(columns)}) without these words, or" if columns and strange else ","
    return f"says {listed(words)}, which nothing that it cites says{more}: say what the cells show{own} cite the row that says it"


def beyond(place: str, words: Sequence[str]) -> str:
    """A sentence that says more than what it cites, by its place."""
    return f"{place} says {listed(words)}{f' ({more})' if (more := helped(words)) else ''}"


def refusal(what: Written, problems: Sequence[str], further: Sequence[str]) -> str:
    """The words for the one who writes again. `problems` have to be mended; `further` are sentences that say more than what
    they cite, as `beyond` names them."""
    parts: list[str] = []
    if problems:
        parts.append(f"The {what} does not hold yet. Mend this and answer again:")
        parts += [f"- {p}" for p in problems]
    if further:
        lead = "These too" if problems else f"The {what} holds, but these sentences"
        parts.append(
            f"{lead} say more than what they cite. As they stand {_BECOME[what]}. Say what the cells say, cite the row that says it, "
            "or leave them so, and answer again:"
        )
        parts += [f"- {p}" for p in further]
    return "\n".join(parts)

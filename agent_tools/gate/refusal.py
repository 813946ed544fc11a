"""What a model is told of what it wrote: what does not hold, and what would be shown as less than it was meant as."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from agent_tools.gate.words import listed

Written = Literal["verdict", "answer"]
_BECOME: dict[Written, str] = {
    "verdict": "a headline is replaced, and any other becomes a hypothesis",
    "answer": "they become hypotheses",
}


def beyond(place: str, words: Sequence[str]) -> str:
    """A sentence that says more than what it cites, by its place."""
    return f"{place} says {listed(words)}"


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

"""An answer while it is being written: what of it is whole already, in the order in which it will be read, through the gate.

    {"short": "...", "shows": ["...", "..." ], "impl        the short answer and two observations are whole

The gate is the whole answer's own (`check_answer`), asked about the part that is there. Whatever it cannot say of a part waits
for the whole: a short answer that cites nothing stands only beside something that cannot be answered, which comes last. A
sentence that does not hold ends what is told of an answer, for it will be written again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, cast

from pydantic import ValidationError
from pydantic_core import from_json

from agent_tools.endpoints.written import WrittenAnswer
from agent_tools.questions.answer import Answer

Told = Callable[[Answer], None]
"""Is told the part of an answer that passed the gate, again with each sentence more. An answer that is written again begins anew."""


@dataclass(slots=True)
class Growing:
    """One answer in the making. `passed` is the gate for a part: the part with its figures linked, or None."""

    passed: Callable[[Answer], Answer | None]
    told: Told
    _raw: str = ""
    _said: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    def more(self, piece: str) -> None:
        """The next piece of the answer's JSON."""
        self._raw += piece
        if not any(c in piece for c in '"}]'):
            return  # no sentence can have ended
        whole = list(sentences(self._raw))
        if whole[: len(self._said)] != self._said:
            self._said = []  # a key that came twice: what it says last is what holds
        while len(self._said) < len(whole):
            part = self._passed(whole[: len(self._said) + 1])
            if part is None:
                return
            self._said = whole[: len(self._said) + 1]
            self.told(part)

    def _passed(self, said: list[tuple[str, str]]) -> Answer | None:
        made: dict[str, Any] = {"short": said[0][1]}
        for place, text in said[1:]:
            made.setdefault(place, []).append(text)
        try:
            return self.passed(WrittenAnswer.model_validate(made))
        except ValidationError:
            return None


def sentences(raw: str) -> Iterator[tuple[str, str]]:
    """(place, text) of what is whole in the beginning of an answer's JSON, as far as nothing can come before it any more.

    Only sentences that are written as plain strings: what stands in an object may have a status that is still to come.
    """
    try:
        read = from_json(raw, allow_partial=True)
    except ValueError:
        return
    if not isinstance(read, dict):
        return
    held = cast("dict[str, Any]", read)
    if not isinstance(short := held.get("short"), str):
        return
    yield "short", short
    for place in ("shows", "implies", "hypotheses"):
        items = held.get(place)
        if not isinstance(items, list):
            return  # it may still come
        for item in cast("list[Any]", items):
            if not isinstance(item, str):
                return
            yield place, item
        if place == next(reversed(held)):
            return  # it may go on

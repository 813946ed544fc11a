"""A scripted model that is listened to while it writes: its answers in pieces, some of which break off on their way."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel

from agent_tools import seal
from agent_tools.evidence import Ledger
from agent_tools.questions.answer import Answer
from evals.redteam import oracle

Answers = Callable[[list[ModelMessage], AgentInfo], ModelResponse]
SAID = {"short", "shows", "implies", "cannot_answer", "actions"}


@dataclass(slots=True)
class Spoken:
    """What `answers` says, in pieces of a size by chance. `broke` counts the answers that broke off."""

    answers: Answers
    rng: Random
    share_broken: float = 0.15
    broke: int = 0

    def model(self, name: str) -> FunctionModel:
        """As a model."""
        return FunctionModel(self.answers, stream_function=self._pieces, model_name=name)

    async def _pieces(self, messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
        left = self.rng.randrange(1, 40) if self.rng.random() < self.share_broken else None
        yield ""
        for index, part in enumerate(self.answers(messages, info).parts):
            for piece in self._of(index, part):
                if left == 0:
                    self.broke += 1
                    raise ConnectionError("the answer broke off")
                left = None if left is None else left - 1
                yield piece

    def _of(self, index: int, part: Any) -> list[str | DeltaToolCalls]:
        size = self.rng.choice([1, 7, 40, 4000])
        if isinstance(part, TextPart):
            return [part.content[i : i + size] for i in range(0, len(part.content), size)]
        if not isinstance(part, ToolCallPart):
            return []
        text, called = part.args_as_json_str(), part.tool_call_id
        made: list[str | DeltaToolCalls] = [{index: DeltaToolCall(part.tool_name, "", tool_call_id=called)}]
        return made + [
            {index: DeltaToolCall(json_args=text[i : i + size], tool_call_id=called)} for i in range(0, len(text), size)
        ]


def told(parts: list[Answer], ledger: Ledger) -> list[str]:
    """What is false in the parts of answers that were shown while a model wrote, kept or withdrawn."""
    held = [seal.record(e, True) for e in ledger.all()]
    wrong: dict[str, None] = {}
    for part in parts:
        for lie in oracle.lies(part.model_dump(include=SAID), held, frozenset(), blamed=False):
            wrong[f"shown on the way: {lie}"] = None
    return list(wrong)

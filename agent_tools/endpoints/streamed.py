"""A model that is listened to while it writes. To the one who asks, it answers as always: once, and whole.

Nobody acts on half an answer; the listener alone hears the pieces of the output as they come. Where a model or its endpoint
does not stream, or a stream breaks off, the request is made once more without one, with the patience of every request. It
counts: the framework counts answers, and whoever pays counts requests.

An answer without an end is cut off where that shows, and so is what follows a call that is whole: a small model would go on
until its context or the run's time is spent. The server stops where the connection ends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import httpx2
from pydantic_ai.exceptions import ModelAPIError, ModelHTTPError, UnexpectedModelBehavior, UsageLimitExceeded
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    ModelResponsePart,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
    ToolCallPartDelta,
)
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings

from agent_tools.endpoints.calls import Offered, read
from agent_tools.endpoints.endless import Heard
from agent_tools.endpoints.tamed import offered, written
from agent_tools.endpoints.window import overflow

NOT_STREAMED = frozenset({400, 404, 405, 406, 415, 422, 501})
"""HTTP statuses by which an endpoint may say that it does not stream."""
LONGEST, THOUGHT = 16_000, 60_000
"""Characters of a verdict or an answer, and of what was thought before it, by which each has come to its end."""
BEHIND = 80
"""Characters behind a whole call by which no further one comes."""
KEPT = 400
"""Characters of an answer without an end that stay, for the model to see what it did."""
TWICE = 2
"""Answers without an end after which the model is not asked again."""
SAME = 3
"""The same answer so often in a row, whatever was said to it in between: it will not be another one."""

Listener = Callable[[], Callable[[str], None]]
"""Called where an output begins; gives who hears the pieces of its JSON."""


class EndlessAnswer(UnexpectedModelBehavior):
    """A model's answers have no end, or it gives the same one again and again."""


class Streamed(WrapperModel):
    """A model whose outputs `listen` hears. `whole` holds the names of the models that were found not to stream.

    At most `most` requests are made, whatever becomes of them; one more raises UsageLimitExceeded. `again` counts those that
    were made once more; what the endpoint charges for an answer that broke off is not known. `emit` is told in words where an
    answer is cut off; the second raises EndlessAnswer.
    """

    def __init__(
        self, wrapped: Model, listen: Listener | None, whole: set[str], most: int, emit: Callable[[str], None]
    ) -> None:
        super().__init__(wrapped)
        self._listen = listen
        self._whole = whole
        self._most = most
        self._emit = emit
        self._made = 0
        self._endless = 0
        self._said = list[str]()
        self.again = 0

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """The whole answer. Raises EndlessAnswer."""
        made = await self._asked(messages, model_settings, model_request_parameters)
        said = [
            f"{p.tool_name} {p.args}" if isinstance(p, ToolCallPart) else p.content
            for p in made.parts
            if isinstance(p, TextPart | ToolCallPart)
        ]
        self._said = [*self._said, "\n".join(said)][-SAME:]
        if len(self._said) == SAME and len(set(self._said)) == 1:
            raise EndlessAnswer(f"its answer was the same {SAME} times in a row")
        return made

    async def _asked(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        begun = False
        self._count()
        if self.model_name not in self._whole:
            tools = offered(model_request_parameters)
            try:
                async with self.wrapped.request_stream(messages, model_settings, model_request_parameters) as stream:
                    begun = True
                    why = await self._heard(stream, tools)
                    made = stream.get()
                return self._cut(made, why, tools)
            except EndlessAnswer:
                raise
            except ModelAPIError as error:
                if not begun and _final(error):
                    raise
                if not begun and isinstance(error, ModelHTTPError):
                    self._whole.add(self.model_name)
            except Exception:  # whatever a client does with what is no stream: asked without one, it says what is wrong
                if not begun:
                    self._whole.add(self.model_name)
            self._count()
            self.again += 1
        return await self.wrapped.request(messages, model_settings, model_request_parameters)

    async def _heard(self, stream: StreamedResponse, tools: Sequence[Offered]) -> str:
        """Listen to the end, or until it shows that there is none: why, in words."""
        hearers: dict[int, Callable[[str], None]] = {}
        parts: dict[int, Heard] = {}
        async for event in stream:
            match event:
                case PartStartEvent(index=index, part=ToolCallPart(tool_name=name, args=args)):
                    parts[index] = Heard(LONGEST)
                    if self._listen is not None and not hearers and any(t.output and t.name == name for t in tools):
                        hearers[index] = self._listen()  # the first is the one that counts
                case PartStartEvent(index=index, part=TextPart(content=args) | ThinkingPart(content=args) as part):
                    parts[index] = Heard(LONGEST if isinstance(part, TextPart) else THOUGHT)
                case PartDeltaEvent(index=index, delta=ToolCallPartDelta(args_delta=args)):
                    pass
                case PartDeltaEvent(
                    index=index, delta=TextPartDelta(content_delta=args) | ThinkingPartDelta(content_delta=args)
                ):
                    pass
                case _:
                    continue
            if not isinstance(args, str) or index not in parts:
                continue
            if index in hearers:
                hearers[index](args)
            if parts[index].more(args):
                why = parts[index].endless()
                if why or _called(parts[index].text, tools):
                    return why
        return ""

    def _cut(self, made: ModelResponse, why: str, tools: Sequence[Offered]) -> ModelResponse:
        """The answer as it stands; of one without an end a piece, unless a call stands in it."""
        if not why or read(written(made), tools):
            return made
        self._endless += 1
        self._emit(f"the answer {why}: cut off")
        if self._endless >= TWICE:
            raise EndlessAnswer(f"each of {TWICE} answers {why}, and was cut off")
        return replace(made, parts=[_short(p) for p in made.parts if not isinstance(p, ThinkingPart)])

    def _count(self) -> None:
        if self._made >= self._most:
            raise UsageLimitExceeded(f"The next request would exceed the request_limit of {self._most}")
        self._made += 1


def _called(text: str, tools: Sequence[Offered]) -> bool:
    """Whether a whole call stands in a text, and so much behind it that no further one comes."""
    if "}" not in text or "}" in text[-BEHIND:]:
        return False
    found = read(text, tools)
    return bool(found) and len(text) - found[-1].end > BEHIND


def _short(part: ModelResponsePart) -> ModelResponsePart:
    if isinstance(part, TextPart):
        return replace(part, content=part.content[:KEPT])
    if isinstance(part, ToolCallPart) and isinstance(part.args, str):
        return replace(part, args=part.args[:KEPT])
    return part


def _final(error: ModelAPIError) -> bool:
    """Whether it would be the same without a stream: the transport has tried again already, as often as it was to."""
    if isinstance(error, ModelHTTPError):
        return error.status_code not in NOT_STREAMED or overflow(error) is not None
    root: BaseException | None = error
    while root is not None and not isinstance(root, httpx2.ConnectError | httpx2.ConnectTimeout):
        root = root.__cause__ or root.__context__
    return root is not None

"""A model that is listened to while it writes. To the one who asks, it answers as always: once, and whole.

Nobody acts on half an answer; the listener alone hears the pieces of the output as they come. Where a model or its endpoint
does not stream, or a stream breaks off, the request is made once more without one, with the patience of every request. It
counts: the framework counts answers, and whoever pays counts requests.
"""

from __future__ import annotations

from collections.abc import Callable

import httpx2
from pydantic_ai.exceptions import ModelAPIError, ModelHTTPError, UsageLimitExceeded
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    ToolCallPart,
    ToolCallPartDelta,
)
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings

NOT_STREAMED = frozenset({400, 404, 405, 406, 415, 422, 501})
"""HTTP statuses by which an endpoint may say that it does not stream."""

Listener = Callable[[], Callable[[str], None]]
"""Called where an output begins; gives who hears the pieces of its JSON."""


class Streamed(WrapperModel):
    """A model whose outputs `listen` hears. `whole` holds the names of the models that were found not to stream.

    At most `most` requests are made, whatever becomes of them; one more raises UsageLimitExceeded. `again` counts those that
    were made once more; what the endpoint charges for an answer that broke off is not known.
    """

    def __init__(self, wrapped: Model, listen: Listener, whole: set[str], most: int) -> None:
        super().__init__(wrapped)
        self._listen = listen
        self._whole = whole
        self._most = most
        self._made = 0
        self.again = 0

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """The whole answer."""
        begun = False
        self._count()
        if self.model_name not in self._whole:
            outputs = frozenset(t.name for t in model_request_parameters.output_tools)
            try:
                async with self.wrapped.request_stream(messages, model_settings, model_request_parameters) as stream:
                    begun = True
                    hearers: dict[int, Callable[[str], None]] = {}
                    async for event in stream:
                        match event:
                            case PartStartEvent(index=index, part=ToolCallPart(tool_name=name) as part):
                                if name in outputs and not hearers:  # the first is the one that counts
                                    hearers[index] = self._listen()
                                    _hear(hearers, index, part.args)
                            case PartDeltaEvent(index=index, delta=ToolCallPartDelta(args_delta=args)):
                                _hear(hearers, index, args)
                            case _:
                                pass
                    return stream.get()
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

    def _count(self) -> None:
        if self._made >= self._most:
            raise UsageLimitExceeded(f"The next request would exceed the request_limit of {self._most}")
        self._made += 1


def _final(error: ModelAPIError) -> bool:
    """Whether it would be the same without a stream: the transport has tried again already, as often as it was to."""
    if isinstance(error, ModelHTTPError):
        return error.status_code not in NOT_STREAMED
    root: BaseException | None = error
    while root is not None and not isinstance(root, httpx2.ConnectError | httpx2.ConnectTimeout):
        root = root.__cause__ or root.__context__
    return root is not None


def _hear(hearers: dict[int, Callable[[str], None]], index: int, args: object) -> None:
    if isinstance(args, str) and index in hearers:
        hearers[index](args)

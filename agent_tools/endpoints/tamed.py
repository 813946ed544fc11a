"""A model whose answers are read as they were meant, and whose own slips are not sent back to it in a form that its server refuses."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from pydantic_ai.messages import ModelMessage, ModelResponse, ModelResponsePart, TextPart, ToolCallPart
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings

from agent_tools.endpoints.calls import Offered, read, taken

SENT_BACK = 200
"""Characters of arguments that are no JSON which a model is shown again."""


class Tamed(WrapperModel):
    """The model that it wraps, for the one who asks."""

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """The answer, with calls where calls were meant."""
        made = await self.wrapped.request(sendable(messages), model_settings, model_request_parameters)
        return tamed(made, offered(model_request_parameters))


def offered(parameters: ModelRequestParameters) -> list[Offered]:
    """The tools of a request."""
    own = [Offered(t.name, t.parameters_json_schema) for t in parameters.function_tools]
    return [*own, *(Offered(t.name, t.parameters_json_schema, output=True) for t in parameters.output_tools)]


def tamed(response: ModelResponse, tools: Sequence[Offered]) -> ModelResponse:
    """An answer whose calls are made of what was written; the answer itself where nothing has to be."""
    if any(isinstance(p, ToolCallPart) for p in response.parts):
        return replace(response, parts=[_mended(p, tools) for p in response.parts])
    found = read(written(response), tools)
    if not found:
        return response
    kept: list[ModelResponsePart] = [p for p in response.parts if not isinstance(p, TextPart)]
    calls = [ToolCallPart(call.name, call.arguments) for call in found]
    return replace(response, parts=[*kept, *calls], finish_reason="tool_call")


def written(response: ModelResponse) -> str:
    """The text of an answer, without what was thought."""
    return "".join(p.content for p in response.parts if isinstance(p, TextPart))


def _mended(part: ModelResponsePart, tools: Sequence[Offered]) -> ModelResponsePart:
    if not isinstance(part, ToolCallPart) or (call := taken(part.tool_name, part.args, tools)) is None:
        return part
    return replace(part, tool_name=call.name, args=call.arguments)


def sendable(messages: list[ModelMessage]) -> list[ModelMessage]:
    """The messages without arguments that are no JSON object: llama.cpp and others answer those with an error of their own."""
    return [
        replace(m, parts=[_sendable(p) for p in m.parts]) if isinstance(m, ModelResponse) and m.tool_calls else m
        for m in messages
    ]


def _sendable(part: ModelResponsePart) -> ModelResponsePart:
    if not isinstance(part, ToolCallPart) or not isinstance(part.args, str):
        return part
    try:
        whole = isinstance(json.loads(part.args or "{}"), dict)
    except ValueError:
        whole = False
    return part if whole else replace(part, args={"unreadable": part.args[:SENT_BACK]})

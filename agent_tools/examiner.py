"""The examiner: the deterministic model. It needs no key and no network, calls the same tools, passes the same gate.

It asks for the overview and the differential, and answers with the draft that the differential attached. The framework
sees an ordinary model at the end of the chain of those that were asked. Where none was, `agent` does the same without the
framework, which takes longer to load than the rest of such a verdict takes.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, ToolCallPart, ToolReturnPart
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import RequestUsage

NAME = "examiner"
_ASKED = ("overview", "differential")


class Examiner(Model):
    """Answers from the differential alone."""

    def __init__(self) -> None:
        # Not the framework's own, which loads the prices and sizes of every model there is: the examiner costs nothing.
        self._settings = None
        self._profile = ModelProfile(context_window=None)

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """First the tools, then the draft that they brought."""
        draft = _attached(messages)
        if draft is None:
            offered = {tool.name for tool in model_request_parameters.function_tools}
            calls = [ToolCallPart(name, {}, tool_call_id=f"examiner-{name}") for name in _ASKED if name in offered]
        else:
            calls = [ToolCallPart(model_request_parameters.output_tools[0].name, draft, tool_call_id="examiner-answer")]
        return ModelResponse(parts=list(calls), model_name=NAME, usage=RequestUsage(cost=Decimal(0)))

    @property
    def model_name(self) -> str:
        """Its name."""
        return NAME

    @property
    def system(self) -> str:
        """It is its own provider."""
        return NAME

    @property
    def provider(self) -> None:
        """No provider: nothing leaves the process."""
        return


def _attached(messages: list[ModelMessage]) -> dict[str, Any] | None:
    for message in reversed(messages):
        if isinstance(message, ModelRequest):
            for part in message.parts:
                if isinstance(part, ToolReturnPart) and part.tool_name == "differential" and part.metadata:
                    return dict(part.metadata)
    return None

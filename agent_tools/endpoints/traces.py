"""Traces of what a model was asked and what it called, after OpenTelemetry's conventions for generative models. Off by default.

`INQUEST_TRACES=1` gives spans with models, tools, tokens and times to whatever tracer the process has (`opentelemetry-instrument
inquest why ...`); `INQUEST_TRACES=content` puts what was said into them too, which holds text of the cluster's users.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic_ai import Agent

VARIABLE = "INQUEST_TRACES"


def traced(agent: Agent[Any, Any]) -> None:
    """Have an agent's runs traced, where the environment asks for it."""
    wanted = os.environ.get(VARIABLE, "").strip().lower()
    if wanted in ("1", "true", "yes", "content"):
        from pydantic_ai.models.instrumented import InstrumentationSettings

        content = wanted == "content"
        agent.instrument = InstrumentationSettings(
            include_content=content, include_model_request_parameters=content, include_binary_content=False
        )

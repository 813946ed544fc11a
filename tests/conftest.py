"""No test can reach a model by accident: requests are refused, and no key or address of one is in the environment."""

from __future__ import annotations

import os

import pydantic_ai.models
import pytest

pydantic_ai.models.ALLOW_MODEL_REQUESTS = False

for _name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "INQUEST_MODEL"):
    os.environ.pop(_name, None)


@pytest.fixture
def anyio_backend() -> str:
    """Tests that are coroutines run on asyncio, as the program does."""
    return "asyncio"


@pytest.fixture
def allow_model_requests():
    """For a test that speaks to a server of its own on this host."""
    with pydantic_ai.models.override_allow_model_requests(True):
        yield

"""Does an endpoint refuse a request because its context window is too small for it? Each server says so in its own words.

request (5010 tokens) exceeds the available context size (2048 tokens), try increasing it                  llama.cpp
This model's maximum context length is 4096 tokens. However, your request has 5010 input tokens            vLLM, OpenAI
Requested tokens (5010) exceed context window of 2048                                                      llama-cpp-python
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, cast

from pydantic_ai.exceptions import ModelContextWindowExceededError, ModelHTTPError

from store import lazy

_SAID = lazy.compile(
    r"(?i)exceed_context_size|context_length_exceeded|context (?:size|length|window)|\bprompt is too long|\bn_ctx\b|too many (?:input )?tokens"
)
_WINDOW = lazy.compile(
    r"(?i)(?:context (?:size|length|window)|max_model_len|n_ctx)\D{0,24}?(\d[\d,]*)|(\d[\d,]*)[- ]tokens? (?:context|window)"
)
_ASKED = lazy.compile(
    r"(?i)request(?:ed)?(?: tokens)? \((\d[\d,]*)|(?:has|requested|resulted in|contains?) (\d[\d,]*) (?:input )?tokens|(\d[\d,]*) input tokens"
)
STATUSES = frozenset({400, 413, 422, 500})


@dataclass(frozen=True, slots=True)
class Overflow:
    """Tokens that were asked with and that the window has, where the endpoint says so."""

    asked: int | None = None
    window: int | None = None

    def __str__(self) -> str:
        """What is wrong and what helps, for a note."""
        window = f" of {self.window:,} tokens" if self.window else ""
        asked = f" ({self.asked:,} tokens)" if self.asked else ""
        return f"its context window{window} does not hold what it is asked{asked}: start its server with a larger one"


def overflow(error: BaseException) -> Overflow | None:
    """What an endpoint said of its window; None for any other error."""
    if not isinstance(error, ModelHTTPError) or error.status_code not in STATUSES:
        return Overflow() if isinstance(error, ModelContextWindowExceededError) else None
    given = cast("Any", error.body)
    text = str(given)
    body = cast("dict[str, Any]", given if isinstance(given, dict) else {})
    if not isinstance(error, ModelContextWindowExceededError) and not _SAID.search(text):
        return None
    return Overflow(
        _count(body, "n_prompt_tokens") or _number(_ASKED, text), _count(body, "n_ctx") or _number(_WINDOW, text)
    )


def _count(body: dict[str, Any], name: str) -> int | None:
    value = body.get(name)
    return value if isinstance(value, int) else None


def _number(pattern: re.Pattern[str], text: str) -> int | None:
    found = pattern.search(text)
    return int(next(g for g in found.groups() if g).replace(",", "")) if found else None

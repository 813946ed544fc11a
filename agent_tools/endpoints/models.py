"""From a model's name to something that can be asked: OpenAI-compatible endpoints with retries, or any pydantic-ai name.

`openai:NAME` and a plain `NAME` speak chat completions to OPENAI_BASE_URL (default: OpenAI's own) with OPENAI_API_KEY,
`openai-responses:NAME` the responses API; a name with another provider in front (`anthropic:...`) is pydantic-ai's to resolve.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any, cast

import httpx2
import tenacity
from openai import AsyncOpenAI, OpenAIError
from pydantic_ai.exceptions import UserError
from pydantic_ai.models import Model, infer_model
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers import infer_provider_class
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.retries import AsyncHTTPX2TenacityTransport, RetryConfig, wait_retry_after

from agent_tools.endpoints.remedies import lasting

RETRIED = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
"""HTTP statuses that may pass by themselves."""
LONGEST = 16 << 20
"""Bytes of one answer; a verdict has some thousands, a stream of one some hundred times that."""
_OF_THE_WAY = frozenset({"content-encoding", "content-length", "transfer-encoding"})


class ModelUnavailable(Exception):
    """A model that cannot be asked: unknown name, missing key or package. The text says what would mend it."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long one request is tried. `seconds` bounds all tries of one request together."""

    attempts: int = 5
    seconds: float = 60.0
    request_s: float = 120.0
    wait_s: float = 0.5
    wait_max_s: float = 15.0


@dataclass(slots=True)
class Failing:
    """How the last try of a request failed, while it is tried again: a run that is out of time by then has no other reason to tell."""

    last: BaseException | None = None

    def failed(self, state: tenacity.RetryCallState) -> None:
        """Note what a try ended with, before the next one."""
        self.last = state.outcome.exception() if state.outcome is not None else None

    def answered(self, response: httpx2.Response) -> None:
        """Forget it where an answer came. Raises httpx2.HTTPStatusError for a status that may pass."""
        _raise_if_passing(response)
        self.last = None


@asynccontextmanager
async def opened(name: str | Model, patience: Patience, failing: Failing | None = None) -> AsyncGenerator[Model]:
    """The model of a name, its connections closed at the end; `failing` is told how tries fail. Raises ModelUnavailable."""
    if isinstance(name, Model):
        yield name
        return
    provider, _, rest = name.partition(":")
    kind: type[OpenAIChatModel | OpenAIResponsesModel] = OpenAIChatModel
    if provider in ("openai", "openai-chat", "openai-responses") and rest:
        name = rest
        kind = OpenAIResponsesModel if provider == "openai-responses" else OpenAIChatModel
    elif rest:
        with _mended(name):
            model = infer_model(name) if _known(provider) else None
        if model is not None:
            yield model
            return
    async with httpx2.AsyncClient(
        transport=transport(patience, failing=failing), timeout=httpx2.Timeout(patience.request_s, connect=10.0)
    ) as client:
        with _mended(name):
            model = _openai(name, client, kind)
        yield model


@contextmanager
def _mended(name: str) -> Generator[None]:
    try:
        yield
    except (UserError, ImportError, ValueError, OpenAIError) as error:
        raise ModelUnavailable(f"model {name!r} cannot be asked: {error}") from error


def _known(provider: str) -> bool:
    try:
        infer_provider_class(provider)
    except ValueError:
        return False
    return True


def _openai(name: str, client: httpx2.AsyncClient, kind: type[OpenAIChatModel | OpenAIResponsesModel]) -> Model:
    """A model of OpenAI's interfaces whose retries are all in the client's transport."""
    settled = OpenAIProvider(http_client=client).client
    direct = AsyncOpenAI(base_url=settled.base_url, api_key=settled.api_key, http_client=client, max_retries=0)
    return kind(name, provider=OpenAIProvider(openai_client=direct))


def transport(
    patience: Patience, wrapped: httpx2.AsyncBaseTransport | None = None, failing: Failing | None = None
) -> AsyncHTTPX2TenacityTransport:
    """A transport that tries again, with jitter and as the server asks, until its attempts or its time are spent."""
    backoff = tenacity.wait_exponential(multiplier=patience.wait_s, max=patience.wait_max_s) + tenacity.wait_random(
        0, patience.wait_s
    )
    seen = failing or Failing()
    return AsyncHTTPX2TenacityTransport(
        RetryConfig(
            retry=tenacity.retry_if_exception(_passing),
            wait=wait_retry_after(fallback_strategy=backoff, max_wait=patience.wait_max_s),
            stop=tenacity.stop_after_attempt(patience.attempts) | tenacity.stop_before_delay(patience.seconds),
            before_sleep=seen.failed,
            reraise=True,
        ),
        wrapped=_Whole(wrapped or httpx2.AsyncHTTPTransport()),
        validate_response=seen.answered,
    )


class TooLong(Exception):
    """An endpoint's answer is longer than any answer is."""


class _Whole(httpx2.AsyncBaseTransport):
    """Reads an answer to its end before it is handed on, so that one that was cut off on its way is asked for again.

    A stream of events is handed on as it comes: who listens to it asks again where it is cut. Neither goes on for more than
    `LONGEST` bytes, unpacked: an endpoint that sends without end would take the host's memory within seconds.
    """

    def __init__(self, wrapped: httpx2.AsyncBaseTransport) -> None:
        self._wrapped = wrapped

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        request.headers["accept-encoding"] = "identity"
        response = await self._wrapped.handle_async_request(request)
        kind, packed = response.headers.get("content-type", ""), "content-encoding" in response.headers
        if response.status_code == 200 and kind.startswith("text/event-stream") and not packed:
            response.stream = _Bounded(cast("httpx2.AsyncByteStream", response.stream))
            return response
        try:
            body = bytearray()
            async for piece in response.aiter_bytes():
                body += piece
                _bounded(len(body))
        finally:
            await response.aclose()
        if response.status_code == 200 and (told := failure(bytes(body))) is not None:
            status, words = told
            return httpx2.Response(status, json={"error": {"message": f"in an answer with status 200: {words}"}})
        plain = [(k, v) for k, v in response.headers.multi_items() if k.lower() not in _OF_THE_WAY]
        return httpx2.Response(response.status_code, headers=plain, content=bytes(body), extensions=response.extensions)

    async def aclose(self) -> None:
        await self._wrapped.aclose()


def failure(body: bytes) -> tuple[int, str] | None:
    """The status and the words of an error that was sent as if it were an answer; None where it is none.

    {"error": {"message": "overloaded", "code": 503}}     {"object": "error", "message": "the model is loading"}     {"detail": "..."}
    """
    try:
        held: Any = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(held, dict) or {"choices", "output"} & cast("dict[str, Any]", held).keys():
        return None
    told: dict[str, Any] = cast("dict[str, Any]", held)
    error: Any = told.get("error") or (told if told.get("object") == "error" else None) or told.get("detail")
    words: Any = cast("dict[str, Any]", error).get("message") if isinstance(error, dict) else error
    if not isinstance(words, str) or not words.strip():
        return None
    code: Any = cast("dict[str, Any]", error).get("code") if isinstance(error, dict) else None
    return code if isinstance(code, int) and 400 <= code < 600 else 500, words


class _Bounded(httpx2.AsyncByteStream):
    """A stream that ends with TooLong where it should have ended long ago."""

    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for piece in self._stream:
            size += len(piece)
            _bounded(size)
            yield piece

    async def aclose(self) -> None:
        await self._stream.aclose()


def _bounded(size: int) -> None:
    if size > LONGEST:
        raise TooLong(f"its endpoint's answer is longer than {LONGEST >> 20} MiB")


def _passing(error: BaseException) -> bool:
    return isinstance(error, httpx2.HTTPStatusError | httpx2.TransportError) and not lasting(error)


def _raise_if_passing(response: httpx2.Response) -> None:
    if response.status_code in RETRIED:
        response.raise_for_status()

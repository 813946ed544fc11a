"""The chat-completions interface of OpenAI, answered by inquest: any client or chat window that speaks it can ask.

    client = openai.OpenAI(base_url="http://localhost:8746/v1", api_key=TOKEN)
    client.chat.completions.create(model="inquest", messages=[{"role": "user", "content": "why did job 4812 fail?"}])

The answer is Markdown, has passed the gate whole, and is as long as it is: sampling, tools and limits of the request are not
heeded. A conversation that comes back with our own answers unchanged goes on with what was looked at before; any other begins
anew, with the job that its user named last.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal
from uuid import uuid4

from fastapi import APIRouter, HTTPException, Path, Request, Response
from fastapi.encoders import jsonable_encoder
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, StreamingResponse
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict, Field

from agent_tools.endpoints.drive import Limits
from agent_tools.questions.investigation import MAX_QUESTION, Investigation
from agent_tools.questions.lookup import job_of
from agent_tools.viewer import Viewer
from inquest.render.reply import reply_markdown
from inquest.serve.aside import aside
from inquest.serve.events import STILL, Send, events
from inquest.serve.evidence_routes import Opened
from inquest.serve.invalid import invalid

MODEL = "inquest"
MAX_MESSAGES = 200
MOST_KEPT = 64
KEPT_S = 1800.0
Text = Annotated[str, Field(max_length=200_000)]


class Part(BaseModel):
    """A piece of a message; only text is understood."""

    type: Literal["text"]
    text: Text


class Message(BaseModel):
    """One message of a conversation; only the user's and our own count."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: Text | Annotated[list[Part], Field(max_length=64)] | None = None

    def said(self) -> str:
        """Its text."""
        parts = self.content if isinstance(self.content, list) else [Part(type="text", text=self.content or "")]
        return "\n".join(p.text for p in parts)


class Streaming(BaseModel):
    """What a stream is to hold besides."""

    model_config = ConfigDict(extra="allow")

    include_usage: bool | None = None


class Asked(BaseModel):
    """A request; what is not named here is taken and not heeded."""

    model_config = ConfigDict(extra="allow")

    model: Annotated[str, Field(max_length=200)]
    messages: list[Message] = Field(min_length=1, max_length=MAX_MESSAGES)
    stream: bool = False
    stream_options: Streaming | None = None


class _Route(APIRoute):
    """A route whose troubles are told as this interface tells them, besides as ours."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        inner = super().get_route_handler()

        async def handler(request: Request) -> Response:
            try:
                return await inner(request)
            except HTTPException as error:
                told = {"detail": str(error.detail), "error": problem(str(error.detail), error.status_code)}
                return JSONResponse(told, error.status_code, error.headers)
            except RequestValidationError as error:
                detail = jsonable_encoder(error.errors())
                return JSONResponse({"detail": detail, "error": problem(invalid(error), 422)}, 422)

        return handler


def problem(message: str, status: int) -> dict[str, Any]:
    """What went wrong, as clients of this interface look for it."""
    kind = "invalid_request_error" if status < 500 else "server_error"
    return {"message": message, "type": kind, "param": None, "code": status}


@dataclass(slots=True)
class Kept:
    """What was looked at in conversations that may go on, by what was said in them; the least recent one goes first."""

    clock: Callable[[], float] = time.monotonic
    _held: OrderedDict[str, tuple[float, Investigation]] = field(
        default_factory=OrderedDict[str, "tuple[float, Investigation]"]
    )

    def put(self, who: Viewer, said: list[tuple[str, str]], found: Investigation) -> None:
        """Keep a conversation whose last message is our answer."""
        self._held[_key(who, said)] = (self.clock(), found)
        while len(self._held) > MOST_KEPT:
            self._held.popitem(last=False)

    def take(self, who: Viewer, said: list[tuple[str, str]]) -> Investigation | None:
        """The investigation behind what was said so far; nobody else's goes on with it meanwhile."""
        at, found = self._held.pop(_key(who, said), (0.0, None))
        return found if found is not None and self.clock() - at <= KEPT_S else None


def completion_routes(opened: Opened, who: Any, model: str | None, limits: Limits) -> APIRouter:
    """The operations. `who` is the annotation of the parameter that gives the viewer."""
    router = APIRouter(route_class=_Route, tags=["chat completions"])
    kept = Kept()
    begun = int(time.time())
    described = {"id": MODEL, "object": "model", "created": begun, "owned_by": "inquest"}

    async def models(viewer: Viewer) -> dict[str, Any]:
        """The one model that there is."""
        return {"object": "list", "data": [described]}

    async def one_model(viewer: Viewer, model: Annotated[str, Path(max_length=200)]) -> dict[str, Any]:
        """The same by its name."""
        if model != MODEL:
            raise HTTPException(404, f"there is one model here, {MODEL!r}")
        return described

    async def completions(viewer: Viewer, request: Request, body: Asked) -> Response:
        """An answer as one message in Markdown, or with `stream` as server-sent events."""
        if body.model != MODEL:
            raise HTTPException(404, f"there is one model here, {MODEL!r}")
        said = [(m.role, m.said()) for m in body.messages if m.role in ("user", "assistant")]
        question = said[-1][1].strip() if said and said[-1][0] == "user" else ""
        if not question or len(question) > MAX_QUESTION:
            raise HTTPException(400, f"the last message has to be a user's, of 1 to {MAX_QUESTION} characters")

        async def answer(send: Send) -> tuple[str, int]:
            async with opened(viewer) as fresh:
                found = kept.take(viewer, said[:-1]) or fresh
                found.reader = fresh.reader
                job = next((j for role, text in reversed(said) if role == "user" and (j := job_of(text))), None)
                if job and job != found.job_id:
                    try:
                        found.open(job)
                    except KeyError as error:
                        raise HTTPException(404, str(error.args[0])) from error
                reply = await found.ask_async(
                    question, model=model, limits=limits, on_event=lambda text: send("step", text)
                )
                text = reply_markdown(reply, found.ledger)
                kept.put(viewer, [*said, ("assistant", text)], found)
                return text, reply.provenance.tokens

        id, at = f"chatcmpl-{uuid4().hex}", int(time.time())
        if body.stream:
            told = body.stream_options is not None and bool(body.stream_options.include_usage)
            return StreamingResponse(_chunks(events(answer), id, at, told), media_type="text/event-stream")
        text, tokens = await aside(lambda: answer(_unheard), request.is_disconnected)
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        made = {
            "id": id,
            "object": "chat.completion",
            "created": at,
            "model": MODEL,
            "choices": [choice],
            "usage": _usage(tokens),
        }
        return JSONResponse(made)

    for handler in (models, one_model, completions):
        handler.__annotations__["viewer"] = who
    router.add_api_route("/v1/models", models, methods=["GET"], name="models", summary="Models")
    router.add_api_route("/v1/models/{model}", one_model, methods=["GET"], name="model", summary="Model")
    streamed: dict[int | str, dict[str, Any]] = {200: {"content": {"application/json": {}, "text/event-stream": {}}}}
    router.add_api_route(
        "/v1/chat/completions",
        completions,
        methods=["POST"],
        name="chat_completions",
        summary="Chat completions",
        response_class=Response,
        responses=streamed,
    )
    return router


def _usage(tokens: int) -> dict[str, int]:
    """Tokens that our own model took, where there is one; which of them it wrote is not counted."""
    return {"prompt_tokens": tokens, "completion_tokens": 0, "total_tokens": tokens}


async def _chunks(made: AsyncGenerator[tuple[str, Any]], id: str, at: int, used: bool) -> AsyncGenerator[str]:
    """The answer as chunks, and where `used` is wanted one behind them without a choice. Steps are comments: what is shown
    on the way could not be taken back."""
    common: dict[str, Any] = {"id": id, "object": "chat.completion.chunk", "created": at, "model": MODEL}

    def chunk(delta: dict[str, str], finish: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return _data({**common, "choices": [choice], **({"usage": None} if used else {})})

    yield chunk({"role": "assistant", "content": ""})
    async with aclosing(made):
        async for name, data in made:
            if name == "step":
                yield f": {' '.join(str(data).split())[:200]}\n\n"
            elif name == "quiet":
                yield STILL
            elif name == "reply":
                for line in data[0].splitlines(keepends=True):
                    yield chunk({"content": line})
                yield chunk({}, "stop")
                if used:
                    yield _data({**common, "choices": [], "usage": _usage(data[1])})
            elif name == "problem":
                yield _data({"error": problem(str(data), 500)})
    yield "data: [DONE]\n\n"


def _unheard(name: str, data: Any) -> None:
    """Where nobody listens on the way."""


def _data(value: Any) -> str:
    return f"data: {json.dumps(value)}\n\n"


def _key(who: Viewer, said: list[tuple[str, str]]) -> str:
    return hashlib.sha256(json.dumps([who.user, who.operator, said]).encode("utf-8", "surrogatepass")).hexdigest()

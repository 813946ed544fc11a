"""A small HTTP API: health, jobs, verdicts, evidence, questions, with bearer tokens and limits; MCP beside it at /mcp."""

from __future__ import annotations

import logging
import math
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from fastapi import Depends, FastAPI, HTTPException, Query, Request
from fastapi.responses import JSONResponse, StreamingResponse
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import BaseModel, ConfigDict, Field

from agent_tools.agent import diagnose_async
from agent_tools.endpoints.drive import Limits
from agent_tools.questions.investigation import MAX_QUESTION, Investigation
from agent_tools.seal import finite
from agent_tools.viewer import Forbidden, Viewer, seen_by
from inquest import __version__
from inquest.commands import Failure
from inquest.render.reply import reply_json
from inquest.render.show import json_value
from inquest.serve.aside import Gone, aside
from inquest.serve.bounds import bounded
from inquest.serve.completions import completion_routes
from inquest.serve.console import Serving, console_routes
from inquest.serve.events import Send, as_text, events, told
from inquest.serve.evidence_routes import evidence_routes
from inquest.serve.moment import Moment
from inquest.serve.tokens import Holders, Rate, digest
from inquest.serve.toolbox import Toolbox
from inquest.serve.turns import Turns
from store import Reader
from store.result import QueryTimeout, StoreError

_LOG = logging.getLogger(__name__)
JobId = Annotated[str, Field(pattern=r"^[0-9]{1,10}([_+][0-9]{1,7})?$")]


@dataclass(slots=True)
class Settings:
    """What a server serves and to whom."""

    lake: Path
    holders: Mapping[str, Viewer]
    model: str | None = None
    limits: Limits = field(default_factory=Limits)
    per_minute: int = 60
    at_once: int = 4
    host: str = "127.0.0.1"


class Problem(BaseModel):
    """What went wrong, in words that say how to go on."""

    detail: str


class Question(BaseModel):
    """A question about a job, or about the fleet where none is named."""

    model_config = ConfigDict(extra="forbid")

    question: str = Field(min_length=1, max_length=MAX_QUESTION)
    job: JobId | None = None


class Health(BaseModel):
    """Is the server there and can it read its lake?"""

    status: str
    version: str
    lake: bool


PROBLEMS: dict[int | str, dict[str, Any]] = {
    401: {"model": Problem, "description": "no token, or one that is not known or has ended"},
    408: {"model": Problem, "description": "the request did not come in time"},
    413: {"model": Problem, "description": "the request is too large"},
    404: {"model": Problem, "description": "no such thing, or not this viewer's"},
    400: {"model": Problem, "description": "a question that cannot be asked"},
    429: {"model": Problem, "description": "too many requests; Retry-After says when"},
    503: {"model": Problem, "description": "too much at once, or the lake or the tokens cannot be read"},
    504: {"model": Problem, "description": "the query ran past its time: ask more narrowly"},
}


BEARER = HTTPBearer(auto_error=False, description="a token of `inquest serve --new-token USER`")


def viewer_of(request: Request, credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(BEARER)]) -> Viewer:
    """Who asks. Raises HTTPException 401 or 429."""
    return request.app.state.holder(credentials)


Who = Annotated[Viewer, Depends(viewer_of)]


def app(settings: Settings) -> FastAPI:
    """The application."""
    rate = Rate(settings.per_minute)
    turns = Turns(settings.at_once)

    def holder(credentials: HTTPAuthorizationCredentials | None) -> Viewer:
        ended = None
        try:
            key = digest(credentials.credentials) if credentials is not None else ""
            viewer = settings.holders.get(key)
            if viewer is None and isinstance(settings.holders, Holders):
                ended = settings.holders.ended(key)
        except Failure as error:
            _LOG.error("%s", error)
            raise HTTPException(503, "who may ask cannot be read now; the server's log says why") from error
        if ended is not None:
            said = f"this token ended on {ended:%Y-%m-%d %H:%M} UTC: ask who runs this server for a new one (`inquest serve --new-token USER`)"
            raise HTTPException(
                401, said, {"WWW-Authenticate": 'Bearer error="invalid_token", error_description="the token has ended"'}
            )
        if viewer is None:
            said = "a bearer token is needed: send 'Authorization: Bearer TOKEN'; `inquest serve --new-token USER` makes one"
            raise HTTPException(401, said, {"WWW-Authenticate": "Bearer"})
        if (wait := math.ceil(rate.wait_s(f"{viewer.user}:{viewer.operator}"))) > 0:
            said = f"too many requests: {settings.per_minute} a minute are allowed; ask again in {wait} s"
            raise HTTPException(429, said, {"Retry-After": str(wait)})
        return viewer

    @asynccontextmanager
    async def investigation(
        viewer: Viewer, job: str | None = None, *, brief: bool = False
    ) -> AsyncGenerator[Investigation]:
        with turns.query() if brief else turns.diagnosis(viewer), _told(), Reader(settings.lake) as reader:
            found = Investigation(seen_by(reader, viewer))
            if job is not None:
                try:
                    found.open(job)
                except KeyError as error:
                    raise HTTPException(404, str(error.args[0])) from error
            yield found

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[None]:
        async with mcp.session_manager.run():
            yield

    api = FastAPI(
        title="inquest",
        version=__version__,
        summary="Why did this GPU training job fail?",
        lifespan=lifespan,
        responses=PROBLEMS,
        docs_url=None,  # the framework's own load scripts from elsewhere
        redoc_url=None,
    )

    api.state.holder = holder

    @api.get("/health", responses={})
    def health() -> Health:  # pyright: ignore[reportUnusedFunction]
        """Is the server there?"""
        return Health(status="ok", version=__version__, lake=(settings.lake / "lake.json").is_file())

    @api.get("/v1/jobs")
    async def jobs(  # pyright: ignore[reportUnusedFunction]
        who: Who,
        request: Request,
        user: Annotated[str | None, Query(max_length=64)] = None,
        state: Annotated[str | None, Query(max_length=32)] = None,
        node: Annotated[str | None, Query(max_length=128)] = None,
        family: Annotated[str | None, Query(max_length=2)] = None,
        since: Moment | None = None,
        until: Moment | None = None,
        limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    ) -> dict[str, Any]:
        """Attempts of jobs, newest first, with their stored verdicts."""
        given: dict[str, Any] = {
            "user": user,
            "state": state,
            "node": node,
            "family": family,
            "since": since,
            "until": until,
        }

        async def work() -> dict[str, Any]:
            async with investigation(who, brief=True) as found:
                result = found.ledger.ask(
                    found.reader, "find_jobs", max_rows=limit, **{k: v for k, v in given.items() if v is not None}
                )
            return {"jobs": finite(result.dicts()), "row_count": result.row_count, "truncated": result.truncated}

        return await aside(work, request.is_disconnected)

    @api.get("/v1/jobs/{job}/verdict")
    async def verdict(  # pyright: ignore[reportUnusedFunction]
        who: Who, request: Request, job: JobId, attempt: Annotated[int | None, Query(ge=1, le=10_000)] = None
    ) -> dict[str, Any]:
        """The sealed verdict on a job, with its sentences filled under `rendered`."""

        async def work() -> dict[str, Any]:
            async with investigation(who, job) as found:
                known = [row["attempt"] for row in found.reader.ask("job_attempts", job_id=job).dicts()]
                if attempt is not None and attempt not in (known or [1]):
                    raise HTTPException(404, f"no attempt {attempt} of job {job}")
                made = await diagnose_async(
                    found.reader, job, attempt=attempt, model=settings.model, limits=settings.limits
                )
                return json_value(made)

        return await aside(work, request.is_disconnected)

    api.include_router(evidence_routes(investigation, Who))
    api.include_router(completion_routes(investigation, Who, settings.model, settings.limits))
    api.include_router(console_routes(Serving(investigation, holder, settings.model, settings.limits)))

    @api.post("/v1/ask")
    async def ask(who: Who, request: Request, body: Question) -> dict[str, Any]:  # pyright: ignore[reportUnusedFunction]
        """An answer whose figures are cells of queries, with the evidence that it rests on."""

        async def work() -> dict[str, Any]:
            async with investigation(who, body.job) as found:
                reply = await found.ask_async(body.question, model=settings.model, limits=settings.limits)
                return finite(reply_json(reply, found.ledger))

        return await aside(work, request.is_disconnected)

    @api.post("/v1/ask/events", response_class=StreamingResponse)
    async def ask_events(who: Who, body: Question) -> StreamingResponse:  # pyright: ignore[reportUnusedFunction]
        """The same as server-sent events: `step` while it looks, `sentence` for each that has passed the gate, `withdrawn`
        where the answer is written again, then one `reply` or `problem`."""

        async def answer(send: Send) -> dict[str, Any]:
            async with investigation(who, body.job) as found:
                reply = await told(found, body.question, settings.model, settings.limits, send)
                return finite(reply_json(reply, found.ledger))

        return StreamingResponse(
            as_text(events(answer)), media_type="text/event-stream", headers={"Cache-Control": "no-store"}
        )

    @api.exception_handler(Forbidden)
    async def forbidden(_: Request, error: Forbidden) -> JSONResponse:  # pyright: ignore[reportUnusedFunction]
        return JSONResponse({"detail": str(error)}, 404)

    @api.exception_handler(Gone)
    async def gone(_: Request, error: Gone) -> JSONResponse:  # pyright: ignore[reportUnusedFunction]
        return JSONResponse({"detail": "the caller went away"}, 503)

    @api.exception_handler(QueryTimeout)
    async def timed_out(_: Request, error: QueryTimeout) -> JSONResponse:  # pyright: ignore[reportUnusedFunction]
        return JSONResponse({"detail": str(error)}, 504)

    @api.exception_handler(StoreError)
    async def store_error(_: Request, error: StoreError) -> JSONResponse:  # pyright: ignore[reportUnusedFunction]
        return JSONResponse({"detail": str(error)}, 400)

    mcp = _mcp(settings, holder)
    api.mount("/mcp", mcp.guarded)
    api.add_middleware(bounded)
    return api


@dataclass(slots=True)
class _Mounted:
    """The MCP server as an application that asks for a token first."""

    session_manager: Any
    guarded: Callable[..., Awaitable[None]]


def _mcp(settings: Settings, holder: Callable[[HTTPAuthorizationCredentials | None], Viewer]) -> _Mounted:
    from inquest.serve.mcp_server import server

    boxes: dict[Viewer, Toolbox] = {}

    def viewer_of(authorization: str) -> Viewer:
        kind, _, token = authorization.partition(" ")
        given = HTTPAuthorizationCredentials(scheme=kind, credentials=token) if kind.lower() == "bearer" else None
        return holder(given)

    def toolbox(request: Any) -> Toolbox:
        viewer: Viewer = request.scope["viewer"]
        if viewer not in boxes:
            reader = seen_by(Reader(settings.lake), viewer)
            boxes[viewer] = Toolbox(Investigation(reader), settings.model, settings.limits)
        return boxes[viewer]

    made = server(toolbox)
    inner = made.streamable_http_app(streamable_http_path="/", host=settings.host)

    async def guarded(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            headers = {k.lower(): v for k, v in scope["headers"]}
            try:
                scope["viewer"] = viewer_of(headers.get(b"authorization", b"").decode("latin-1"))
            except HTTPException as error:
                await JSONResponse({"detail": error.detail}, error.status_code, error.headers)(scope, receive, send)
                return
        await inner(scope, receive, send)

    return _Mounted(made.session_manager, guarded)


@contextmanager
def _told() -> Generator[None]:
    """A lake that cannot be opened is the server's trouble, not the caller's."""
    try:
        yield
    except FileNotFoundError as error:
        raise HTTPException(503, f"the lake cannot be read: {error.strerror}") from error

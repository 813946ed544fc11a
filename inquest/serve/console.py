"""The console: the same jobs, verdicts and questions as the API, as pages for a browser. No script, nothing from elsewhere.

A browser that logged in keeps its token in a cookie that no script can read and that other sites' forms do not bring along.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Annotated, Any
from urllib.parse import parse_qs, quote, urlsplit

from fastapi import APIRouter, Depends, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, RedirectResponse, StreamingResponse
from fastapi.routing import APIRoute
from fastapi.security import HTTPAuthorizationCredentials
from pydantic import ValidationError

from agent_tools.agent import diagnose_async
from agent_tools.endpoints.drive import Limits
from agent_tools.questions.investigation import MAX_QUESTION
from agent_tools.seal import SealError
from agent_tools.verdict import Verdict
from agent_tools.viewer import Viewer
from inquest.render import api_page, console, page
from inquest.render.document import Document
from inquest.render.show import laid_out
from inquest.serve.aside import aside
from inquest.serve.events import Send, events, told
from inquest.serve.evidence_routes import Opened
from inquest.serve.invalid import invalid
from store.result import QueryTimeout, StoreError

COOKIE = "inquest_token"
LASTS_S = 12 * 3600
MAX_FORM = 16_384
MAX_JOBS = 200
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    "Cache-Control": "no-store",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}
Holder = Callable[[HTTPAuthorizationCredentials | None], Viewer]


@dataclass(frozen=True, slots=True)
class Serving:
    """What the pages are made from."""

    opened: Opened
    holder: Holder
    model: str | None
    limits: Limits


class LoggedOut(Exception):
    """Nobody whom we know asks."""


class _Page(APIRoute):
    """A route whose troubles are pages, too."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        inner = super().get_route_handler()

        async def handler(request: Request) -> Response:
            try:
                made = await inner(request)
            except LoggedOut:
                then = request.url.path + (f"?{request.url.query}" if request.url.query else "")
                made = RedirectResponse(f"/login?then={quote(then if request.method == 'GET' else '/', safe='')}", 303)
            except HTTPException as error:
                made = HTMLResponse(
                    console.problem(error.status_code, str(error.detail)), error.status_code, error.headers
                )
            except RequestValidationError as error:
                made = HTMLResponse(console.problem(422, invalid(error)), 422)
            except QueryTimeout as error:
                made = HTMLResponse(console.problem(504, str(error)), 504)
            except StoreError as error:
                made = HTMLResponse(console.problem(404, str(error)), 404)
            made.headers.update(HEADERS)
            return made

        return handler


def viewer_of(request: Request) -> Viewer:
    """Who asks, by the cookie. Raises LoggedOut, and HTTPException 429."""
    token = request.cookies.get(COOKIE)
    if not token:
        raise LoggedOut
    holder: Holder = request.app.state.holder
    try:
        return holder(HTTPAuthorizationCredentials(scheme="cookie", credentials=token))
    except HTTPException as error:
        if error.status_code == HTTPStatus.UNAUTHORIZED:
            raise LoggedOut from error
        raise


Who = Annotated[Viewer, Depends(viewer_of)]


def console_routes(serving: Serving) -> APIRouter:
    """The pages."""
    router = APIRouter(route_class=_Page, include_in_schema=False, default_response_class=HTMLResponse)

    @router.get("/login")
    async def login_form(then: str = "/") -> str:  # pyright: ignore[reportUnusedFunction]
        return console.login(_inside(then))

    @router.post("/login")
    async def login(request: Request) -> Response:  # pyright: ignore[reportUnusedFunction]
        form = await _form(request)
        then, token = _inside(form.get("then", "/")), form.get("token", "").strip()
        try:
            serving.holder(HTTPAuthorizationCredentials(scheme="form", credentials=token))
        except HTTPException as error:
            if error.status_code != HTTPStatus.UNAUTHORIZED:
                raise
            ended = str(error.detail).startswith("this token ended")
            said = f"{str(error.detail)[:1].upper()}{str(error.detail)[1:]}." if ended else "Nobody holds this token."
            return HTMLResponse(console.login(then, said), HTTPStatus.UNAUTHORIZED)
        made = RedirectResponse(then, HTTPStatus.SEE_OTHER)
        made.set_cookie(
            COOKIE, token, max_age=LASTS_S, httponly=True, samesite="lax", secure=request.url.scheme == "https"
        )
        return made

    @router.post("/logout")
    async def logout(request: Request) -> Response:  # pyright: ignore[reportUnusedFunction]
        await _form(request)
        made = RedirectResponse("/login", HTTPStatus.SEE_OTHER)
        made.delete_cookie(COOKIE, httponly=True, samesite="lax")
        return made

    @router.get("/")
    async def jobs(who: Who, request: Request) -> str:  # pyright: ignore[reportUnusedFunction]
        given = {
            k: v.strip()[:128]
            for k, v in request.query_params.items()
            if k in {*console.FILTERS, "family"} and v.strip()
        }
        asked: dict[str, Any] = {**given, **{k: _moment(given[k], k) for k in ("since", "until") if k in given}}

        async def work() -> str:
            async with serving.opened(who, brief=True) as found:
                listed = found.ledger.ask(found.reader, "find_jobs", max_rows=MAX_JOBS, **asked)
                sums = found.ledger.ask(found.reader, "fleet_tally", by="all", **asked)
                families = found.ledger.ask(found.reader, "fleet_tally", by="family", **asked)
                return console.jobs(
                    listed.dicts(),
                    listed.row_count,
                    sums.dicts(),
                    families.dicts(),
                    given,
                    user=who.user,
                    operator=who.operator,
                )

        return await aside(work, request.is_disconnected)

    @router.get("/nodes")
    async def nodes(who: Who, request: Request) -> str:  # pyright: ignore[reportUnusedFunction]
        async def work() -> str:
            async with serving.opened(who, brief=True) as found:
                listed = found.ledger.ask(found.reader, "nodes_in_trouble", max_rows=MAX_JOBS)
                return console.nodes(listed.dicts(), listed.row_count, user=who.user, operator=who.operator)

        return await aside(work, request.is_disconnected)

    @router.get("/jobs/{job}")
    async def verdict(  # pyright: ignore[reportUnusedFunction]
        who: Who, request: Request, job: str, attempt: int | None = None, fresh: bool = False
    ) -> str:
        doc, runs, stored = await aside(lambda: _verdict(serving, who, job, attempt, fresh), request.is_disconnected)
        shown = doc.verdict.attempt
        above = console.attempts(job, runs, shown, stored)
        return console.frame(page.title_text(doc), above + page.body(doc, console.ask_form(job)), user=who.user)

    @router.get("/ask")
    async def ask_page(who: Who) -> str:  # pyright: ignore[reportUnusedFunction]
        return console.frame("Ask", "<h1>Ask</h1>" + console.ask_form(), user=who.user, here="Ask")

    @router.post("/ask")
    async def ask(who: Who, request: Request) -> StreamingResponse:  # pyright: ignore[reportUnusedFunction]
        form = await _form(request)
        question, job = form.get("question", "").strip(), form.get("job", "").strip()
        if not question or len(question) > MAX_QUESTION:
            raise HTTPException(400, f"a question of 1 to {MAX_QUESTION} characters is needed")
        return StreamingResponse(_answer(serving, who, question, job or None), media_type="text/html")

    @router.get("/docs")
    async def api(request: Request) -> str:  # pyright: ignore[reportUnusedFunction]
        try:
            user = viewer_of(request).user
        except LoggedOut:
            user = ""
        return console.frame("API", api_page.described(request.app.openapi()), user=user, here="API")

    return router


async def _verdict(
    serving: Serving, who: Viewer, job: str, attempt: int | None, fresh: bool
) -> tuple[Document, list[dict[str, Any]], bool]:
    """A job's verdict laid out, its runs, and whether it is the stored one."""
    async with serving.opened(who) as found:
        runs = found.reader.ask("job_attempts", job_id=job).dicts()
        kept = [] if fresh else found.reader.ask("verdict_given", job_id=job, attempt=attempt).dicts()
        newest = max((int(r["attempt"] or 1) for r in runs), default=1)
        # Of a job that runs on, or ran again, the stored verdict is the earlier run's: what was asked for is the last one's.
        for row in kept:
            if attempt is not None or int(row["attempt"] or 1) == newest:
                try:
                    held = json.loads(str(row["document"]))
                    made = Verdict.model_validate({k: v for k, v in held.items() if k in Verdict.model_fields})
                    return laid_out(made), runs, True
                except (TypeError, ValueError, ValidationError, SealError):
                    continue  # written by another version: it is examined again
        try:
            found.open(job)
        except KeyError as error:
            raise HTTPException(404, str(error.args[0])) from error
        if attempt is not None and attempt not in ([int(r["attempt"] or 1) for r in runs] or [1]):
            raise HTTPException(404, f"no attempt {attempt} of job {job}")
        made = await diagnose_async(found.reader, job, attempt=attempt, model=serving.model, limits=serving.limits)
        return laid_out(made), runs, False


async def _answer(serving: Serving, who: Viewer, question: str, job: str | None) -> AsyncGenerator[str]:
    """The page of an answer: what is looked at while it is made, then the answer."""

    async def made(send: Send) -> str:
        async with serving.opened(who, job) as found:
            reply = await told(found, question, serving.model, serving.limits, send)
            return console.reply(reply, found.ledger)

    yield console.begun("Answer", user=who.user, here="Ask")
    yield console.ask_form(job or "", question) + '<ol class="steps">'
    async with aclosing(events(made)) as happened:
        async for name, data in happened:
            if name == "step":
                yield console.step(str(data))
            elif name == "reply":
                yield f"</ol>{data}"
            elif name == "problem":
                yield f"</ol>{console.problem_box(str(data))}"
    yield page.CLOSING


async def _form(request: Request) -> dict[str, str]:
    """The fields of a form of ours. Raises HTTPException for a large one, and for one that another site sent."""
    origin = request.headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != request.headers.get("host"):
        raise HTTPException(403, "this form came from another site")
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > MAX_FORM:
            raise HTTPException(413, "the form is too large")
    return {k: v[0] for k, v in parse_qs(body.decode("utf-8", "replace"), max_num_fields=8).items()}


def _inside(path: str) -> str:
    """A path of ours, whatever was given: nobody is sent elsewhere after logging in."""
    parts = urlsplit(path)
    inside = path.startswith("/") and not path.startswith(("//", "/\\")) and not parts.netloc and path.isprintable()
    return path if inside else "/"


def _moment(typed: str, name: str) -> datetime:
    try:
        found = datetime.fromisoformat(typed)
    except ValueError:
        raise HTTPException(400, f"{name}: a day or a time is needed, as in 2026-03-01 or 2026-03-01T12:00") from None
    return found.astimezone(UTC).replace(tzinfo=None) if found.tzinfo else found

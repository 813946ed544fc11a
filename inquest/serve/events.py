"""An answer in the making as server-sent events: steps, sentences that have passed the gate, and at last the reply."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Any

from fastapi import HTTPException

from agent_tools.endpoints.drive import Limits
from agent_tools.questions.answer import Answer, Reply
from agent_tools.questions.investigation import Investigation
from agent_tools.references import plain
from agent_tools.seal import finite
from inquest.prefix import Prefix
from inquest.serve.aside import aside
from store.result import StoreError

QUIET_S = 15.0
STILL = ": still at it\n\n"
"""A comment: no client sees it, and no proxy takes the connection for dead."""
Send = Callable[[str, Any], None]
"""Takes an event's name and its data."""


async def told(found: Investigation, question: str, model: str | None, limits: Limits, send: Send) -> Reply:
    """Answer a question, and send what happens until then."""
    shown = Prefix[dict[str, str]]()

    def sentences(answer: Answer) -> list[dict[str, str]]:
        claims = [("shows", c) for c in answer.shows] + [("implies", c) for c in answer.implies]
        said = [("short", "established", answer.short), *((place, c.status, c.text) for place, c in claims)]
        return [
            {"place": place, "status": status, "text": text, "rendered": plain(text, found.ledger)}
            for place, status, text in said
        ]

    def part(answer: Answer) -> None:
        withdrawn, new = shown.grown(sentences(answer))
        if withdrawn:
            send("withdrawn", None)
        for sentence in new:
            send("sentence", sentence)
        shown.show(withdrawn, new)

    reply = await found.ask_async(
        question, model=model, limits=limits, on_event=lambda text: send("step", text), on_part=part
    )
    if shown.whole(sentences(reply))[0]:
        send("withdrawn", None)
    return reply


async def events(answer: Callable[[Send], Awaitable[Any]]) -> AsyncGenerator[tuple[str, Any]]:
    """What is sent while an answer is made, by name, until its `reply` or a `problem`; `quiet` where nothing came for a while."""
    made: asyncio.Queue[tuple[str, Any] | None] = asyncio.Queue()
    loop = asyncio.get_running_loop()

    def send(name: str, data: Any) -> None:
        loop.call_soon_threadsafe(made.put_nowait, (name, data))

    task = asyncio.ensure_future(aside(lambda: answer(send)))
    task.add_done_callback(lambda _: made.put_nowait(None))
    try:
        while (event := await _next(made)) is not None:
            yield event
        try:
            yield "reply", task.result()
        except HTTPException as error:
            yield "problem", error.detail
        except StoreError as error:
            yield "problem", str(error)
    finally:
        task.cancel()


async def _next(made: asyncio.Queue[tuple[str, Any] | None]) -> tuple[str, Any] | None:
    try:
        return await asyncio.wait_for(made.get(), QUIET_S)
    except TimeoutError:
        return "quiet", None


async def as_text(made: AsyncGenerator[tuple[str, Any]]) -> AsyncGenerator[str]:
    """Events as the text of an event stream."""
    async with aclosing(made):
        async for name, data in made:
            yield _event(name, data) if name != "quiet" else STILL


def _event(name: str, data: Any) -> str:
    return f"event: {name}\ndata: {json.dumps(finite(data), allow_nan=False, default=str)}\n\n"

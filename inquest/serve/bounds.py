"""How long and how large a request may be: a caller who sends slowly, or without end, costs neither memory nor a connection.

Applies before anybody is asked for a token, since whoever holds none may send as much.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from fastapi.responses import JSONResponse

MAX_BODY = 2 * 1024 * 1024
"""Bytes; a question has some thousands, a conversation that comes back whole some hundred thousand."""
BODY_S = 10.0
"""Seconds in which a body has to come."""

App = Callable[[Any, Any, Any], Awaitable[None]]


def bounded(app: App) -> App:
    """The application behind the bounds on bodies."""

    async def asked(scope: Any, receive: Any, send: Any) -> None:
        headers = dict(scope.get("headers", ()))
        if scope["type"] != "http" or not (headers.keys() & {b"content-length", b"transfer-encoding"}):
            await app(scope, receive, send)
            return
        try:
            length = int(headers.get(b"content-length", b"0"))
            body = None if length > MAX_BODY else await asyncio.wait_for(_body(receive), BODY_S)
        except TimeoutError:
            said = f"the request's body did not come within {BODY_S:.0f} s: send it at once"
            await JSONResponse({"detail": said}, 408, {"Connection": "close"})(scope, receive, send)
            return
        if body is None:
            said = f"the request is larger than {MAX_BODY >> 20} MiB: ask shorter"
            await JSONResponse({"detail": said}, 413, {"Connection": "close"})(scope, receive, send)
            return
        held: list[Any] = [{"type": "http.request", "body": body, "more_body": False}]

        async def again() -> Any:
            return held.pop() if held else await receive()

        await app(scope, again, send)

    return asked


async def _body(receive: Any) -> bytes | None:
    """The whole body; None where it is too large."""
    pieces: list[bytes] = []
    more, size = True, 0
    while more:
        message = await receive()
        if message["type"] != "http.request":
            break
        pieces.append(message.get("body", b""))
        size += len(pieces[-1])
        if size > MAX_BODY:
            return None
        more = message.get("more_body", False)
    return b"".join(pieces)

"""uvicorn's protocol of a connection, which closes one whose request's head does not come in time.

uvicorn closes an idle connection after a response, and waits for ever for a head that was begun.
"""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_S = 10.0
"""Seconds in which the head of a request has to come."""


class Hasty(H11Protocol):
    """Counts from the connection, or from the end of the request before it."""

    head_s = HEAD_S
    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A head is awaited."""
        super().connection_made(transport)
        self._await_head()

    def data_received(self, data: bytes) -> None:
        """A piece of a head does not begin the count anew."""
        super().data_received(data)
        self._await_head()

    def on_response_complete(self) -> None:
        """The next head is awaited."""
        super().on_response_complete()
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is awaited any more."""
        self._rest()
        super().connection_lost(exc)

    def _rest(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _await_head(self) -> None:
        if self.cycle is not None and not self.cycle.response_complete:  # type: ignore[reportUnnecessaryComparison]
            self._rest()
        elif self._late is None:
            self._late = self.loop.call_later(self.head_s, self._close)

    def _close(self) -> None:
        if not self.transport.is_closing():
            self.transport.close()

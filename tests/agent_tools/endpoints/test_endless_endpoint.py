"""An endpoint that sends without end, plainly, in a stream or packed, does not get the host's memory."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator

import httpx2
import pytest

from agent_tools.endpoints.drive import Limits, first_answer
from agent_tools.endpoints.models import LONGEST, Patience, TooLong, transport

MIB = bytes(1 << 20)


class _Endless(httpx2.AsyncByteStream):
    """A piece again and again; `given` counts them."""

    def __init__(self, piece: bytes, pieces: int) -> None:
        self.piece, self.pieces, self.given = piece, pieces, 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for _ in range(self.pieces):
            self.given += 1
            yield self.piece

    async def aclose(self) -> None:
        """Nothing is held."""


class _Server(httpx2.AsyncBaseTransport):
    def __init__(self, stream: _Endless, **headers: str) -> None:
        self.stream, self.headers, self.asked = stream, {k.replace("_", "-"): v for k, v in headers.items()}, 0

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.asked += 1
        assert request.headers["accept-encoding"] == "identity"
        return httpx2.Response(200, headers=self.headers, stream=self.stream)


def body(server: _Server) -> bytes:
    return asyncio.run(_body(server))


async def _body(server: _Server) -> bytes:
    async with httpx2.AsyncClient(transport=transport(Patience(attempts=2, wait_s=0), server)) as client:
        return (await client.post("http://127.0.0.1/v1/chat/completions")).content


@pytest.mark.parametrize("kind", ["application/json", "text/event-stream", "text/html"])
def test_an_answer_without_end_is_left(kind: str):
    server = _Server(_Endless(MIB, 4096), content_type=kind)
    with pytest.raises(TooLong, match="16 MiB"):
        body(server)
    assert server.stream.given <= LONGEST // len(MIB) + 1
    assert server.asked == 1, "it would be as long again"


def test_what_is_packed_counts_as_it_is_unpacked():
    packed = gzip.compress(bytes(4 * LONGEST))
    pieces = _Endless(packed, 1)
    with pytest.raises(TooLong):
        body(_Server(pieces, content_type="text/event-stream", content_encoding="gzip"))


def test_an_ordinary_answer_comes_whole_packed_or_not():
    assert body(_Server(_Endless(b'{"a": 1}', 1), content_type="application/json")) == b'{"a": 1}'
    packed = gzip.compress(b'{"a": 1}')
    assert body(_Server(_Endless(packed, 1), content_type="application/json", content_encoding="gzip")) == b'{"a": 1}'
    assert body(_Server(_Endless(b"data: x\n\n", 3), content_type="text/event-stream")) == b"data: x\n\n" * 3


@pytest.mark.parametrize(
    "slip", [IndexError("list index out of range"), RecursionError("too deep"), KeyError("choices")]
)
def test_a_client_that_stumbles_over_an_answer_is_told_as_an_answer_that_cannot_be_read(
    slip: Exception, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("OPENAI_API_KEY", "unused")

    async def run(model: object, label: str, limits: Limits) -> str:
        raise slip

    made, notes, whose = asyncio.run(first_answer("openai:m", Limits(seconds=5), "verdict", run, print))
    assert made is None
    assert "its endpoint's answer cannot be read" in notes[0]
    assert whose == "endpoint"

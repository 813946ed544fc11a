"""A server that many ask, some of them slowly, without end, or without waiting for the answer."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

pytest.importorskip("fastapi", reason="the serve extra is not installed: pip install 'jobinquest[serve]'")

from agent_tools.questions.investigation import Investigation
from inquest.serve import bounds
from inquest.serve.hasty import Hasty
from tests.inquest.serving import ADA, ROOT, ask, serving

QUESTION = {"question": "why?", "job": "7"}


class Slow:
    """Takes the place of answering: begun and ended are seen, and it computes or waits for as long as it is told."""

    def __init__(self) -> None:
        self.begun, self.cancelled = threading.Event(), threading.Event()
        self.let_go = threading.Event()

    async def waits(self, *_: Any, **__: Any) -> Any:
        """Waits as for a model."""
        self.begun.set()
        try:
            while not self.let_go.is_set():
                await asyncio.sleep(0.02)
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        raise KeyError("let go")

    async def computes(self, *_: Any, **__: Any) -> Any:
        """Computes, and gives no turn to anything else of its thread."""
        self.begun.set()
        self.let_go.wait(20)
        raise KeyError("let go")


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Iterator[Slow]:
    made = Slow()
    monkeypatch.setattr(Investigation, "ask_async", made.waits)
    yield made
    made.let_go.set()


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(tmp_path_factory.mktemp("bounds")) as url:
        yield url


def host(url: str) -> tuple[str, int]:
    name, _, port = url.removeprefix("http://").partition(":")
    return name, int(port)


def answered(url: str, sent: bytes, wait_s: float = 10.0) -> bytes:
    """What comes back for bytes on a connection until it is closed; b"open" where it stays open."""
    with socket.create_connection(host(url), timeout=wait_s) as s:
        s.sendall(sent)
        got = b""
        try:
            while piece := s.recv(4096):
                got += piece
        except TimeoutError:
            return b"open"
        return got


def test_others_are_served_while_a_diagnosis_computes(url: str, slow: Slow, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Investigation, "ask_async", slow.computes)
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(ask, url, "/v1/ask", json=QUESTION)
        assert slow.begun.wait(20)
        begun = time.monotonic()
        assert httpx.get(f"{url}/health", timeout=10).status_code == 200
        assert ask(url, "/v1/jobs").status_code == 200
        assert time.monotonic() - begun < 5
        assert not asked.done()
        slow.let_go.set()


@pytest.mark.parametrize("path", ["/v1/ask", "/mcp/", "/v1/ask/events"])
def test_a_body_without_end_is_refused_before_it_is_held(url: str, path: str):
    """Announced or in chunks, with a token or without."""
    large = b"a" * (bounds.MAX_BODY + 1)
    told = httpx.post(url + path, content=large, timeout=20)
    assert told.status_code == 413 and "ask shorter" in told.json()["detail"]

    def pieces() -> Generator[bytes]:
        yield from [b"a" * 65536] * 40

    assert httpx.post(url + path, content=pieces(), timeout=20).status_code == 413


def test_a_body_that_does_not_come_is_not_waited_for(url: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(bounds, "BODY_S", 0.3)
    got = answered(url, b"POST /v1/ask HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
    assert got.startswith(b"HTTP/1.1 408")


def test_a_head_that_does_not_come_is_not_waited_for(url: str, monkeypatch: pytest.MonkeyPatch):
    """Neither the first of a connection nor the one after an answer; whoever asks again and again in time is answered."""
    monkeypatch.setattr(Hasty, "head_s", 0.5)
    assert answered(url, b"GET /health HTTP/1.1\r\nHost: x\r\nX-a: ") == b""
    assert answered(url, b"") == b""
    whole = b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"
    assert answered(url, whole + b"GET /he").startswith(b"HTTP/1.1 200")
    with httpx.Client() as client:
        for _ in range(6):
            assert client.get(f"{url}/health").status_code == 200
            time.sleep(0.15)


@pytest.mark.parametrize("path", ["/v1/ask", "/v1/ask/events"])
def test_an_answer_that_nobody_waits_for_is_not_made(url: str, slow: Slow, path: str):
    body = json.dumps(QUESTION)
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {ROOT}\r\nContent-Type: application/json\r\n"
    with socket.create_connection(host(url), timeout=20) as gone:
        gone.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode())
        assert slow.begun.wait(20)
    assert slow.cancelled.wait(20)


def test_one_holder_leaves_room_for_another(tmp_path: Path, slow: Slow):
    with serving(tmp_path, at_once=2) as url, ThreadPoolExecutor(2) as pool:
        pool.submit(ask, url, "/v1/ask", json=QUESTION)
        assert slow.begun.wait(20)
        refused = ask(url, "/v1/ask", json=QUESTION)
        assert refused.status_code == 429 and "wait for one" in refused.json()["detail"]
        assert refused.headers["retry-after"]
        slow.begun.clear()
        pool.submit(ask, url, "/v1/ask", ADA, json={"question": "why?"})
        assert slow.begun.wait(20)
        assert ask(url, "/v1/ask", json=QUESTION).status_code == 429
        slow.let_go.set()


def test_queries_wait_for_their_turn(tmp_path: Path):
    with serving(tmp_path, at_once=1) as url, ThreadPoolExecutor(12) as pool:
        assert {r.status_code for r in pool.map(ask, [url] * 24, ["/v1/jobs"] * 24)} == {200}


def test_a_quiet_answer_keeps_its_connection(url: str, slow: Slow, monkeypatch: pytest.MonkeyPatch):
    """A comment now and then, which no client of events sees, so that no proxy closes the connection."""
    monkeypatch.setattr("inquest.serve.events.QUIET_S", 0.1)
    headers = {"Authorization": f"Bearer {ROOT}"}
    with httpx.stream("POST", f"{url}/v1/ask/events", json=QUESTION, headers=headers, timeout=20) as r:
        assert next(line for line in r.iter_lines() if line).startswith(":")


def test_who_is_refused_is_told_what_helps(tmp_path: Path):
    with serving(tmp_path, per_minute=2) as url:
        assert "--new-token" in ask(url, "/v1/jobs", "").json()["detail"]
        assert [ask(url, "/v1/jobs").status_code for _ in range(2)] == [200, 200]
        refused = ask(url, "/v1/jobs")
        assert refused.status_code == 429 and f"{refused.headers['retry-after']} s" in refused.json()["detail"]

"""Streams of `inquest serve` read by real clients that leave in the middle, and model servers whose own streams break or drip."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

pytest.importorskip("fastapi", reason="the serve extra is not installed: pip install 'jobinquest[serve]'")

import openai

from agent_tools.endpoints.drive import Limits
from tests.agent_tools.endpoints import endpoint
from tests.agent_tools.endpoints.endpoint import Reply, Request, message
from tests.inquest.serving import ROOT, serving

pytestmark = pytest.mark.usefixtures("allow_model_requests")

AUTH = {"Authorization": f"Bearer {ROOT}"}
BOUNDS = Limits(seconds=30, retry_s=3, requests=6)
QUESTION = {"question": "why did it fail?", "job": "7"}
LOOK = replace(message(calls=[("overview", {}), ("log_events", {})]), pieces=20)


def _sse(url: str) -> None:
    with httpx.stream("POST", f"{url}/v1/ask/events", json=QUESTION, headers=AUTH, timeout=30) as told:
        assert next(told.iter_lines()) == "event: step"


def _page(url: str) -> None:
    form = {"question": QUESTION["question"], "job": "7"}
    with httpx.stream("POST", f"{url}/ask", data=form, cookies={"inquest_token": ROOT}, timeout=30) as told:
        pieces = told.iter_text()
        while "<li>" not in next(pieces):
            pass


def _completion(url: str) -> None:
    """Gone with the first piece, or by the client's time-out where none comes before it."""
    client = openai.OpenAI(base_url=f"{url}/v1", api_key=ROOT, max_retries=0, timeout=1.0)
    spoken: list[Any] = [{"role": "user", "content": "why did job 7 fail?"}]
    with contextlib.suppress(openai.APIError, httpx.HTTPError):
        told = client.chat.completions.create(model="inquest", messages=spoken, stream=True)
        next(iter(told))
        told.close()


@pytest.mark.parametrize("leave", [_sse, _page, _completion], ids=["events", "page", "openai"])
def test_who_leaves_in_the_middle_makes_room_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, leave: Callable[[str], None]
) -> None:
    """The model hangs; with room for one, the next question is answered as soon as the first asker has left.

    What the store is being asked at that moment is asked to its end, which takes a busy host a while.
    """
    left = threading.Event()

    def script(turn: int, request: Request) -> Reply:
        if not left.is_set():
            left.wait(90)
        return message("no")

    with (
        endpoint.serving(script, monkeypatch),
        serving(tmp_path, model="openai:scripted", limits=replace(BOUNDS, seconds=120), at_once=1) as url,
    ):
        try:
            leave(url)
            gone = time.monotonic()
            while _refused(url):
                assert time.monotonic() - gone < 45, "its place is not free long before the model answers"
                time.sleep(0.2)
        finally:
            left.set()


def _refused(url: str) -> bool:
    """Whether there is no room for a question; one that is let in waits for the model, which hangs."""
    try:
        asked = httpx.post(f"{url}/v1/ask", json={"question": "which jobs failed?"}, headers=AUTH, timeout=3)
    except httpx.ReadTimeout:
        return False
    return asked.status_code in (429, 503)


def _events(text: str) -> list[tuple[str, Any]]:
    told = [block.split("\n") for block in text.split("\n\n") if block.startswith("event: ")]
    return [(lines[0].removeprefix("event: "), json.loads(lines[1].removeprefix("data: "))) for lines in told]


@pytest.mark.parametrize(
    "reply",
    [
        replace(LOOK, broken=""),
        Reply(b'data: {"id": "x", "choices": [\n\n', headers={"Content-Type": "text/event-stream"}),
        Reply(b'data: {"error": {"message": "overloaded"}}\n\n', headers={"Content-Type": "text/event-stream"}),
        Reply(b"data: [DONE]\n\n", headers={"Content-Type": "text/event-stream"}),
        Reply(b": keep-alive\n\n" * 200, headers={"Content-Type": "text/event-stream"}, drip=0.02),
        Reply({"error": {"message": "overloaded"}}),
        Reply({"error": {"message": "wait"}}, 429, {"Retry-After": "36000"}),
    ],
    ids=["broken", "half an event", "an error", "nothing", "drip", "an error with 200", "wait for hours"],
)
def test_what_a_model_server_sends_instead_of_an_answer_ends_in_the_examiner_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reply: Reply
) -> None:
    started = time.monotonic()
    with (
        endpoint.serving(lambda turn, request: reply, monkeypatch),
        serving(tmp_path, model="openai:scripted", limits=replace(BOUNDS, seconds=6)) as url,
    ):
        told = httpx.post(f"{url}/v1/ask/events", json=QUESTION, headers=AUTH, timeout=60)
    happened = _events(told.text)
    assert [name for name, _ in happened[-1:]] == ["reply"]
    answer = happened[-1][1]
    assert answer["provenance"]["model"] == "examiner"
    assert "openai:scripted gave no answer" in " ".join(answer["provenance"]["notes"])
    assert "ValueError" in json.dumps(answer["rendered"])
    assert time.monotonic() - started < 45

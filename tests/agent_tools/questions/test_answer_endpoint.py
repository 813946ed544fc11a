"""What an endpoint can do to a question, a verdict and a chat: each ends in a bounded time, with an answer that says what happened."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent_tools.endpoints.drive import Limits
from agent_tools.questions.investigation import Investigation
from inquest.chat import Chat
from inquest.chat_log import ChatLog
from store import Reader
from tests.agent_tools.casekit import QUICK, lake, verdict
from tests.agent_tools.endpoints.endpoint import Reply, Request, message, serving

pytestmark = pytest.mark.usefixtures("allow_model_requests")

LOOK = message(calls=[("overview", {}), ("log_events", {})])


def good(request: Request) -> Reply:
    """The right answer, with the id under which the state was shown."""
    shown = re.findall(r"(E\d+) job_attempts: 1 rows", str(request["messages"]))
    return message(calls=[("final_result", {"short": f"The job ended as [[{shown[-1]}.state]]."})])


SHORT = replace(QUICK, seconds=3.0, retry_s=1.0)
BROKEN: dict[str, tuple[Reply, Limits]] = {
    "text": (message("I am sorry, I cannot help with that."), QUICK),
    "refusal": (message(None, refusal="no"), QUICK),
    "silence": (message(None), QUICK),
    "no choices": (Reply({"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": []}), QUICK),
    "no fields": (Reply({}), QUICK),
    "a page": (Reply(b"<html>log in</html>", headers={"Content-Type": "text/html"}), QUICK),
    "half a document": (Reply(b'{"choices": ['), QUICK),
    "a cut stream": (replace(LOOK, cut=True), SHORT),
    "a slow drip": (replace(LOOK, drip=0.2), SHORT),
    "a hang": (replace(LOOK, delay=9.0), SHORT),
    "arguments that are no JSON": (message(calls=[("final_result", "{not json")]), QUICK),
    "an unknown tool": (message(calls=[("no_such_tool", {})]), QUICK),
    "a loop of tools": (LOOK, QUICK),
    "400": (Reply({"error": {"message": "no"}}, 400), QUICK),
    "401": (Reply({"error": {"message": "no"}}, 401), QUICK),
    "500": (Reply({"error": {"message": "no"}}, 500), SHORT),
    "429, come again in an hour": (Reply({"error": {"message": "busy"}}, 429, {"Retry-After": "3600"}), SHORT),
    "529": (Reply(b"overloaded", 529), SHORT),
}


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    with Reader(lake(tmp_path)) as opened:
        yield opened


def always(reply: Reply) -> Any:
    def script(turn: int, request: Request) -> Reply:
        return reply

    return script


@pytest.mark.parametrize("kind", sorted(BROKEN))
def test_a_question_ends_in_the_examiner_s_answer_within_its_time(kind: str, reader: Reader, monkeypatch: Any):
    reply, limits = BROKEN[kind]
    asked = Investigation(reader, "7")
    asked.open("7")
    started = time.monotonic()
    with serving(always(reply), monkeypatch) as endpoint:
        made = asked.ask("why did it fail?", model="openai:scripted", limits=limits)
        spent = time.monotonic() - started
    assert made.provenance.model == "examiner"
    assert "The model openai:scripted gave no answer" in made.provenance.notes[0]
    assert len(made.provenance.notes[0]) < 600
    assert "[[" in made.short, "the families' own words stand in"
    assert len(endpoint.requests) <= limits.requests
    assert spent < limits.seconds + 20, "with room for a busy machine"


@pytest.mark.parametrize("kind", ["a cut stream", "a slow drip", "429, come again in an hour", "529"])
def test_a_verdict_too(kind: str, tmp_path: Path, monkeypatch: Any):
    reply, limits = BROKEN[kind]
    with serving(always(reply), monkeypatch):
        made = verdict(tmp_path, model="openai:scripted", limits=limits)
    assert (made.provenance.model, made.family, made.provenance.failed) == ("examiner", "A1", "endpoint")
    assert "The verdict is the built-in examiner's." in made.provenance.notes


def test_a_chat_goes_on_after_each_of_them_and_keeps_every_turn(
    tmp_path: Path, reader: Reader, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    kinds = ["refusal", "a cut stream", "a loop of tools", "500", "silence"]
    now: list[Reply] = []
    said: list[str] = []
    asked = Investigation(reader, "7")
    log = ChatLog.start("7", None)
    with serving(lambda turn, request: now[0], monkeypatch):
        for kind in kinds:
            now[:], limits = [BROKEN[kind][0]], BROKEN[kind][1]
            Chat(asked, log, "openai:scripted", limits, say=said.append).turn(f"why did it fail? {kind}")
    with serving(lambda turn, request: good(request) if " job_attempts: " in str(request) else LOOK, monkeypatch):
        Chat(asked, log, "openai:scripted", QUICK, say=said.append).turn("and how did it end?")
    assert sum("gave no answer" in part for part in said) == len(kinds)
    assert "The job ended as FAILED" in said[-1]
    again = Investigation(reader, "7")
    assert log.restore(again) == len(kinds) + 1
    assert [t.short for t in again.turns] == [t.short for t in asked.turns]


@pytest.mark.parametrize("status", [408, 429, 503])
def test_what_passes_by_itself_is_waited_for(status: int, reader: Reader, monkeypatch: Any):
    steps = [Reply({"error": {"message": "busy"}}, status, {"Retry-After": "0"}), replace(LOOK, cut=True), LOOK]
    with serving(lambda turn, request: steps[turn - 1] if turn < 4 else good(request), monkeypatch) as endpoint:
        made = Investigation(reader, "7").ask("how did it end?", model="openai:scripted", limits=QUICK)
    assert (made.provenance.model, len(endpoint.requests)) == ("openai:scripted", 4), made.provenance.notes


def test_a_reader_is_told_in_sentences_what_was_wrong(reader: Reader) -> None:
    """Of what a model wrote and the gate refused nothing is quoted, and nothing is cut off."""
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel

    called: dict[str, tuple[str, dict[str, Any]]] = {
        "it called a tool again and again in a way that the tool cannot take": ("look", {"where": "gpu_events"}),
        "what it wrote was not in the form that was asked for": ("", {"nonsense": "x"}),
        "was refused in 3 places": ("", {"short": "The switch of 'gpu-77' failed."}),
    }
    for words, (tool, arguments) in called.items():
        model = FunctionModel(
            lambda _, info, t=tool, a=arguments: ModelResponse([ToolCallPart(t or info.output_tools[0].name, a)])
        )
        note = Investigation(reader, "7").ask("why?", model=model, limits=QUICK).provenance.notes[0]
        assert words in note and "gpu-77" not in note and "E1.column" not in note and "…" not in note, note
    made = FunctionModel(lambda _, __: ModelResponse([TextPart("It failed.")]))
    assert "wrote text where" in Investigation(reader, "7").ask("why?", model=made, limits=QUICK).provenance.notes[0]

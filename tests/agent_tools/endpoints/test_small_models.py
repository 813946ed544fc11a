"""What small local models and their servers do, over HTTP on this host: what was meant is done, and what has no end is ended."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.exceptions import ModelHTTPError

from agent_tools.endpoints.window import overflow
from agent_tools.questions.investigation import Investigation
from store import Reader
from tests.agent_tools.casekit import ANSWER, QUICK, lake, verdict
from tests.agent_tools.endpoints.endpoint import Reply, Request, message, serving

pytestmark = pytest.mark.usefixtures("allow_model_requests")

SMALL = replace(QUICK, small=True)
TOO_LONG = {"code": 400, "type": "exceed_context_size_error", "n_prompt_tokens": 5010, "n_ctx": 2048}
TOO_LONG["message"] = "request (5010 tokens) exceeds the available context size (2048 tokens), try increasing it"


def written(name: str, arguments: dict[str, Any], behind: str = "") -> Reply:
    """A call as text, by a server that has no parser for it."""
    return replace(message(f"{json.dumps({'name': name, 'arguments': arguments})}{behind}"), pieces=30)


def plays(*replies: Reply):
    def play(turn: int, request: Request) -> Reply:
        return replies[min(turn, len(replies)) - 1]

    return play


@pytest.mark.parametrize("limits", [QUICK, SMALL], ids=["whole", "small"])
def test_calls_that_are_written_as_text_are_made(tmp_path: Path, monkeypatch: Any, limits: Any):
    steps = [written("overview", {}), written("log_events", {"kind": ""}), written("final_result", ANSWER)]
    with serving(plays(*steps), monkeypatch) as endpoint:
        made = verdict(tmp_path, model="tiny", limits=limits)
    assert made.provenance.model == "tiny", made.provenance.notes
    assert len(endpoint.requests) == 3
    assert "call_tool" not in endpoint.text


def test_an_answer_that_goes_on_behind_its_call_is_not_waited_for(tmp_path: Path, monkeypatch: Any):
    """Qwen2.5-Coder behind the template that it ships with: a call, and then empty lines until its context is full."""
    steps = [
        replace(written("overview", {}, "}\n" + "\n" * 1_000_000), pieces=100),
        replace(written("log_events", {}, "\n\nThe answer is: it failed. " * 50_000), pieces=100),
        replace(written("final_result", ANSWER, "\n" * 1_000_000), pieces=100),
    ]
    with serving(plays(*steps), monkeypatch) as endpoint:
        made = verdict(tmp_path, model="tiny", limits=SMALL)
    assert made.provenance.model == "tiny", made.provenance.notes
    assert len(endpoint.requests) == 3


@pytest.mark.parametrize(
    "reply",
    [
        message("The job is a job that is a job. " * 30_000),
        message(calls=[("final_result", '{"family": "' + "A" * 900_000)]),
    ],
    ids=["text", "call"],
)
def test_a_model_that_repeats_itself_without_end_is_cut_off_twice_and_no_more(
    reply: Reply, tmp_path: Path, monkeypatch: Any
):
    started = time.monotonic()
    with serving(plays(replace(reply, pieces=50)), monkeypatch) as endpoint:
        made = verdict(tmp_path, model="tiny", limits=replace(SMALL, seconds=60))
    assert (made.provenance.model, made.provenance.failed) == ("examiner", "answer")
    assert "each of 2 answers repeated itself without end" in "".join(made.provenance.notes)
    assert len(endpoint.requests) == 2
    assert len(endpoint.text) < 40_000, "what has no end is not sent back"
    assert time.monotonic() - started < 50


@pytest.mark.parametrize("reply", [message("It failed."), message(calls=[("overview", {})])], ids=["text", "call"])
def test_the_same_answer_again_and_again_is_not_waited_for_another_time(reply: Reply, tmp_path: Path, monkeypatch: Any):
    """At temperature 0 a model that has been told what is wrong says the same once more."""
    with serving(plays(replace(reply, pieces=50)), monkeypatch) as endpoint:
        made = verdict(tmp_path, model="tiny", limits=SMALL)
    assert (made.provenance.model, made.provenance.failed) == ("examiner", "answer")
    assert "its answer was the same 3 times in a row" in "".join(made.provenance.notes)
    assert len(endpoint.requests) == 3


def test_arguments_that_are_no_json_are_not_sent_back_as_they_are(tmp_path: Path, monkeypatch: Any):
    """llama.cpp answers a request with such a call in its history with an error 500."""
    steps = [message(calls=[("read_log", '{"pattern": "x')]), message(calls=[("overview", {}), ("log_events", {})])]
    with serving(plays(*steps, message(calls=[("final_result", ANSWER)])), monkeypatch) as endpoint:
        made = verdict(tmp_path, model="tiny", limits=QUICK)
    assert made.provenance.model == "tiny", made.provenance.notes
    said = [c for r in endpoint.requests for m in r["messages"] for c in m.get("tool_calls") or ()]
    assert said and all(isinstance(json.loads(c["function"]["arguments"]), dict) for c in said)


def test_an_answer_that_its_server_ends_too_early_is_told_with_what_helps(tmp_path: Path, monkeypatch: Any):
    """The framework's words name a setting that nobody here can set."""
    cut = message("")
    cut.body["choices"][0]["finish_reason"] = "length"
    with serving(plays(cut), monkeypatch):
        made = verdict(tmp_path, model="tiny", limits=QUICK)
    notes = "".join(made.provenance.notes)
    assert "ended an answer before it was whole, at a limit on its tokens" in notes
    assert "model setting" not in notes


def test_a_window_that_is_too_small_is_asked_for_less_and_the_reader_is_told(tmp_path: Path, monkeypatch: Any):
    steps = iter([Reply({"error": TOO_LONG}, 400), *(replace(r, pieces=40) for r in GOOD)])
    with serving(lambda turn, request: next(steps), monkeypatch) as endpoint:
        made = verdict(tmp_path, model="tiny", limits=QUICK)
    assert made.provenance.model == "tiny", made.provenance.notes
    assert "was asked for less" in "".join(made.provenance.notes)
    assert "window of 2,048 tokens" in "".join(made.provenance.notes)
    assert len(str(endpoint.requests[1]["tools"])) < len(str(endpoint.requests[0]["tools"]))


GOOD = [message(calls=[("overview", {}), ("log_events", {})]), message(calls=[("final_result", ANSWER)])]


def test_a_window_that_is_too_small_even_so_is_said_with_what_helps(tmp_path: Path, monkeypatch: Any):
    with serving(plays(Reply({"error": TOO_LONG}, 400)), monkeypatch) as endpoint:
        made = verdict(tmp_path, model="tiny", limits=QUICK)
    notes = "".join(made.provenance.notes)
    assert (made.provenance.model, len(endpoint.requests)) == ("examiner", 2)
    assert "its context window of 2,048 tokens does not hold what it is asked (5,010 tokens)" in notes
    assert "start its server with a larger one" in notes and "status_code" not in notes


def test_a_refusal_for_its_length_does_not_end_the_streaming_of_a_chat(tmp_path: Path, monkeypatch: Any):
    with Reader(lake(tmp_path)) as reader, serving(plays(Reply({"error": TOO_LONG}, 400)), monkeypatch) as endpoint:
        asked = Investigation(reader, "7")
        asked.ask("why?", model="tiny", limits=SMALL, on_part=lambda _: None)
    assert (asked.whole, len(endpoint.requests)) == (set[str](), 1)


@pytest.mark.parametrize(
    ("text", "asked", "window"),
    [
        (
            "This model's maximum context length is 4096 tokens. However, your request has 5010 input tokens.",
            5010,
            4096,
        ),
        ("Requested tokens (5010) exceed context window of 2048", 5010, 2048),
        ("This model's maximum context length is 8192 tokens, however you requested 9001 tokens", 9001, 8192),
        ("prompt is too long", None, None),
    ],
)
def test_each_server_s_words_for_it_are_understood(text: str, asked: int | None, window: int | None):
    found = overflow(ModelHTTPError(400, "m", {"message": text}))
    assert found is not None and (found.asked, found.window) == (asked, window)


def test_another_refusal_is_none():
    odd = overflow(ModelHTTPError(400, "m", {"message": "context length", "n_ctx": "a lot", "n_prompt_tokens": [1]}))
    assert (
        odd is not None and (odd.asked, odd.window) == (None, None) and str(odd).startswith("its context window does")
    )
    assert overflow(ModelHTTPError(400, "m", {"message": "tool_choice is not supported"})) is None
    assert overflow(ModelHTTPError(429, "m", {"message": "context length"})) is None
    assert overflow(ValueError("context window")) is None

"""A chain of models, the responses API, and bounds: each ends in an answer or in the examiner, with the reason."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent_tools.endpoints.drive import Limits, chain
from tests.agent_tools.casekit import ANSWER, QUICK, verdict
from tests.agent_tools.endpoints.endpoint import Reply, Request, message, serving

pytestmark = pytest.mark.usefixtures("allow_model_requests")


def by_model(**scripts: list[Reply]):
    """Each model plays its own script; the last reply of it again and again."""
    turns: dict[str, int] = {}

    def play(_: int, request: Request) -> Reply:
        name = request["model"]
        turns[name] = turns.get(name, 0) + 1
        return scripts[name][min(turns[name], len(scripts[name])) - 1]

    return play


GOOD = [message(calls=[("overview", {}), ("log_events", {})]), message(calls=[("final_result", ANSWER)])]
DEAD = [Reply({"error": {"message": "out of service"}}, status=400)]


def test_the_next_model_of_the_chain_answers_when_one_fails(tmp_path: Path, monkeypatch: Any):
    with serving(by_model(big=DEAD, small=GOOD), monkeypatch):
        made = verdict(tmp_path, model="big, small", limits=QUICK)
    assert made.provenance.model == "small"
    assert "The model big gave no verdict" in made.provenance.notes[1]
    assert "examiner's" not in "".join(made.provenance.notes)


def test_a_chain_ends_in_the_examiner(tmp_path: Path, monkeypatch: Any):
    with serving(by_model(big=DEAD, small=DEAD), monkeypatch):
        made = verdict(tmp_path, model="big,small,examiner", limits=QUICK)
    assert made.provenance.model == "examiner"
    assert sum("gave no verdict" in n for n in made.provenance.notes) == 2


def test_a_silent_model_leaves_the_next_one_time(tmp_path: Path, monkeypatch: Any):
    silent = [replace(DEAD[0], delay=60.0)]
    with serving(by_model(big=silent, small=GOOD), monkeypatch):
        made = verdict(tmp_path, model="big,small", limits=replace(QUICK, seconds=9.0))
    assert made.provenance.model == "small"
    assert any("big gave no verdict within its 6 s" in n for n in made.provenance.notes)


def test_the_time_of_a_chain_is_spent_once(tmp_path: Path, monkeypatch: Any):
    silent = [replace(DEAD[0], delay=60.0)]
    with serving(by_model(big=silent, small=silent), monkeypatch):
        made = verdict(tmp_path, model="big,small", limits=replace(QUICK, seconds=1.0))
    assert made.provenance.model == "examiner"
    assert sum("gave no verdict within its" in n for n in made.provenance.notes) == 2


def test_the_bounds_stand_in_the_verdict(tmp_path: Path, monkeypatch: Any):
    with serving(by_model(good=GOOD), monkeypatch):
        made = verdict(tmp_path, model="good", limits=QUICK)
    assert made.provenance.bounds == QUICK.said()
    assert "10 requests" in made.provenance.bounds
    with serving(by_model(good=DEAD), monkeypatch):
        made = verdict(tmp_path / "none", model="good", limits=QUICK)
    assert (made.provenance.model, made.provenance.bounds) == ("examiner", QUICK.said()), "it was asked within them"
    assert verdict(tmp_path / "alone").provenance.bounds == "", "nobody was"


def test_a_bound_on_money_that_cannot_be_held_is_said(tmp_path: Path, monkeypatch: Any):
    with serving(by_model(unheard_of=GOOD), monkeypatch):
        made = verdict(tmp_path, model="unheard_of", limits=replace(QUICK, usd=0.5))
    assert made.provenance.model == "unheard_of"
    assert any("bound on money was not applied" in n for n in made.provenance.notes)
    endless = [message(calls=[("read_log", {"pattern": "x"})])]
    with serving(by_model(unheard_of=endless), monkeypatch):
        made = verdict(tmp_path / "loop", model="unheard_of", limits=replace(QUICK, requests=3, usd=0.5))
    assert made.provenance.model == "examiner"
    assert any("bound on money was not applied" in n for n in made.provenance.notes), "it was paid for even so"


def test_a_bound_on_tokens_that_cannot_be_held_is_said(tmp_path: Path, monkeypatch: Any):
    """Some local servers tell nothing of the tokens."""
    silent = [Reply({k: v for k, v in r.body.items() if k != "usage"}, pieces=r.pieces) for r in GOOD]
    with serving(by_model(local=silent, both=[silent[0], GOOD[1]]), monkeypatch):
        none = verdict(tmp_path / "none", model="local", limits=QUICK).provenance
        some = verdict(tmp_path / "some", model="both", limits=QUICK).provenance
    assert (none.model, some.model) == ("local", "both")
    assert any(
        "none of its answers how many tokens it took: the bound on tokens was not applied" in n for n in none.notes
    )
    assert any("the bound on tokens was applied to the others alone" in n for n in some.notes)


def test_the_responses_interface_is_spoken_too(tmp_path: Path, monkeypatch: Any):
    def item(name: str, arguments: str, number: int) -> dict[str, Any]:
        kind = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}", "status": "completed"}
        return {**kind, "name": name, "arguments": arguments}

    import json

    outputs = [
        [item("overview", "{}", 1), item("log_events", "{}", 2)],
        [item("final_result", json.dumps(ANSWER), 3)],
    ]

    def play(turn: int, request: Request) -> Reply:
        body = {
            "id": f"resp_{turn}", "object": "response", "created_at": 1772359200, "model": "scripted", "status": "completed",
            "output": outputs[min(turn, 2) - 1], "parallel_tool_calls": True, "tool_choice": "auto", "tools": [],
            "usage": {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15,
                      "input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}},
        }  # fmt: skip
        return Reply(body)

    with serving(play, monkeypatch) as endpoint:
        made = verdict(tmp_path, model="openai-responses:scripted", limits=QUICK)
    assert made.provenance.model == "openai-responses:scripted", made.provenance.notes
    assert "input" in endpoint.requests[0]


def test_a_small_model_gets_few_tools_a_short_prompt_and_makes_one_call_at_a_time(tmp_path: Path, monkeypatch: Any):
    sizes: dict[bool, int] = {}
    for small in (False, True):
        streamed = [replace(r, pieces=40) for r in GOOD]
        with serving(by_model(tiny=streamed), monkeypatch) as endpoint:
            made = verdict(tmp_path / str(small), model="tiny", limits=replace(QUICK, small=small))
        assert made.provenance.model == "tiny", made.provenance.notes
        asked = endpoint.requests[0]
        assert asked.get("parallel_tool_calls") is (False if small else None)
        assert "null" not in str([t["function"]["parameters"] for t in asked["tools"]])
        sizes[small] = len(str(asked))
    assert sizes[True] < 0.8 * sizes[False]


def test_names_of_a_chain():
    assert chain("a, b,examiner,,c") == ["a", "b", "c"]
    assert chain("examiner") == chain(None) == []
    assert "2 US dollars" in Limits(usd=2.0).said()

"""The whole path to an OpenAI-compatible endpoint, over HTTP on this host: what a good model gets, and what becomes of the others."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent_tools.gate.citations import plain
from agent_tools.seal import ledger_of
from tests.agent_tools.casekit import INJECTION, QUICK, TOKEN, verdict
from tests.agent_tools.endpoints.endpoint import Endpoint, Reply, Request, message, serving

pytestmark = pytest.mark.usefixtures("allow_model_requests")

ANSWER = {
    "family": "A1",
    "mode": "data",
    "confidence": 0.65,
    "attribution": "job",
    "disposition": "Slurm says [[E1.state]]",
    "headline": "The job raised [[E2.name]]",
    "shows": [{"text": "Rank [[E2.rank]] raised [[E2.name]]: [[E2.message]]."}],
}
LOOK: list[tuple[str, Any]] = [("overview", {}), ("differential", {}), ("log_events", {})]


def answer(**fields: Any) -> Reply:
    return message(calls=[("final_result", {**ANSWER, **fields})])


def script(*replies: Reply):
    def play(turn: int, request: Request) -> Reply:
        return replies[min(turn, len(replies)) - 1]

    return play


def ran(folder: Path, monkeypatch: Any, *replies: Reply, limits: Any = QUICK, model: str = "openai:scripted"):
    with serving(script(*replies), monkeypatch) as endpoint:
        return verdict(folder, model=model, limits=limits), endpoint


def fell_back(result: Any, *words: str) -> None:
    """The examiner's verdict stands, and the notes say why."""
    assert result.provenance.model == "examiner"
    assert result.family == "A1"
    notes = "\n".join(result.provenance.notes)
    assert "The verdict is the built-in examiner's." in notes
    for word in words:
        assert word in notes, notes


def test_a_model_that_looks_and_cites_gives_the_verdict(tmp_path: Path, monkeypatch: Any):
    result, endpoint = ran(tmp_path, monkeypatch, message(calls=LOOK[:2]), message(calls=LOOK[2:]), answer())
    assert result.provenance.model == "openai:scripted"
    assert result.provenance.notes == ["noted"]
    assert (result.provenance.requests, result.provenance.tool_calls, result.provenance.tokens) == (3, 3, 360)
    assert plain(result.headline, ledger_of(result)) == "The job raised ValueError"
    assert endpoint.requests[0]["model"] == "scripted"
    names = {t["function"]["name"] for t in endpoint.requests[0]["tools"]}
    assert names == {"overview", "differential", "log_events", "read_log", "look", "final_result"}


def test_what_says_more_than_it_cites_is_sent_back_once_and_then_shown_as_a_guess(tmp_path: Path, monkeypatch: Any):
    """A model that is told can say what the cells say; one that insists has its sentence as a hypothesis, and its verdict."""
    shard = "A shard of the data set cannot be read: [[E2.name]]"  # no cell speaks of a shard that cannot be read
    only = {"text": "Only rank [[E2.rank]] raised [[E2.name]]."}
    eager = answer(headline=shard, shows=[*ANSWER["shows"], only])
    result, endpoint = ran(tmp_path / "insists", monkeypatch, message(calls=LOOK), eager)
    assert result.provenance.model == "openai:scripted", result.provenance.notes
    assert len(endpoint.requests) == 3, "told once, not a second time"
    told = endpoint.requests[-1]["messages"][-1]["content"]
    assert "headline says 'set', 'cannot'" in told
    assert "shows[1] says 'only'" in told
    assert "shows[0]" not in told
    assert plain(result.headline, ledger_of(result)) == "The job raised ValueError"
    assert {"hypothesis"} == {c.status for c in result.implies if c.text.startswith(("A shard", "Only"))}
    result, endpoint = ran(tmp_path / "mends", monkeypatch, message(calls=LOOK), eager, answer())
    assert len(endpoint.requests) == 3
    assert not any(c.text.startswith(("A shard", "Only")) for c in result.implies)


def test_what_says_more_is_told_with_what_does_not_hold(tmp_path: Path, monkeypatch: Any):
    only = {"text": "Only rank [[E2.rank]] raised [[E2.name]]."}
    typed = {"text": "Rank 9 raised [[E2.name]]."}
    result, endpoint = ran(
        tmp_path, monkeypatch, message(calls=LOOK), answer(shows=[only, typed]), answer(shows=[only])
    )
    assert result.provenance.model == "openai:scripted", result.provenance.notes
    assert len(endpoint.requests) == 3
    told = endpoint.requests[-1]["messages"][-1]["content"]
    assert "shows[1]: '9' is a typed figure" in told
    assert "These too say more" in told
    assert "shows[0] says 'only'" in told


def test_a_plain_name_is_asked_at_the_same_endpoint(tmp_path: Path, monkeypatch: Any):
    result, endpoint = ran(tmp_path, monkeypatch, message(calls=LOOK), answer(), model="llama3:8b")
    assert result.provenance.model == "llama3:8b", result.provenance.notes
    assert endpoint.requests[0]["model"] == "llama3:8b"


def test_a_liar_is_refused_each_time_and_the_examiner_answers(tmp_path: Path, monkeypatch: Any):
    lie = answer(headline="GPU 5 burned at 104 degrees")
    result, endpoint = ran(tmp_path, monkeypatch, message(calls=LOOK), lie)
    fell_back(result, "was refused in 2 places, where it said more than the evidence")
    assert len(endpoint.requests) == 1 + 1 + QUICK.output_retries
    assert "typed figure" in endpoint.text


def test_a_liar_who_mends_the_sentence_passes(tmp_path: Path, monkeypatch: Any):
    result, endpoint = ran(tmp_path, monkeypatch, message(calls=LOOK), answer(headline="It ran 46 min"), answer())
    assert result.provenance.model == "openai:scripted"
    assert "[[E1.elapsed_s]] = 45 min" in endpoint.text


def test_what_was_never_shown_cannot_be_cited(tmp_path: Path, monkeypatch: Any):
    result, endpoint = ran(tmp_path, monkeypatch, answer())
    fell_back(result)
    assert "was never shown" in endpoint.text


@pytest.mark.parametrize(
    "call",
    [
        ("overview", "{not json"),
        ("no_such_tool", {}),
        ("read_log", {"line": "three"}),
        ("read_log", {}),
        ("final_result", {"family": "A1"}),
        ("final_result", {**ANSWER, "secret_field": 1}),
        ("final_result", "[]"),
    ],
)
def test_a_malformed_call_is_sent_back_and_can_be_mended(tmp_path: Path, monkeypatch: Any, call: tuple[str, Any]):
    result, _ = ran(tmp_path, monkeypatch, message(calls=LOOK), message(calls=[call]), answer())
    assert result.provenance.model == "openai:scripted"


def test_a_tool_error_is_an_answer_and_no_end(tmp_path: Path, monkeypatch: Any):
    calls = [
        ("look", {"at": "sql", "query": "SELECT * FROM no_table"}),
        ("look", {"at": "sql", "query": "DROP TABLE x"}),
        ("look", {"at": "jobs", "parameters": {"x": 1}}),
    ]
    result, endpoint = ran(tmp_path, monkeypatch, message(calls=LOOK), message(calls=calls), answer())
    assert result.provenance.model == "openai:scripted"
    assert endpoint.text.count("not the same as") >= 3


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_passing_failure_is_tried_again(tmp_path: Path, monkeypatch: Any, status: int):
    busy = Reply({"error": {"message": "busy"}}, status, {"Retry-After": "0"})
    result, endpoint = ran(tmp_path, monkeypatch, busy, message(calls=LOOK), busy, answer())
    assert result.provenance.model == "openai:scripted"
    assert len(endpoint.requests) == 4


def test_a_server_that_stays_broken_is_given_up_within_its_time(tmp_path: Path, monkeypatch: Any):
    started = time.monotonic()
    result, endpoint = ran(tmp_path, monkeypatch, Reply({"error": {"message": "broken"}}, 500))
    fell_back(result, "500")
    assert 2 <= len(endpoint.requests) <= 5
    assert time.monotonic() - started < QUICK.seconds


@pytest.mark.parametrize("status", [400, 401, 404])
def test_a_lasting_refusal_is_not_tried_again(tmp_path: Path, monkeypatch: Any, status: int):
    result, endpoint = ran(tmp_path, monkeypatch, Reply({"error": {"message": "no"}}, status))
    fell_back(result, str(status))
    assert len(endpoint.requests) == 1


def test_a_server_that_hangs_costs_its_time_and_no_more(tmp_path: Path, monkeypatch: Any):
    started = time.monotonic()
    slow = replace(message(calls=LOOK), delay=6.0)
    result, _ = ran(tmp_path, monkeypatch, slow, limits=replace(QUICK, seconds=0.7))
    fell_back(result, "within its 0.7 s")
    assert time.monotonic() - started < 5


def test_an_endless_loop_of_tools_is_cut(tmp_path: Path, monkeypatch: Any):
    result, endpoint = ran(tmp_path, monkeypatch, message(calls=LOOK))
    fell_back(result, "): --turns gives it more")
    assert "pydantic.dev" not in " ".join(result.provenance.notes)
    assert len(endpoint.requests) <= QUICK.requests


@pytest.mark.parametrize(
    "reply",
    [
        message("I am sorry, I cannot help with that."),
        message(None, refusal="no"),
        message(""),
        message(None),
        Reply({"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": []}),
        Reply({}),
        Reply(b"<html>proxy login</html>", headers={"Content-Type": "text/html"}),
        Reply(b'{"choices": [', headers={"Content-Type": "application/json"}),
    ],
    ids=["text", "refusal", "empty", "null", "no-choices", "no-fields", "html", "cut-json"],
)
def test_no_answer_is_never_read_as_no_failure(tmp_path: Path, monkeypatch: Any, reply: Reply):
    result, _ = ran(tmp_path, monkeypatch, reply)
    fell_back(result)


def test_a_verdict_of_health_against_the_evidence_does_not_stand(tmp_path: Path, monkeypatch: Any):
    healthy = answer(family="G1", mode="healthy", attribution="none", headline="All is well", shows=[])
    result, _ = ran(tmp_path, monkeypatch, message(calls=LOOK), healthy)
    fell_back(result)


def test_nobody_there_is_a_note(tmp_path: Path, monkeypatch: Any):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    fell_back(verdict(tmp_path, model="scripted"), "nobody listens at its address: start its server")


def test_a_missing_key_is_a_note_with_the_remedy(tmp_path: Path):
    fell_back(verdict(tmp_path, model="gpt-x"), "OPENAI_API_KEY")


def test_an_unknown_provider_package_is_a_note(tmp_path: Path):
    fell_back(verdict(tmp_path, model="anthropic:claude-x"), "cannot be asked")


def test_strangers_text_is_fenced_and_secrets_do_not_leave(tmp_path: Path, monkeypatch: Any):
    read = message(calls=[("read_log", {"pattern": "."})])
    result, endpoint = ran(tmp_path, monkeypatch, message(calls=LOOK), read, answer())
    assert result.provenance.model == "openai:scripted"
    tool = [m["content"] for m in endpoint.requests[-1]["messages"] if m["role"] == "tool"][-1]
    opening, closing = tool.index("<<untrusted "), tool.rindex("<<end ")
    assert opening < tool.index(INJECTION) < closing
    assert TOKEN not in endpoint.text
    assert "[redacted: hugging face token]" in tool
    assert TOKEN not in str(result.model_dump())


def test_the_instructions_are_the_same_in_every_run(tmp_path: Path, monkeypatch: Any):
    def system(endpoint: Endpoint) -> str:
        return next(m["content"] for m in endpoint.requests[0]["messages"] if m["role"] == "system")

    _, first = ran(tmp_path / "a", monkeypatch, message(calls=LOOK), answer())
    _, second = ran(tmp_path / "b", monkeypatch, message(calls=LOOK), answer())
    assert system(first) == system(second)
    assert first.requests[0]["tools"] == second.requests[0]["tools"]
    assert first.requests[0]["messages"] != second.requests[0]["messages"]

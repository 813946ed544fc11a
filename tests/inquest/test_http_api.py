"""The HTTP API over real HTTP: who may ask, how often, and that it keeps what its own description promises."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

pytest.importorskip("fastapi", reason="the serve extra is not installed: pip install 'jobinquest[serve]'")

import schemathesis
from hypothesis import HealthCheck, given, settings
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from agent_tools.viewer import Viewer
from inquest.__main__ import main
from inquest.commands import Failure
from inquest.serve import tokens
from inquest.serve.http_api import Settings, app
from store.catalog import catalog
from tests.agent_tools.casekit import TOKEN, lake
from tests.agent_tools.disagreeing import disagreeing, shows_the_disagreement
from tests.agent_tools.endpoints import endpoint
from tests.inquest.serving import ADA, HOLDERS, ROOT, ask, serving


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(tmp_path_factory.mktemp("api")) as url:
        yield url


def test_health_needs_no_token_and_all_else_does(url: str):
    assert httpx.get(f"{url}/health").json()["lake"] is True
    for token in ("", "inq_wrong"):
        for path in ("/v1/jobs", "/v1/jobs/7/verdict", "/v1/evidence/jobs", "/mcp/"):
            assert ask(url, path, token).status_code == 401
    assert ask(url, "/v1/ask", "", json={"question": "why?"}).status_code == 401


def test_jobs_verdict_evidence_and_questions(url: str):
    assert [j["job_id"] for j in ask(url, "/v1/jobs", params={"state": "FAILED"}).json()["jobs"]] == ["7"]
    verdict = ask(url, "/v1/jobs/7/verdict").json()
    assert "ValueError" in verdict["rendered"]["headline"]
    assert TOKEN not in json.dumps(verdict)
    rows = ask(url, "/v1/evidence/job_attempts", params={"job_id": "7", "attempt": "1"}).json()
    assert rows["row_count"] == 1
    assert ask(url, "/v1/ask", json={"question": "why did it fail?", "job": "7"}).json()["rendered"]["shows"]


def test_no_secret_leaves_and_no_search_tells_whether_it_is_there(url: str):
    def found(pattern: str) -> dict[str, Any]:
        return ask(url, "/v1/evidence/log_search", params={"job_id": "7", "pattern": pattern}).json()

    everything = found(".")
    assert everything["row_count"] == 3
    assert "login with [redacted" in json.dumps(everything)
    assert TOKEN not in json.dumps(everything)
    for guess in (TOKEN, TOKEN[:6], f"{TOKEN[:5]}.*", "login with h", "login with hf_[^A]", "hf_[A-Z]b"):
        assert found(guess)["row_count"] == 0, guess
    assert found("login with [^h]")["row_count"] == 1, "what it is not tells as much as what it is"


def test_each_question_says_which_parameters_it_needs(url: str):
    paths = httpx.get(f"{url}/openapi.json").json()["paths"]
    asked = {p["name"]: p for p in paths["/v1/evidence/log_search"]["get"]["parameters"]}
    assert {name: p["required"] for name, p in asked.items()} == {"job_id": True, "attempt": False, "pattern": True}
    assert (asked["attempt"]["schema"]["type"], asked["pattern"]["schema"]["type"]) == ("integer", "string")
    assert "RE2" in asked["pattern"]["description"]
    assert "line in the file" in paths["/v1/evidence/log_search"]["get"]["description"]
    assert "/v1/evidence/{query}" not in paths


def test_what_is_no_regular_expression_is_searched_as_it_stands(url: str):
    def found(pattern: str) -> dict[str, Any]:
        return ask(url, "/v1/evidence/log_search", params={"job_id": "7", "pattern": pattern}).json()

    assert found("bad (shard")["row_count"] == 0
    assert "no regular expression" in found("bad (shard")["caveat"]
    assert "no regular expression" not in found("bad (shard|day)")["caveat"]
    assert found("bad (shard|day)")["row_count"] == 1


def test_what_cannot_be_asked_is_said(url: str):
    assert ask(url, "/v1/jobs/99/verdict").status_code == 404
    assert ask(url, "/v1/jobs/7/verdict", params={"attempt": 9}).status_code == 404
    assert ask(url, "/v1/evidence/nonsense").status_code == 404
    assert "missing" in str(ask(url, "/v1/evidence/job_attempts").json()["detail"])
    for wrong in ("x", "1.5", str(2**63), ""):
        given = {"job_id": "7", "attempt": wrong}
        assert ask(url, "/v1/evidence/job_attempts", params=given).status_code == 422, wrong
    for bare in ("0.5", "1772359200", "1e9"):  # by its size alone it would be seconds or milliseconds
        assert "a date and a time" in ask(url, "/v1/jobs", params={"until": bare}).text, bare
        assert ask(url, "/v1/evidence/find_jobs", params={"until": bare}).status_code == 422, bare
    assert ask(url, "/v1/jobs", params={"until": "2026-03-01T10:00:00Z"}).status_code == 200
    assert "no parameter 'max_rows'" in ask(url, "/v1/evidence/jobs", params={"max_rows": "9"}).json()["detail"]
    assert ask(url, "/v1/ask", json={"question": ""}).status_code == 422
    assert ask(url, "/v1/jobs/7;DROP/verdict").status_code == 422


def test_a_user_sees_own_jobs_only(url: str):
    assert ask(url, "/v1/jobs", ADA).json()["row_count"] == 0
    assert ask(url, "/v1/jobs/7/verdict", ADA).status_code == 404
    assert ask(url, "/v1/evidence/job_attempts", ADA, params={"job_id": "7"}).status_code == 404


def test_steps_come_as_events_and_then_the_reply(url: str):
    text = ask(url, "/v1/ask/events", json={"question": "which errors?", "job": "7"}).text
    events = [part.split("\n")[0] for part in text.strip().split("\n\n")]
    assert events[0] == "event: step"
    assert events[-1] == "event: reply"
    assert "problem" in ask(url, "/v1/ask/events", json={"question": "why?", "job": "99"}).text


@pytest.mark.usefixtures("allow_model_requests")
def test_sentences_come_as_events_once_they_have_passed_the_gate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def script(turn: int, request: endpoint.Request) -> endpoint.Reply:
        if turn == 1:
            return replace(endpoint.message(calls=[("overview", {})]), pieces=9)
        job = re.findall(r"(E[0-9]+) job_attempts: 1 rows", str(request["messages"]))[-1]
        shows = [f"It ran on [[{job}.node_list]].", "Rank 17 died."] if turn == 2 else [f"It had [[{job}.gpus]] GPUs."]
        made = {"short": f"The job ended as [[{job}.state]].", "shows": shows}
        return replace(endpoint.message(calls=[("final_result", made)]), pieces=9)

    with endpoint.serving(script, monkeypatch), serving(tmp_path, model="scripted") as url:
        text = ask(url, "/v1/ask/events", json={"question": "how did it end?", "job": "7"}).text
    told = [part.removeprefix("event: ").split("\ndata: ") for part in text.strip().split("\n\n")]
    events = [(name, json.loads(data)) for name, data in told if name != "step"]
    assert [name for name, _ in events] == ["sentence", "sentence", "withdrawn", "sentence", "sentence", "reply"]
    said = [data["rendered"] for name, data in events if name == "sentence"]
    assert said == ["The job ended as FAILED.", "It ran on gpu-01.", "The job ended as FAILED.", "It had 8 GPUs."]
    assert [events[-1][1]["rendered"]["short"], *events[-1][1]["rendered"]["shows"]] == said[2:]
    assert "Rank 17" not in str(events)


def test_too_many_requests_are_told_when_to_come_again(tmp_path: Path):
    with serving(tmp_path, per_minute=2) as url:
        codes = [ask(url, "/v1/jobs").status_code for _ in range(3)]
        last = ask(url, "/v1/jobs")
    assert codes == [200, 200, 429]
    assert int(last.headers["Retry-After"]) >= 1


@pytest.mark.usefixtures("allow_model_requests")
def test_a_model_that_contradicts_the_differential_is_shown_to_do_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with endpoint.serving(disagreeing, monkeypatch), serving(tmp_path, model="scripted") as url:
        verdict = ask(url, "/v1/jobs/7/verdict").json()
    assert (verdict["provenance"]["model"], verdict["family"]) == ("scripted", "F4")
    assert (verdict["confidence"], verdict["attribution"]) == (0.3, "undetermined")
    assert shows_the_disagreement(json.dumps(verdict["rendered"]))


async def why(url: str, token: str) -> tuple[str, bool]:
    """What a client of MCP over HTTP is told of job 7, and whether that is an error."""
    http: Any = httpx.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=60)
    async with http, Client(streamable_http_client(f"{url}/mcp/", http_client=http)) as client:
        result = await client.call_tool("why", {"job": "7"})
        return "".join(getattr(part, "text", "") for part in result.content), bool(result.is_error)


@pytest.mark.anyio
async def test_mcp_over_http_for_whoever_holds_a_token(url: str):
    said, wrong = await why(url, ROOT)
    assert not wrong
    assert "ValueError" in said
    said, wrong = await why(url, ADA)
    assert wrong
    assert "ValueError" not in said


@pytest.mark.anyio
@pytest.mark.usefixtures("allow_model_requests")
async def test_a_contradiction_is_shown_over_mcp_and_http_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with endpoint.serving(disagreeing, monkeypatch), serving(tmp_path, model="scripted") as url:
        said, wrong = await why(url, ROOT)
    assert not wrong
    assert shows_the_disagreement(said)


def test_the_api_keeps_what_it_describes(tmp_path: Path):
    """Generated requests: no answer outside of what the OpenAPI document says, no server error."""
    schema: Any = schemathesis.openapi.from_asgi(
        "/openapi.json", app(Settings(lake(tmp_path), HOLDERS, per_minute=10**6))
    )
    unhurried: Any = list(HealthCheck)
    tried = 0

    for result in schema.get_all_operations():
        operation = result.ok()
        tries = 1 if operation.path.startswith("/v1/evidence/") else 6

        @settings(max_examples=tries, deadline=None, suppress_health_check=unhurried, derandomize=True, database=None)
        @given(case=operation.as_strategy())
        def keeps(case: Any) -> None:
            case.call_and_validate(headers={"Authorization": f"Bearer {ROOT}"})

        keeps()
        tried += 1
    assert tried == 8 + len(catalog())


def test_tokens_are_kept_as_digests_in_a_file_of_one_s_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "tokens"
    assert main(["serve", "--token-file", str(path), "--new-token", "ada"]) == 0
    token = capsys.readouterr().out.strip()
    assert token not in path.read_text()
    held = tokens.load(path)[tokens.digest(token)]
    assert held.viewer == Viewer("ada")
    assert held.expires is not None
    path.chmod(0o644)
    with pytest.raises(Failure, match="chmod 600"):
        tokens.load(path)


def test_a_token_that_is_taken_out_of_the_file_is_refused_at_once(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    path = tmp_path / "tokens"
    ada, bob = (tokens.issue(path, user, operator=False) for user in ("ada", "bob"))
    with serving(tmp_path, holders=tokens.Holders(path)) as url:
        assert ask(url, "/v1/jobs", ada).status_code == 200
        path.write_text("".join(x for x in path.read_text().splitlines(True) if tokens.digest(ada) not in x))
        assert ask(url, "/v1/jobs", ada).status_code == 401
        assert ask(url, "/v1/jobs", bob).status_code == 200
        late = tokens.issue(path, "eve", operator=False)
        assert ask(url, "/v1/jobs", late).status_code == 200
        path.rename(tmp_path / "away")
        for place in ("/v1/jobs", "/mcp/"):
            refused = ask(url, place, bob)
            assert refused.status_code == 503
            assert "who may ask cannot be read" in refused.json()["detail"]
        assert "cannot read" in caplog.text
        (tmp_path / "away").rename(path)
        assert ask(url, "/v1/jobs", bob).status_code == 200

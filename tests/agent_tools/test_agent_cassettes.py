"""Recorded conversations with an endpoint, played back without one.

`INQUEST_RECORD=1 pytest tests/agent_tools/test_agent_cassettes.py` records them again from the scripted server.
"""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import vcr

from tests.agent_tools.casekit import verdict
from tests.agent_tools.endpoints.endpoint import Reply, Request, message, serving

pytestmark = pytest.mark.usefixtures("allow_model_requests")

CASSETTES = Path(__file__).parent / "cassettes"
RECORD = bool(os.environ.get("INQUEST_RECORD"))
URL = "http://127.0.0.1:8000/v1"
ANSWER = {
    "family": "A1",
    "mode": "data",
    "confidence": 0.6,
    "attribution": "job",
    "disposition": "Slurm says [[E1.state]]",
    "headline": "The job raised [[E2.name]]",
    "shows": [{"text": "Rank [[E2.rank]] raised [[E2.name]]: [[E2.message]]."}],
}
LOOK = message(calls=[("overview", {}), ("differential", {}), ("log_events", {})])
GOOD = message(calls=[("final_result", ANSWER)])
LIE = message(calls=[("final_result", {**ANSWER, "headline": "Rank 9 of 12 burned at 104 degrees"})])
BUSY = Reply({"error": {"message": "busy", "type": "rate_limit"}}, 429, {"Retry-After": "0"})
CONVERSATIONS: dict[str, tuple[list[Reply], str, int]] = {
    "looks_and_answers": ([LOOK, GOOD], "openai:scripted", 2),
    "lies_and_mends": ([LOOK, LIE, GOOD], "openai:scripted", 3),
    "busy_at_first": ([BUSY, LOOK, BUSY, GOOD], "openai:scripted", 4),
    "lies_to_the_end": ([LOOK, *[LIE] * 5], "examiner", 6),
    "refuses": ([message("I cannot help with that.")] * 5, "examiner", 5),
}


def scrubbed(request: Any) -> Any:
    """The address of the recording's server does not matter, and neither does what was sent."""
    request.uri = f"{URL}/chat/completions"
    request.body = b"{}"
    request.headers = {}
    return request


@pytest.mark.parametrize("name", sorted(CONVERSATIONS))
def test_a_recorded_conversation_ends_as_it_did(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    replies, model, requests = CONVERSATIONS[name]
    cassette = CASSETTES / f"{name}.yaml"
    monkeypatch.setenv("OPENAI_BASE_URL", URL)
    monkeypatch.setenv("OPENAI_API_KEY", "recorded")
    recorder = vcr.VCR(
        record_mode="all" if RECORD else "none", match_on=("method", "path"), before_record_request=scrubbed
    )
    with ExitStack() as stack:
        if RECORD:
            cassette.unlink(missing_ok=True)

            def play(turn: int, request: Request) -> Reply:
                return replies[min(turn, len(replies)) - 1]

            stack.enter_context(serving(play, monkeypatch))
        tape = stack.enter_context(recorder.use_cassette(str(cassette)))
        result = verdict(tmp_path, model="openai:scripted")
    assert result.provenance.model == model, result.provenance.notes
    assert result.family == "A1"
    if not RECORD:
        assert tape.play_count == requests

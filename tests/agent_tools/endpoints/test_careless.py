"""What careless models and failing servers send, over HTTP on this host: each ends in a clear outcome, within its bounds."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest

from tests.agent_tools.casekit import ANSWER, QUICK, verdict
from tests.agent_tools.endpoints.endpoint import Reply, Request, message, serving

pytestmark = pytest.mark.usefixtures("allow_model_requests")

SMALL = replace(QUICK, small=True)
LATER = format_datetime(datetime.now(UTC) + timedelta(hours=6), usegmt=True)


def said(name: str, arguments: Any, around: str = "{}") -> Reply:
    """A call as text, with prose around it."""
    return message(around.replace("{}", json.dumps({"name": name, "arguments": arguments})))


def plays(*replies: Reply):
    def play(turn: int, request: Request) -> Reply:
        return replies[min(turn, len(replies)) - 1]

    return play


def fell_back(made: Any, *words: str) -> None:
    notes = "\n".join(made.provenance.notes)
    assert (made.provenance.model, made.family) == ("examiner", "A1"), notes
    assert "The verdict is the built-in examiner's." in notes
    for word in words:
        assert word in notes, notes


AGAIN: list[tuple[str, Any]] = [("overview", {})] * 4
LOOK = message(calls=[("overview", {}), ("log_events", {})])


@pytest.mark.parametrize(
    "steps",
    [
        [message(calls=[("overview", {"job": 7, "verbose": "yes"})]), LOOK, message(calls=[("final_result", ANSWER)])],
        [LOOK, message(calls=[("final_result", {**ANSWER, "confidence": "0.6"})])],
        [LOOK, message(calls=[("final_result", {**ANSWER, "confidence": "60%"})]), message(calls=[("final_result", ANSWER)])],
        [LOOK, message(calls=[("final_result", {**ANSWER, "shows": json.dumps(ANSWER["shows"])})]), message(calls=[("final_result", ANSWER)])],
        [LOOK, message(calls=[("final_result", {**ANSWER, "shows": "Rank [[E2.rank]] raised [[E2.name]]."})]), message(calls=[("final_result", ANSWER)])],
        [message(calls=[("read_log", {"line": "sixty", "file": 3})]), LOOK, message(calls=[("final_result", ANSWER)])],
        [message(calls=[("log_events", "[]")]), LOOK, message(calls=[("final_result", ANSWER)])],
        [message(calls=[("look", {"at": "gpu_health", "gpu": "all"})]), LOOK, message(calls=[("final_result", ANSWER)])],
        [said("overview", {}, "Sure! Let me look at the job first.\n```json\n{}\n```\nI will go on then."), said("log_events", {}, "Now the events: {} Thanks."), said("final_result", ANSWER, "Here it is:\n\n{}\n\nHope that helps!")],
        [message(""), LOOK, message(calls=[("final_result", ANSWER)])],
        [message("Ich schaue mir den Job an."), LOOK, message(calls=[("final_result", {**ANSWER, "headline": "Der Job ist wegen [[E2.name]] abgebrochen, das sagt das Log"})]), message(calls=[("final_result", ANSWER)])],
        [message(calls=AGAIN), LOOK, message(calls=[("final_result", ANSWER)])],
        [LOOK, message("x" * 200_000), message(calls=[("final_result", ANSWER)])],
        [LOOK, message(calls=[("final_result", {**ANSWER, "extra": {"a": 1}})]), message(calls=[("final_result", ANSWER)])],
        [LOOK, message("Done.", calls=[("final_result", ANSWER), ("overview", {})])],
    ],
    ids=["extra", "number as text", "percent", "list as text", "text for a list", "words for numbers", "list for an object", "word for a gpu", "prose", "empty", "german", "repeats", "over-long", "unknown field", "another call beside"],
)  # fmt: skip
@pytest.mark.parametrize("limits", [QUICK, SMALL], ids=["whole", "small"])
def test_a_careless_model_gets_there(tmp_path: Path, monkeypatch: Any, steps: list[Reply], limits: Any) -> None:
    shown = [replace(step, pieces=30) for step in steps] if limits.small else steps  # a small one is listened to
    with serving(plays(*shown), monkeypatch) as endpoint:
        made = verdict(tmp_path, model="tiny", limits=limits)
    assert made.provenance.model == "tiny", made.provenance.notes
    assert len(endpoint.requests) <= len(steps) + 1


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (Reply({"error": {"message": "model overloaded", "code": 503}}), ["model overloaded"]),
        (Reply({"error": "out of memory"}), ["out of memory"]),
        (Reply({"detail": "no such model"}), ["no such model"]),
        (Reply({"object": "error", "message": "the model is loading", "code": 50001}), ["the model is loading"]),
        (Reply({"error": {"message": "slow down"}}, 429, {"Retry-After": "7200"}), ["429", "slow down", "7200"]),
        (Reply({"error": {"message": "slow down"}}, 429, {"Retry-After": LATER}), ["429", "slow down"]),
        (Reply({"error": {"message": "slow down"}}, 429, {"Retry-After": "-1"}), ["429"]),
        (Reply({"error": {"message": "slow down"}}, 503, {"Retry-After": "1e9"}), ["503"]),
        (replace(LOOK, drip=0.05), ["within its"]),
        (replace(LOOK, cut=True), []),
    ],
    ids=["error", "error text", "detail", "vllm", "hours", "a date", "negative", "no number", "drip", "cut"],
)  # fmt: skip
def test_a_failing_server_ends_in_a_clear_outcome_in_time(
    tmp_path: Path, monkeypatch: Any, reply: Reply, words: list[str]
) -> None:
    started = time.monotonic()
    with serving(plays(reply), monkeypatch) as endpoint:
        made = verdict(tmp_path, model="tiny", limits=replace(QUICK, seconds=4, retry_s=2))
    fell_back(made, *words)
    assert time.monotonic() - started < 20
    assert len(endpoint.requests) <= 6


@pytest.mark.parametrize("status", [429, 500])
def test_time_that_is_up_amid_tries_tells_what_the_endpoint_said_last(
    tmp_path: Path, monkeypatch: Any, status: int
) -> None:
    busy = Reply({"error": {"message": "slow down"}}, status)
    short = replace(QUICK, seconds=3, retry_s=60)
    with serving(plays(replace(LOOK, delay=1.5), busy), monkeypatch):
        made = verdict(tmp_path / "busy", model="tiny", limits=short)
    fell_back(made, "within its 3 s", f"answers {status} (slow down)")
    with serving(plays(busy, replace(LOOK, delay=9)), monkeypatch):
        made = verdict(tmp_path / "late", model="tiny", limits=short)
    fell_back(made, "within its 3 s")
    with serving(plays(busy, LOOK, replace(LOOK, delay=9)), monkeypatch):
        made = verdict(tmp_path / "over", model="tiny", limits=short)
    fell_back(made, "within its 3 s", "--seconds gives it longer")
    assert f"{status}" not in "".join(made.provenance.notes)

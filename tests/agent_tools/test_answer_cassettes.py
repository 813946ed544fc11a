"""Recorded answers to questions and turns of a chat, played back without an endpoint; and no tape that nothing plays.

`INQUEST_RECORD=1 pytest tests/agent_tools/test_answer_cassettes.py` records them again from the scripted server.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import vcr

from agent_tools.gate.citations import plain
from agent_tools.questions.investigation import Investigation
from inquest.chat import Chat
from inquest.chat_log import ChatLog
from store import Reader
from tests.agent_tools.casekit import QUICK, TOKEN, lake
from tests.agent_tools.endpoints.endpoint import Reply, Request, message, serving
from tests.agent_tools.test_agent_cassettes import BUSY, CASSETTES, CONVERSATIONS, RECORD, URL, scrubbed

pytestmark = pytest.mark.usefixtures("allow_model_requests")

LOOK = replace(message(calls=[("overview", {}), ("read_log", {"pattern": "."})]), pieces=200)


def said(text: str) -> Callable[[Request], Reply]:
    """An answer; STATE is the id under which the accounting was shown last."""

    def made(request: Request) -> Reply:
        id = re.findall(r"(E\d+) job_attempts: 1 rows", str(request["messages"]))[-1]
        return replace(message(calls=[("final_result", {"short": text.replace("STATE", id)})]), pieces=20)

    return made


Step = Reply | Callable[[Request], Reply]
ANSWERS: dict[str, tuple[list[Step], list[str], list[str], list[str]]] = {
    "ask_looks_and_answers": ([LOOK, said("It ended as [[STATE.state]].")], ["how did it end?"], ["It ended as FAILED."], ["openai:scripted"]),
    "ask_blames_and_mends": (
        [LOOK, said("The GPU of [[STATE.node_list]] is broken."), said("It ended as [[STATE.state]].")],
        ["was it the GPU?"], ["It ended as FAILED."], ["openai:scripted"],
    ),
    "ask_invents_a_cause": (
        [LOOK, *[said("It ended as [[STATE.state]] because of the network.")] * 5], ["what happened?"], [""], ["examiner"],
    ),
    "chat_of_two_turns": (
        [LOOK, said("It ended as [[STATE.state]]."), BUSY, LOOK, said("It ran on [[STATE.node_list]].")],
        ["how did it end?", "and where did it run?"], ["It ended as FAILED.", "It ran on gpu-01."], ["openai:scripted"] * 2,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(ANSWERS))
def test_a_recorded_answer_is_given_again(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    steps, questions, answers, models = ANSWERS[name]
    cassette = CASSETTES / f"{name}.yaml"
    monkeypatch.setenv("OPENAI_BASE_URL", URL)
    monkeypatch.setenv("OPENAI_API_KEY", "recorded")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    mode: Any = "all" if RECORD else "none"
    recorder: Any = vcr.VCR(record_mode=mode, match_on=("method", "path"), before_record_request=scrubbed)

    def play(turn: int, request: Request) -> Reply:
        step = steps[min(turn, len(steps)) - 1]
        return step if isinstance(step, Reply) else step(request)

    with ExitStack() as stack:
        if RECORD:
            cassette.unlink(missing_ok=True)
            stack.enter_context(serving(play, monkeypatch))
        reader = stack.enter_context(Reader(lake(tmp_path)))
        asked, said, shown = Investigation(reader, "7"), list[str](), list[str]()
        chat = Chat(asked, ChatLog.start("7", None), "openai:scripted", QUICK, say=said.append)
        tape = stack.enter_context(recorder.use_cassette(str(cassette)))
        for question in questions:
            chat.turn(question)
            shown.append("\n".join(said))
            said.clear()
    assert [t.provenance.model for t in asked.turns] == models, [t.provenance.notes for t in asked.turns]
    for turn, answer, text in zip(asked.turns, answers, shown, strict=True):
        assert not answer or plain(turn.short, asked.ledger) == answer
        assert "network" not in text
    if not RECORD:
        assert tape.all_played, "a tape that is half used tests less than it says"


def test_every_tape_is_played_and_holds_no_secret():
    tapes = {p.stem: p.read_text(encoding="utf-8") for p in CASSETTES.glob("*.yaml")}
    assert set(tapes) == set(CONVERSATIONS) | set(ANSWERS) | {name for name in tapes if name.startswith("real_")}
    assert not [p for p in CASSETTES.iterdir() if p.suffix != ".yaml"]
    for name, text in tapes.items():
        assert not re.search(rf"(?i)authorization|bearer|loopback|{TOKEN}|untrusted", text), name


def test_the_tapes_of_verdicts_are_played_to_their_ends():
    """`test_agent_cassettes` counts what it plays; here the tapes hold no more than that."""
    for name, (_, _, requests) in CONVERSATIONS.items():
        assert (CASSETTES / f"{name}.yaml").read_text(encoding="utf-8").count("- request:") == requests, name

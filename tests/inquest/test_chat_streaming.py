"""A chat prints each sentence as the model completes it, never one that the gate refuses, and loses none that was shown."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from agent_tools.endpoints.drive import Limits
from agent_tools.questions.investigation import Investigation
from inquest.chat import WITHDRAWN, Chat
from inquest.chat_log import ChatLog, found
from store import Reader
from tests.agent_tools.casekit import QUICK, lake
from tests.agent_tools.endpoints.endpoint import Endpoint, Reply, Request, Script, message, serving

pytestmark = pytest.mark.usefixtures("allow_model_requests")

ROOT = Path(__file__).resolve().parents[2]
LOOK = replace(message(calls=[("overview", {}), ("log_events", {})]), pieces=9)
LIE = "Rank 17 lost its GPU."


def state(request: Request) -> str:
    return f"[[{re.findall(r'(E[0-9]+) job_attempts: 1 rows', str(request['messages']))[-1]}.state]]"


def node(request: Request) -> str:
    return state(request).replace(".state", ".node_list")


def answer(request: Request, *shows: str, pieces: int = 5, **fields: Any) -> Reply:
    """The right answer with these observations; STATE and NODE stand for their cells."""
    made = {
        "short": f"The job ended as {state(request)}.",
        "shows": [s.replace("STATE", state(request)).replace("NODE", node(request)) for s in shows],
        **fields,
    }
    return replace(message(calls=[("final_result", made)]), pieces=pieces)


@dataclass
class Told:
    """A chat over job 7, and what it printed, in the order of printing."""

    chat: Chat
    log: ChatLog
    said: list[str] = field(default_factory=list[str])

    @property
    def text(self) -> str:
        return "\n".join(self.said)


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Told]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with Reader(lake(tmp_path)) as reader:
        log = ChatLog.start("7", None)
        told = Told(Chat(Investigation(reader, "7"), log, "openai:scripted", QUICK), log)
        told.chat.say = told.said.append
        yield told


def play(told: Told, script: Script, monkeypatch: pytest.MonkeyPatch, limits: Limits = QUICK) -> Endpoint:
    """One question, answered as the script says."""
    told.chat.limits = limits
    with serving(script, monkeypatch) as endpoint:
        told.chat.turn("how did it end?")
    return endpoint


def test_each_sentence_is_printed_while_the_next_is_still_being_written(opened: Told, monkeypatch: pytest.MonkeyPatch):
    """The endpoint waits within the second observation until the first has been printed, and it is on disk by then."""
    go, on_disk = threading.Event(), list[str]()

    def say(text: str) -> None:
        opened.said.append(text)
        if "It ran on gpu-01" in text:
            on_disk.append(opened.log.path.read_text())
            go.set()

    opened.chat.say = say

    def script(turn: int, request: Request) -> Reply:
        if turn == 1:
            return LOOK
        made = answer(request, "It ran on NODE.", "Slurm says STATE of it.")
        return replace(made, held=("Slurm sa", go))

    waited = replace(QUICK, seconds=50)
    endpoint = play(opened, script, monkeypatch, waited)
    assert all(r["stream"] for r in endpoint.requests)
    assert len(opened.said) == 4
    assert [re.sub(r" \[E\d+\]", "", s.splitlines()[-1].strip()) for s in opened.said[:3]] == [
        "The job ended as FAILED.",
        "- It ran on gpu-01.",
        "- Slurm says FAILED of it.",
    ]
    assert "It ran on [[" in on_disk[0]
    assert WITHDRAWN not in opened.text


def test_what_is_printed_in_parts_is_what_is_printed_whole(opened: Told, monkeypatch: pytest.MonkeyPatch):
    def script(turn: int, request: Request) -> Reply:
        missing = [{"text": "Whether the owner started it.", "signal": "sacct"}]
        return (
            LOOK if turn % 2 else answer(request, "It ran on NODE.", hypotheses=["A bad shard."], cannot_answer=missing)
        )

    play(opened, script, monkeypatch)
    streamed, opened.said[:] = opened.text, []
    with serving(lambda turn, request: replace(script(turn, request), pieces=0), monkeypatch):
        opened.chat.turn("how did it end?")
    assert len(opened.said) == 1, "an endpoint that does not stream: as a whole"
    answered = opened.text.partition("\n\nAn answer did not come as a stream")[0]
    assert answered == streamed.partition("\n\nAnswered by")[0]
    assert "What it cannot answer" in streamed


def test_a_lie_between_two_honest_sentences_is_never_printed(opened: Told, monkeypatch: pytest.MonkeyPatch):
    def script(turn: int, request: Request) -> Reply:
        if turn == 1:
            return LOOK
        if turn == 2:
            return answer(request, "It ran on NODE.", LIE, "Slurm says STATE of it.")
        return answer(request, "It ran on NODE.", "Slurm says STATE of it.")

    endpoint = play(opened, script, monkeypatch)
    assert len(endpoint.requests) == 3
    assert "17" not in opened.text
    assert opened.text.count("It ran on") == 1, "the second answer begins as the first did: nothing is withdrawn"
    assert WITHDRAWN not in opened.text
    assert opened.text.index("It ran on") < opened.text.index("Slurm says FAILED")


def test_what_the_second_answer_does_not_begin_with_is_withdrawn(opened: Told, monkeypatch: pytest.MonkeyPatch):
    def script(turn: int, request: Request) -> Reply:
        if turn == 1:
            return LOOK
        return answer(request, "It ran on NODE.", LIE) if turn == 2 else answer(request, "Slurm says STATE of it.")

    play(opened, script, monkeypatch)
    before, withdrawn, after = opened.text.partition(WITHDRAWN)
    assert withdrawn
    assert "It ran on" in before
    assert "It ran on" not in after
    assert "The job ended as FAILED" in after
    assert opened.chat.investigation.turns[-1].shows[0].text.startswith("Slurm says")


def test_a_model_that_only_lies_is_replaced_by_the_examiner(opened: Told, monkeypatch: pytest.MonkeyPatch):
    play(opened, lambda turn, request: LOOK if turn == 1 else answer(request, LIE), monkeypatch)
    _, withdrawn, after = opened.text.partition(WITHDRAWN)
    assert withdrawn, "its first sentence held and was shown; its answer never did"
    assert "gave no answer" in after
    assert opened.chat.investigation.turns[-1].provenance.model == "examiner"
    assert "Rank 17" not in opened.text


@pytest.mark.parametrize("broken", ["", "The job", "ran on", "Slurm says"])
def test_a_stream_that_is_cut_is_asked_for_whole(broken: str, opened: Told, monkeypatch: pytest.MonkeyPatch):
    def script(turn: int, request: Request) -> Reply:
        if turn == 1:
            return LOOK
        made = answer(request, "It ran on NODE.", "Slurm says STATE of it.")
        return replace(made, broken=broken) if request.get("stream") else made

    endpoint = play(opened, script, monkeypatch)
    assert opened.chat.investigation.turns[-1].provenance.model == "openai:scripted"
    assert endpoint.requests[-1].get("stream") is not True
    assert opened.text.count("It ran on gpu-01") == 1
    assert "Slurm says FAILED" in opened.text
    assert WITHDRAWN not in opened.text
    made = opened.chat.investigation.turns[-1].provenance
    assert made.requests == len(endpoint.requests) == 3
    assert f"Answered by openai:scripted: 3 requests, 2 tool calls, {made.seconds:.1f} s ({QUICK.said()})" in re.sub(
        r"\s+", " ", opened.text
    )
    assert "asked for again" in opened.text


def test_answers_that_always_break_off_end_at_the_bound_of_requests(opened: Told, monkeypatch: pytest.MonkeyPatch):
    def script(turn: int, request: Request) -> Reply:
        look = message(calls=[("read_log", {"pattern": f"never {turn}"})])
        return replace(look, pieces=3, broken="never") if request.get("stream") else look

    endpoint = play(opened, script, monkeypatch, replace(QUICK, requests=5, tool_calls=99))
    assert len(endpoint.requests) == 5
    made = opened.chat.investigation.turns[-1].provenance
    assert made.model == "examiner"
    assert "request_limit of 5" in made.notes[0], made.notes


def test_an_endpoint_that_is_not_there_is_not_tried_twice_over(opened: Told, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "loopback")
    opened.chat.limits = replace(QUICK, retry_s=1)
    opened.chat.turn("how did it end?")
    notes = opened.chat.investigation.turns[-1].provenance.notes
    assert "nobody listens" in notes[0], notes


@pytest.mark.parametrize("status", [400, 404, 422, 501])
def test_an_endpoint_that_refuses_to_stream_is_asked_as_before(
    status: int, opened: Told, monkeypatch: pytest.MonkeyPatch
):
    def script(turn: int, request: Request) -> Reply:
        if request.get("stream"):
            return Reply({"error": {"message": "no streams here"}}, status)
        return LOOK if "job_attempts" not in str(request["messages"]) else answer(request)

    endpoint = play(opened, script, monkeypatch)
    assert "The job ended as FAILED" in opened.text
    assert [bool(r.get("stream")) for r in endpoint.requests] == [True, False, False], "asked for a stream once"


def test_a_stream_that_stands_still_ends_in_time(opened: Told, monkeypatch: pytest.MonkeyPatch):
    def script(turn: int, request: Request) -> Reply:
        if turn == 1:
            return LOOK
        return replace(answer(request, "It ran on NODE."), held=("]]", threading.Event()))

    play(opened, script, monkeypatch, replace(QUICK, seconds=3))
    _, withdrawn, after = opened.text.partition(WITHDRAWN)
    assert withdrawn
    assert "gave no answer within its 3 s" in " ".join(after.split())


def test_a_question_that_is_stopped_keeps_what_was_shown(opened: Told, monkeypatch: pytest.MonkeyPatch):
    def say(text: str) -> None:
        opened.said.append(text)
        if "The job ended" in text:
            signal.raise_signal(signal.SIGINT)

    opened.chat.say = say
    never = threading.Event()

    def script(turn: int, request: Request) -> Reply:
        return LOOK if turn == 1 else replace(answer(request, "It ran on NODE."), held=("It ran", never))

    with serving(script, monkeypatch):
        opened.chat.run(iter(["how did it end?"]))
    never.set()
    assert "stopped" in opened.said[-1]
    assert [t.short[:19] for t in opened.chat.investigation.turns] == ["The job ended as [["]
    again = Investigation(opened.chat.investigation.reader, "7")
    assert opened.log.restore(again) == 1
    assert "Cut off" in again.turns[0].provenance.notes[0]


def lines(process: subprocess.Popen[str]) -> Generator[str]:
    assert process.stdout is not None
    for line in process.stdout:
        yield line.strip()


def test_a_kill_in_mid_stream_loses_no_sentence_that_was_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    never, command = (
        threading.Event(),
        [sys.executable, "-u", "-m", "inquest", "chat", "7", "--model", "openai:scripted"],
    )

    def script(turn: int, request: Request) -> Reply:
        if turn in (1, 3):
            return LOOK
        made = answer(request, "It ran on NODE.", "Slurm says STATE of it.")
        return made if turn == 2 else replace(made, held=("Slurm sa", never))

    where = ["--lake", str(lake(tmp_path))]
    with serving(script, monkeypatch):
        with subprocess.Popen(
            [*command, *where],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        ) as process:
            assert process.stdin is not None
            shown: list[str] = []
            process.stdin.write("how did it end?\n")
            process.stdin.flush()
            for line in lines(process):
                shown.append(line)
                if line.startswith("- Slurm says"):
                    process.stdin.write("and where?\n")
                    process.stdin.flush()
                if line.startswith("- It ran on") and shown.count(line) == 2:
                    process.send_signal(signal.SIGKILL)
                    break
        never.set()
    log = found(None)
    with Reader(tmp_path / "lake") as reader:
        again = Investigation(reader)
        assert log.restore(again) == 2
        first, cut = again.turns
        assert (cut.question, cut.short, len(cut.shows)) == ("and where?", first.short, 1)
        assert cut.shows[0] == first.shows[0]
        assert "Cut off" in cut.provenance.notes[0]
        again.ask("what is the timeline?")
        log.keep(again)
    with Reader(tmp_path / "lake") as reader:
        more = Investigation(reader)
        assert found(None).restore(more) == 3, "the turn after it does not take its place"
        assert [t.question for t in more.turns] == ["how did it end?", "and where?", "what is the timeline?"]

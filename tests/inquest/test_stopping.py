"""Being told to stop by a signal: Ctrl-C leaves off a question, what ends the process ends it, with a shell's status."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_tools.endpoints.drive import Limits
from agent_tools.questions.investigation import Investigation
from inquest import stopping
from inquest.chat import Chat
from inquest.chat_log import ChatLog
from store import Reader
from tests.agent_tools.casekit import lake


class Interrupted(Chat):
    """In its first turn comes what the store makes of a signal that came while the engine ran."""

    def turn(self, text: str) -> None:
        self.say(text)
        if text == "first":
            raise KeyboardInterrupt


@pytest.fixture
def chat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Interrupted, list[str]]]:
    lake(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(stopping, "_told", [])
    said: list[str] = []
    with Reader(tmp_path / "lake") as reader:
        yield Interrupted(Investigation(reader), ChatLog.start("", None), None, Limits(), say=said.append), said


def test_an_interrupt_leaves_off_the_question_and_the_chat_goes_on(chat: tuple[Interrupted, list[str]]) -> None:
    asked, said = chat
    assert asked.run(iter(["first", "second"])) == 0
    assert [said[0], said[-1]] == ["first", "second"]
    assert "stopped" in said[1]
    assert stopping.status() == 130


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_ends_the_process_ends_the_chat(
    chat: tuple[Interrupted, list[str]], number: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, said = chat
    before = signal.signal(number, signal.SIG_DFL)
    try:
        stopping.listen()
        with pytest.raises(SystemExit) as left:
            os.kill(os.getpid(), number)
        assert left.value.code == stopping.status() == 128 + number
        with pytest.raises(KeyboardInterrupt):
            asked.run(iter(["first", "second"]))
        assert said == ["first"]
    finally:
        signal.signal(number, before)

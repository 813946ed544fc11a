"""A resumed chat goes on with whom it was held with, and says who that is."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from inquest.__main__ import main
from inquest.chat_log import found
from tests.agent_tools.casekit import lake

NOBODY = "http://127.0.0.1:9/v1"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lake(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("OPENAI_BASE_URL", NOBODY)
    monkeypatch.setenv("OPENAI_API_KEY", "loopback")
    monkeypatch.delenv("INQUEST_MODEL", raising=False)


def chat(folder: Path, monkeypatch: pytest.MonkeyPatch, *options: str, typed: str = "/help") -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    assert main(["chat", "7", "--lake", str(folder / "lake"), "--seconds", "2", *options]) == 0


def test_it_asks_the_model_that_it_asked_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    chat(tmp_path, monkeypatch, "--model", "big,little", "--small-model")
    assert "as in this chat before" not in capsys.readouterr().err
    chat(tmp_path, monkeypatch, "--resume", typed="why did it fail?")
    told = capsys.readouterr()
    assert "big,little answers, as a small model, as in this chat before; --model names another" in told.err
    assert "The model big gave no answer" in told.out, "it was asked"
    assert "The model little gave no answer" in told.out
    assert found(None).asked() == ("big,little", True)


@pytest.mark.parametrize("environment", ["", "of-the-environment"])
def test_what_was_chosen_last_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], environment: str
) -> None:
    chat(tmp_path, monkeypatch, "--model", "first", typed="/model second")
    monkeypatch.setenv("INQUEST_MODEL", environment)
    chat(tmp_path, monkeypatch, "--resume")
    assert "second answers, as in this chat before" in capsys.readouterr().err
    chat(tmp_path, monkeypatch, "--resume", "--model", "third")
    assert "as in this chat before" not in capsys.readouterr().err
    chat(tmp_path, monkeypatch, "--resume", typed="/model examiner")
    assert "third answers" in capsys.readouterr().err
    chat(tmp_path, monkeypatch, "--resume")
    assert "the built-in examiner answers, as in this chat before" in capsys.readouterr().err


def test_a_new_chat_asks_the_model_of_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INQUEST_MODEL", "of-the-environment")
    chat(tmp_path, monkeypatch)
    assert found(None).asked() == ("of-the-environment", False)


def test_a_file_of_before_knows_the_model_by_its_turns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chat(tmp_path, monkeypatch)
    log = found(None)
    turns = [{"reply": {"provenance": {"model": m}}} for m in ("older", "newer", "examiner")]
    log.path.write_text(
        "\n".join(json.dumps(line) for line in ({"chat": 1, "target": "7", "lake": None}, *turns)) + "\n"
    )
    assert log.asked() == ("newer", False)

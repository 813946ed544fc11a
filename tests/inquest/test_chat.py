"""`inquest ask` and `inquest chat`: by word and by command, kept on disk before it is shown, resumed after a kill."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agent_tools.endpoints.drive import Limits
from agent_tools.questions.investigation import Investigation
from inquest.__main__ import main
from inquest.chat import Chat
from inquest.chat_log import ChatLog, chats, found
from inquest.commands import Failure
from store import Reader
from store.result import QueryTimeout
from tests.agent_tools.casekit import TOKEN, lake

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


def chat(folder: Path, *lines: str, options: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "inquest", "chat", "--lake", str(folder / "lake"), *options]
    typed = "".join(f"{line}\n" for line in lines)
    return subprocess.run(command, input=typed, capture_output=True, text=True, cwd=ROOT, check=False, timeout=120)


def test_ask_answers_about_the_fleet_and_about_a_job(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    lake(tmp_path)
    assert main(["ask", "which jobs failed?", "--lake", str(tmp_path / "lake")]) == 0
    assert "find_jobs" in capsys.readouterr().out
    assert main(["ask", " ", "--lake", str(tmp_path / "lake")]) == 2
    assert "the question is empty" in capsys.readouterr().err
    assert main(["ask", "why did it fail?", "7", "--lake", str(tmp_path / "lake"), "--json"]) == 0
    reply = json.loads(capsys.readouterr().out)
    assert reply["job"] == "7"
    assert "ValueError" in reply["rendered"]["short"]


def test_why_with_a_question_answers_it_beside_the_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    lake(tmp_path)
    assert main(["why", "7", "what errors were printed?", "--lake", str(tmp_path / "lake"), "--json"]) == 0
    verdict = json.loads(capsys.readouterr().out)
    assert verdict["family"]
    assert verdict["answer"]["question"] == "what errors were printed?"


def test_a_chat_by_commands(tmp_path: Path):
    lake(tmp_path)
    done = chat(
        tmp_path, "/job 99", "/job 7", "why?", "/evidence E1", "/evidence E999", "/sql SELECT count(*) AS n FROM log_line",
        "/sql COPY log_line TO '/tmp/x'", "/model examiner", "/history", "/nonsense", "/help", "/quit", "never asked",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for expected in (
        "no job 99 in the lake",
        "job 7 is open",
        "ValueError",
        "[E1]",
        "no evidence 'E999'",
        "n  3",
        "1. why?",
    ):
        assert expected in done.stdout
    assert "no command /nonsense" in done.stdout
    assert "never asked" not in done.stdout
    assert TOKEN not in done.stdout


def test_a_chat_goes_on_after_a_kill(tmp_path: Path, state: Path):
    """Every turn that was shown is there again; evidence keeps its id."""
    lake(tmp_path)
    command = [sys.executable, "-u", "-m", "inquest", "chat", "7", "--lake", str(tmp_path / "lake"), "--json"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT, env={**os.environ}
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        shown: list[dict[str, Any]] = []
        for question in ("why did it fail?", "which errors?"):
            process.stdin.write(f"{question}\n".encode())
            process.stdin.flush()
            shown.append(json.loads(process.stdout.readline()))
        process.send_signal(signal.SIGKILL)
    log = found(None)
    assert log.path.stat().st_mode & 0o077 == 0
    with log.path.open("ab") as f:
        f.write(b'{"reply": {"short": "cut by a cra')
    with Reader(tmp_path / "lake") as reader:
        again = Investigation(reader)
        assert log.restore(again) == 2
        assert [t.short for t in again.turns] == [s["short"] for s in shown]
        assert again.job_id == "7"
        ids = [e.id for e in again.ledger.all()]
        again.ask("what is the timeline?")
        log.keep(again)
        assert [e.id for e in again.ledger.all()][: len(ids)] == ids
    with Reader(tmp_path / "lake") as reader:
        assert found(None).restore(Investigation(reader)) == 3, "the cut line costs nothing that came after it"


def test_what_was_looked_up_between_two_turns_is_there_in_the_next_sitting(tmp_path: Path):
    lake(tmp_path)
    command = [sys.executable, "-u", "-m", "inquest", "chat", "7", "--lake", str(tmp_path / "lake")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"/sql SELECT 4811 + 1 AS number\n")
        process.stdin.flush()
        shown = next(line for line in iter(process.stdout.readline, b"") if b"4812" in line)
        process.send_signal(signal.SIGKILL)
    done = chat(tmp_path, "/evidence", "/evidence E1", options=("--resume", found(None).path.stem))
    assert "E1  sql: 1 row" in done.stdout
    assert shown.decode().strip() in done.stdout


def test_a_chat_is_resumed_and_listed_by_name(tmp_path: Path):
    lake(tmp_path)
    assert chat(tmp_path, "which jobs failed?").returncode == 0
    name = chats()[0].path.stem
    done = chat(tmp_path, "/history", "/history 1", "/history 2", options=("--resume", name))
    assert "1. which jobs failed?\n   Job 7 ended as FAILED at" in done.stdout
    assert "Job 7 [E3] ended as FAILED [E3]" in done.stdout, "one turn whole, with what it cites"
    assert "of the 1 turns" in done.stdout
    assert name in chat(tmp_path, options=("--list",)).stdout
    assert "no chat 1999" in chat(tmp_path, options=("--resume", "1999")).stderr


def test_two_terminals_cannot_go_on_with_one_chat(tmp_path: Path):
    """Both would give the same id to different evidence, and the file would hold turns that nobody can read."""
    lake(tmp_path)
    assert chat(tmp_path, "/sql SELECT 1 AS number").returncode == 0
    log = found(None)
    with log.alone():
        refused = chat(tmp_path, "/sql SELECT 2 AS number", options=("--resume",))
        assert refused.returncode != 0
        assert f"the chat {log.path.stem} is open in another terminal" in refused.stderr
        assert chat(tmp_path, "/sql SELECT 3 AS number").returncode == 0, "a new one is no trouble"
    done = chat(tmp_path, "/sql SELECT 4 AS number", "/evidence", options=("--resume", log.path.stem))
    assert "E2  sql: 1 row" in done.stdout


def test_a_file_that_is_no_chat_is_refused(tmp_path: Path):
    path = tmp_path / "x.jsonl"
    path.write_text('{"a": 1}\n')
    with pytest.raises(Failure, match="is no chat"):
        ChatLog(path).head()


def test_in_a_narrow_terminal_no_word_is_cut_and_no_table_folds(tmp_path: Path):
    """What goes on in the next line begins below its words; a table that is too wide is told row by row, below its query."""
    lake(tmp_path)
    columns, said = 50, list[str]()
    with Reader(tmp_path / "lake") as reader:
        held = Chat(
            Investigation(reader, "7"), ChatLog.start("7", None), None, Limits(), interactive=True, columns=lambda: columns,
            say=said.append,
        )  # fmt: skip
        held.run(
            iter(
                [
                    "/help",
                    "/job 7",
                    "/evidence",
                    "/sql SELECT range AS number, repeat('x', 40) AS text, 'yyyyyyyyy' AS more FROM range(3)",
                ]
            )
        )
        helped, _, listed, table = said
        assert max(map(len, helped.splitlines())) <= columns
        assert "                   of it whole, with its query" in helped.splitlines()
        assert "job_known: 1 row\n" in listed
        assert ["row 0", "  number  0", f"  text    {'x' * 40}", "  more    yyyyyyyyy", "row 1"] == table.splitlines()[
            1:6
        ]
        whole = held.investigation.ledger.all()[-1].id
        held.run(iter([f"/evidence {whole}"]))
        assert said[-1].index("repeat('x', 40)") < said[-1].index("row 0")
        columns = 300
        held.run(iter([f"/evidence {whole}"]))
        assert "row 0" not in said[-1]


def test_a_store_that_cannot_answer_does_not_end_a_chat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    lake(tmp_path)
    said = list[str]()
    with Reader(tmp_path / "lake") as reader:
        held = Chat(Investigation(reader), ChatLog.start("", None), None, Limits(), say=said.append)

        def late(*_: Any, **__: Any) -> Any:
            raise QueryTimeout("find_jobs took longer than 30 s")

        monkeypatch.setattr(type(held.investigation.ledger), "ask", late)
        held.run(iter(["/jobs", "/help"]))
    assert said[0] == "inquest: find_jobs took longer than 30 s"
    assert said[1].startswith("/why")


def test_what_is_piped_in_stands_ahead_of_its_answer(tmp_path: Path):
    lake(tmp_path)
    done = chat(tmp_path, "/job 7", "", "/history", options=())
    assert done.stdout.splitlines() == ["> /job 7", "job 7 is open", "> /history", "nothing yet"]

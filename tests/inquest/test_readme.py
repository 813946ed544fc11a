"""Every command in the README runs, and every make target that it names exists."""

from __future__ import annotations

import io
import re
import shlex
import shutil
from pathlib import Path

import pytest

from inquest.__main__ import main
from tests.agent_tools.endpoints.endpoint import message, serving

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```sh\n(.*?)```", README, re.S)
LINES = [line for block in BLOCKS for line in block.splitlines() if line.strip()]
ALL = [line for line in LINES if line.startswith("inquest ")]
LIVE = [line for line in ALL if line.split()[1] in ("watch", "collect")]
MODEL = [line for line in ALL if "--model" in line]
INQUEST = [line for line in ALL if line not in (*LIVE, *MODEL)]
SHOWN = re.search(r"```\n\$ inquest (?P<words>why \S+)\n(?P<text>.*?)\n\.\.\.\n```", README, re.S)


def test_the_readme_has_commands() -> None:
    assert len(INQUEST) >= 12


def test_every_make_target_of_the_readme_exists() -> None:
    targets = set(re.findall(r"make ([a-z-]+)", README)) - {"and"}
    there = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))
    assert targets, "the README names no target"
    assert targets <= there


def test_the_commands_of_the_readme_run_one_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a folder that holds a job's files, the README's commands work as they stand there, in their order."""
    example = ROOT / "inquest/examples/too-few-steps"
    shutil.copytree(example, tmp_path / "job-4812")
    log = next((example / "logs").rglob("*.out"))
    shutil.copy(log, tmp_path / "slurm-4812.out")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    job = re.search(r"\d+", log.name)
    assert job
    for line in INQUEST:
        words = [job[0] if w == "4812" else w for w in shlex.split(line)[1:]]
        monkeypatch.setattr("sys.stdin", io.StringIO("/help\n"))  # what a person types into a chat
        status = main(words)
        out = capsys.readouterr()
        assert status == 0, f"{line}: {out.err}"
        assert out.out.strip(), f"{line} printed nothing"
    assert (tmp_path / "verdict.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_the_verdict_that_the_readme_shows_is_the_one_that_is_given(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert SHOWN
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "100")
    assert main(SHOWN["words"].split()) == 0
    assert capsys.readouterr().out.startswith(SHOWN["text"] + "\n")


def test_the_commands_with_a_model_run_and_end_in_the_examiner_s_verdict_where_it_says_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], allow_model_requests: None
) -> None:
    shutil.copytree(ROOT / "inquest/examples/too-few-steps", tmp_path / "job-4812")
    monkeypatch.chdir(tmp_path)
    why = [line for line in MODEL if line.startswith("inquest why")]
    assert why
    with serving(lambda _turn, _request: message("I do not know."), monkeypatch) as endpoint:
        for line in why:
            assert main(shlex.split(line)[1:]) == 0
            assert "examiner" in capsys.readouterr().out
        assert endpoint.requests[0]["model"] == why[0].split("--model ")[1].split()[0]


def test_the_commands_for_a_node_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    collect = [line for line in LIVE if line.startswith("inquest collect")]
    assert collect
    for line in collect:
        words = shlex.split(line.replace("/shared", str(tmp_path)).replace("/var/lib", f"{tmp_path}/var"))[1:]
        # One look at what every Linux host has: what a node's other sources give has tests of its own.
        if "--source" not in words:
            words += ["--source", "host", "--once"]
        assert main(words) == 0, capsys.readouterr().err
    assert list((tmp_path / "inquest").rglob("*.parquet"))


def test_the_command_for_a_controller_is_one(capsys: pytest.CaptureFixture[str]) -> None:
    watch = [line for line in LIVE if line.startswith("inquest watch")]
    assert watch
    for line in watch:
        with pytest.raises(
            SystemExit
        ) as ended:  # it runs until it is told to stop: what it does has tests on a real Slurm
            main([*shlex.split(line)[1:], "--help"])
        assert ended.value.code == 0
        assert set(re.findall(r"--[a-z-]+", line)) <= set(re.findall(r"--[a-z-]+", capsys.readouterr().out))

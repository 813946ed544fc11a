"""Every command in the README runs, and every make target that it names exists."""

from __future__ import annotations

import io
import re
import shlex
import shutil
from pathlib import Path

import pytest

from inquest.__main__ import main

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```sh\n(.*?)```", README, re.S)
LINES = [line for block in BLOCKS for line in block.splitlines() if line.strip()]
INQUEST = [line for line in LINES if line.startswith("inquest ") and "--model" not in line]


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

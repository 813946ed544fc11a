"""`inquest eval`: what it selects, what it writes, and what its exit status says."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from evals.baseline import Comparison
from evals.outcome import Outcome
from inquest.__main__ import main
from inquest.commands.eval import Progress, status
from inquest.render.scores import scores_page

ROOT = Path(__file__).resolve().parents[2]
ONE = ["eval", "--cases", "u0_undetermined/accounting", "--workers", "1"]
RIGHT = Outcome("a/b/1", "a", truth=("A3",), family="A3", attribution="job", expected_attribution="job", confidence=0.9)
WRONG = replace(RIGHT, case="a/b/2", family="B2", failures=(("family", "B2, expected A3"),))
INVALID = replace(RIGHT, case="a/b/3", family="", invalid="The model x gave no verdict")


def test_a_case_is_asked_and_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page, junit = tmp_path / "a.html", tmp_path / "a.xml"
    assert main([*ONE, "--html", str(page), "--junit", str(junit)]) == 0
    said = capsys.readouterr()
    assert "cases right in every respect" in said.out
    assert re.search(r"\b1 of \d+, 0 wrong", said.err), "progress on standard error"
    assert page.read_text().startswith("<!doctype html>")
    assert junit.read_text().startswith("<testsuite")


def test_json_is_all_that_is_on_standard_output_and_serves_as_a_baseline(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*ONE, "--json"]) == 0
    text = capsys.readouterr().out
    assert json.loads(text)["summary"]["valid"] is True
    before = tmp_path / "before.json"
    before.write_text(text)
    assert main([*ONE, "--baseline", str(before), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["comparison"]["held"] is True


def test_the_labelled_files_of_a_folder_are_asked(capsys: pytest.CaptureFixture[str]) -> None:
    folder = ROOT / "tests/evals/samples/labelled"
    assert main(["eval", "--corpus", str(folder), "--cases", "labelled/k2", "--workers", "1"]) == 0
    assert "1 of 1 cases right" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--cases", "no-such-thing"], "no case matches"),
        (["--corpus", "/nowhere/at/all"], "no folder"),
        (["--baseline", "/nowhere.json"], "cannot be read"),
        (["--html", "/nowhere/at/all.html"], "cannot write"),
    ],
)
def test_what_cannot_be_done_is_said_before_anything_runs(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["eval", *words]) == 2
    assert said in capsys.readouterr().err


def test_the_exit_status_tells_right_wrong_worse_and_invalid_apart() -> None:
    assert status([RIGHT], None) == 0
    assert status([RIGHT, WRONG], None) == 1
    assert status([RIGHT, WRONG], Comparison()) == 0
    assert status([RIGHT, INVALID], Comparison()) == 4
    assert status([RIGHT, INVALID], None) == 4


def test_progress_without_a_terminal_is_sparse_and_names_what_is_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    progress = Progress(200)
    for _ in range(199):
        progress(RIGHT)
    progress(replace(WRONG, headline="\x1b[2J"))
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) <= 12
    assert any(line.startswith("wrong a/b/2") for line in lines)
    assert lines[-1].startswith("200 of 200, 1 wrong")
    assert "\x1b" not in "".join(lines)


def test_a_page_asks_no_network_runs_nothing_and_escapes_what_models_wrote() -> None:
    dirty = replace(WRONG, headline='<script>alert(1)</script> <img src="http://x">')
    page = scores_page([RIGHT, dirty, INVALID], Comparison(), model="<b>m</b>")
    assert "<script" not in page and "<img" not in page and "<b>m</b>" not in page
    assert not re.search(r"<[^>]*(?:src|href)=", page)
    assert "default-src 'none'" in page
    assert "Invalid" in page and "&lt;script&gt;" in page
    assert page.count("<svg") == 1


def test_asking_why_loads_nothing_of_the_suite() -> None:
    code = (
        "import sys; from inquest.__main__ import parser; parser('why'); import inquest.commands.why, agent_tools.agent;"
        "agent_tools.agent.agent(); sys.exit('pydantic_evals' in sys.modules or 'evals' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0

"""`inquest doctor --live`: each way into Slurm, why it does not work, and what mends it; without a lake."""

from __future__ import annotations

import json

import pytest

from collector.slurm.choose import Tried
from collector.slurm.replay import Replay
from inquest.__main__ import main
from inquest.checks import SECTIONS, slurm


def test_a_machine_without_slurm_says_what_would_mend_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """Exit status 1, a line for each way, and the remedies below."""
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.delenv("SLURMRESTD_URL", raising=False)
    assert main(["doctor", "--live", "slurm"]) == 1
    printed = capsys.readouterr().out
    assert "scontrol is not installed here" in printed and "apt-get install slurm-client" in printed


def test_a_way_that_works_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """As JSON, with the way that is taken; text from a cluster cannot write to the terminal."""
    found = [
        Tried("rest", None, False, "not set up"),
        Tried("commands", Replay({}), True, "Slurm 24.11, cluster \x1b[31mred"),
    ]
    monkeypatch.setattr(slurm, "every", lambda: iter(found))
    monkeypatch.setattr(slurm, "choose", lambda: Replay({}))
    assert main(["doctor", "--live", "slurm", "--json"]) == 0
    checks = json.loads(capsys.readouterr().out)["checks"]
    assert [(c["name"], c["state"]) for c in checks if c["section"] == "slurm"] == [
        ("rest", "off"),
        ("commands", "works"),
        ("chosen", "works"),
    ]
    assert main(["doctor", "--live", "slurm"]) == 0
    assert "\x1b" not in capsys.readouterr().out


def test_a_section_that_is_none_is_an_error_of_usage(capsys: pytest.CaptureFixture[str]):
    """It names those that there are."""
    assert main(["doctor", "--live", "telepathy"]) == 2
    assert ", ".join(SECTIONS) in capsys.readouterr().err

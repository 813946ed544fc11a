"""A user sees own jobs at the command line too; an operator sees all."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from agent_tools.viewer import Viewer
from inquest import who
from inquest.__main__ import main
from store import Writer
from store.rows import SlurmJob

T = datetime(2026, 3, 1, tzinfo=UTC)
SECRET = "ghp_" + "a1B2c3D4e5F6" * 3


@pytest.fixture
def lake() -> Iterator[Path]:
    """A lake that everybody may read and its owner alone may write, with a job each of ada and bo."""
    folder = Path(tempfile.mkdtemp(prefix="who-"))
    folder.chmod(0o755)
    jobs = [
        SlurmJob(job_id=i, attempt=1, user=u, state="FAILED", exit_code=1, ts=T, start_ts=T, end_ts=T)
        for i, u in (("7", "ada"), ("8", "bo"))
    ]
    Writer(folder / "lake", durable=False).append(jobs, batch="b")
    (folder / "lake").chmod(0o755)
    yield folder / "lake"
    shutil.rmtree(folder)


@pytest.fixture
def level(lake: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What a command named sacctmgr, found before all others, says of anybody's level."""
    level, command = lake.parent / "level", lake.parent / "sacctmgr"
    level.write_text("None\n")
    command.write_text(f"#!/bin/sh\ncat {level}\n")
    level.chmod(0o644)
    command.chmod(0o755)
    monkeypatch.setenv("PATH", str(lake.parent), prepend=":")
    return level


def test_who_may_write_the_lake_is_an_operator(lake: Path) -> None:
    assert who.viewer(lake).operator


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_stranger_is_none_unless_slurm_says_so(lake: Path, level: Path) -> None:
    os.seteuid(65534)
    try:
        plain = who.viewer(lake)
        os.seteuid(0)
        level.write_text("Administrator\n")
        os.seteuid(65534)
        raised = who.viewer(lake)
    finally:
        os.seteuid(0)
    assert plain == Viewer("nobody")
    assert raised == Viewer("nobody", operator=True)


def test_a_user_is_answered_about_own_jobs_only(
    lake: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(who, "viewer", lambda _lake: Viewer("ada"))
    where = ["--lake", str(lake)]
    assert main(["jobs", *where, "--json"]) == 0
    assert [j["job_id"] for j in json.loads(capsys.readouterr().out)["jobs"]] == ["7"]
    Writer(lake, durable=False).append(
        [SlurmJob(job_id="9", attempt=1, user="ada", name=f"run {SECRET}", ts=T)], batch="c"
    )
    for operator in (False, True):
        monkeypatch.setattr(who, "viewer", lambda _lake, operator=operator: Viewer("ada", operator))
        assert main(["jobs", *where]) == 0
        listed = capsys.readouterr().out
        assert "run [redacted: github token]" in listed and SECRET not in listed
    monkeypatch.setattr(who, "viewer", lambda _lake: Viewer("ada"))
    assert main(["why", "7", *where]) == 0
    capsys.readouterr()
    assert main(["why", "8", *where]) == 3
    assert "no job 8 of ada" in capsys.readouterr().err
    assert main(["ask", "why did it fail?", "8", *where]) == 3
    assert main(["sql", "SELECT * FROM slurm_job", *where]) == 3
    assert "operator" in capsys.readouterr().err
    assert main(["ask", "which jobs failed?", *where, "--json"]) == 0
    assert '"8"' not in capsys.readouterr().out
    assert main(["mcp", "--user", "bo", *where]) == 3


def test_a_bundle_is_held_against_the_lake_as_far_as_its_reader_may_see(
    lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bundle = str(tmp_path / "v.json")
    assert main(["why", "8", "--lake", str(lake), "--bundle", bundle]) == 0
    assert main(["verify", bundle, "--lake", str(lake)]) == 0
    monkeypatch.setattr(who, "viewer", lambda _lake: Viewer("ada"))
    capsys.readouterr()
    assert main(["verify", bundle, "--lake", str(lake)]) == 1
    assert "no job 8 of ada" in capsys.readouterr().out

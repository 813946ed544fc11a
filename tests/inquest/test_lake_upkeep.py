"""`inquest compact`, `retain` and `doctor` on a lake: what they say, how far they are, and their status."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from inquest.__main__ import main
from store import Writer
from store.rows import SlurmNodeSample

T = datetime(2026, 3, 1, 10, tzinfo=UTC)


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    made = tmp_path / "lake"
    for n in range(6):
        Writer(made).append([SlurmNodeSample(node=f"n{n % 3}", ts=T + timedelta(days=n % 2), cpus=n)], batch=f"b{n}")
    return made


def test_compact_says_what_it_did_and_counts_what_it_listed(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compact", "--lake", str(lake)]) == 0
    assert "2 past days listed" in capsys.readouterr().out
    assert main(["compact", "--lake", str(lake), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["listed"] == 0


def test_compact_fails_where_something_could_not_be_merged(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from store import compact as compacting

    for n in range(4):
        Writer(lake).append([SlurmNodeSample(node="n0", ts=T, cpus=n)], batch=f"more{n}")
    for path in (lake / "tables").rglob("n-n0/*.parquet"):
        path.write_bytes(b"no parquet")
    with pytest.MonkeyPatch.context() as m:
        m.setattr(compacting.compact, "__kwdefaults__", {**compacting.compact.__kwdefaults__, "settle_s": 0.0})
        assert main(["compact", "--lake", str(lake)]) == 1
    said = capsys.readouterr()
    assert "run `inquest doctor`" in said.err
    assert "merged into" in said.out


def test_retain_says_how_many_rows_went(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["retain", "--days", "1", "--lake", str(lake)]) == 0
    assert "6 rows in 6 segments aged out" in capsys.readouterr().out


@pytest.mark.parametrize("command", [["compact"], ["retain", "--days", "1"], ["doctor"]])
def test_a_terminal_is_shown_how_far_it_is_and_a_file_is_not(lake: Path, command: list[str]) -> None:
    ours, theirs = os.openpty()
    args = [sys.executable, "-m", "inquest", *command, "--lake", str(lake)]
    done = subprocess.run(args, stdout=subprocess.PIPE, stderr=theirs, text=True, check=False)
    os.close(theirs)
    shown = b""
    try:
        while part := os.read(ours, 65536):
            shown += part
    except OSError as e:  # what Linux says at the end of a terminal
        assert e.errno == errno.EIO
    os.close(ours)
    assert done.returncode == 0
    assert b"slurm_node_sample/2026-03-0" in shown
    assert b"0 of " in shown
    assert shown.endswith(b"\r\x1b[K")
    piped = subprocess.run(args, capture_output=True, text=True, check=False)
    assert piped.stderr == ""

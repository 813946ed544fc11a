"""A job that keeps no log is answered from what the probes caught of it."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from inquest.__main__ import main
from store.rows import SourceHealth
from store.writer import Writer
from tests.collector.intake.test_captured import ERR, OUT, START, caught


def test_why_reads_what_was_caught(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    caught(tmp_path, OUT, "out", "a")
    caught(tmp_path, ERR, "err", "b")
    looked = SourceHealth(job_id="4812", node="node1", ts=START, end_ts=START + timedelta(minutes=1), ok=True)
    Writer(tmp_path).append([looked], batch="c")
    assert main(["why", "4812", "--lake", str(tmp_path)]) == 0
    assert "ValueError" in capsys.readouterr().out

"""`inquest doctor --live node`: each source of the collector, here and now; and `inquest collect` as a person calls it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from collector.sources.registry import OPTIONAL, SOURCES
from inquest.__main__ import main
from tests.collector.livekit import asked


def test_every_source_says_whether_it_works(capsys: pytest.CaptureFixture[str]) -> None:
    """On any host: the kernel's own are there; what is not there is off, and what is broken names a remedy."""
    main(["doctor", "--live", "node", "--json"])
    checks = {c["name"]: c for c in json.loads(capsys.readouterr().out)["checks"]}
    assert set(checks) == {n for n in SOURCES if n not in OPTIONAL}
    assert checks["host"]["state"] == checks["topology"]["state"] == "works"
    assert {c["state"] for c in checks.values()} <= {"works", "off", "broken"}
    assert all(c["remedy"] for c in checks.values() if c["state"] == "broken")


def test_rows_are_printed_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["collect", "--once", "--print", "--json", "--source", "host", "--node", "node9"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [r["table"] for r in rows] == ["host_sample", "source_health"]
    assert rows[0]["node"] == "node9" and rows[0]["memory_total_bytes"] > 0


def test_one_look_into_the_lake(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [
        "collect",
        "--once",
        "--source",
        "host",
        "--lake",
        str(tmp_path / "lake"),
        "--spool",
        str(tmp_path / "spool"),
    ]
    assert main(words) == 0 and main(words) == 0
    assert "2 rows" in capsys.readouterr().out
    assert asked(tmp_path / "lake", "SELECT count(*) FROM host_sample") == [(2,)]


def test_an_unknown_source_is_an_error_of_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["collect", "--source", "gpus"]) == 2
    assert "there are cgroup" in capsys.readouterr().err

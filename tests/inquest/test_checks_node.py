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


def test_a_source_that_is_named_and_cannot_look_is_told_and_is_no_success(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Named beside one that works, printed or kept. What nobody named may be missing, as most hardware is somewhere."""
    monkeypatch.setenv("INQUEST_DCGM_URL", "http://127.0.0.1:9/metrics")
    named = ["collect", "--once", "--source", "host", "--source", "dcgm"]
    kept = ["--lake", str(tmp_path / "lake"), "--spool", str(tmp_path / "spool")]
    for words in ([*named, "--print"], [*named, *kept]):
        assert main(words) == 1
        told = capsys.readouterr()
        assert told.err.startswith("inquest: dcgm: ") and len(told.err.splitlines()) == 1
        assert "host_sample" in told.out or "rows" in told.out
    monkeypatch.setattr("collector.sources.registry.SOURCES", {n: SOURCES[n] for n in ("host", "dcgm")})
    assert main(["collect", "--once", "--print"]) == 0


def test_one_look_says_what_it_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A lake, or the wish to see rows only; a spool that can be written; each with what to give."""
    monkeypatch.delenv("INQUEST_LAKE", raising=False)
    assert main(["collect", "--once"]) == 2
    assert "--lake" in (told := capsys.readouterr().err) and "--print" in told
    assert main(["collect", "--once", "--lake", str(tmp_path / "lake"), "--spool", "/proc/nowhere"]) == 1
    assert capsys.readouterr().err == (
        "inquest: cannot write to the spool /proc/nowhere: No such file or directory; give --spool DIR\n"
    )
    words = ["collect", "--once", "--source", "host", "--spool", str(tmp_path / "spool"), "--lake", "/proc/nowhere"]
    assert main(words) == 1
    assert "not in the lake: cannot make a lake at /proc/nowhere" in capsys.readouterr().err

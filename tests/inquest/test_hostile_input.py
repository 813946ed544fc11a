"""The command line meets what nobody wrote for it: a message that helps, the right exit status, nothing left behind."""

from __future__ import annotations

import gzip
import json
import os
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from inquest.__main__ import main

ROOT = Path(__file__).resolve().parents[2]
CRASH = (
    'Traceback (most recent call last):\n  File "/home/u/train.py", line 3, in <module>\nValueError: no such split\n'
)


class Runs:
    """What a pickle of strangers may do when it is loaded."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (os.environ["INQUEST_TEST_PWNED"],)


def said(*words: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    try:
        status = main(list(words))
    except SystemExit as stop:
        status = stop.code if isinstance(stop.code, int) else 1
    out = capsys.readouterr()
    return status, out.out, out.err


def command(*words: str, tmp: Path, **more: str) -> subprocess.Popen[bytes]:
    env = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp), **more}
    return subprocess.Popen(
        [sys.executable, "-m", "inquest", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env
    )


@pytest.mark.parametrize("target", ["", "x" * 5000, "a\0b", "nowhere/at/all"])
def test_a_name_that_no_file_can_have_ends_with_three(target: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = said("why", target, "--json", capsys=capsys)
    assert (status, out) == (3, "")
    assert "there is no file or folder" in err
    assert len(err) < 600


def test_an_unknown_zone_is_an_error_of_usage_and_says_what_a_zone_looks_like(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "run.log"
    log.write_text(CRASH)
    for words in (["why", str(log)], ["import", str(log), "--lake", str(tmp_path / "lake")]):
        status, _, err = said(*words, "--timezone", "Mars/Olympus", capsys=capsys)
        assert status == 2
        assert "Europe/Berlin" in err


def test_a_number_that_no_column_can_hold_costs_neither_its_row_nor_the_verdict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "sacct.txt"
    table.write_text(
        "JobID|State|ExitCode|NNodes|ReqMem|NodeList\n77|FAILED|1:0|99999999999999999999|99999999999999T|n[1-1000000000]\n"
    )
    status, out, _ = said("why", str(table), "--json", capsys=capsys)
    assert status == 0
    assert json.loads(out)["job"] == "77"


def test_a_link_that_leads_to_itself_is_named_and_the_rest_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "loop.log").symlink_to("loop.log")
    (tmp_path / "slurm-7.out").write_text(CRASH)
    assert said("why", str(tmp_path), "--json", capsys=capsys)[0] == 0
    assert "leads to itself" in said("import", str(tmp_path), "--lake", str(tmp_path / "lake"), capsys=capsys)[1]


def test_a_compressed_log_that_was_cut_off_at_once_is_not_called_empty(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "slurm-7.out.gz"
    log.write_bytes(gzip.compress(CRASH.encode())[:12])
    status, _, err = said("why", str(log), capsys=capsys)
    assert status == 3
    assert "breaks off" in err


def test_a_pickle_that_would_run_code_runs_nothing_and_is_no_log(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pwned = tmp_path / "pwned"
    monkeypatch.setenv("INQUEST_TEST_PWNED", str(pwned))
    dumps: dict[str, object] = {"rank_0": Runs(), "rank_1": {"pg_config": "", "entries": [Runs()]}}
    for name, value in dumps.items():
        (tmp_path / name).write_bytes(pickle.dumps(value))
        assert said("why", str(tmp_path / name), capsys=capsys)[0] == 3
    assert not pwned.exists()


def test_json_of_a_lake_has_no_word_that_json_does_not_know(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "slurm-7.out").write_text(CRASH)
    lake = str(tmp_path / "lake")
    said("import", str(tmp_path / "slurm-7.out"), "--lake", lake, capsys=capsys)
    out = said("sql", "SELECT 'nan'::DOUBLE AS a, '-inf'::DOUBLE AS b", "--lake", lake, "--json", capsys=capsys)[1]

    def refuse(word: str) -> object:
        raise AssertionError(word)

    assert json.loads(out, parse_constant=refuse)["rows"] == [["nan", "-inf"]]


def test_an_unforeseen_failure_is_one_line_and_a_wish(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from inquest.commands import schema

    def fails(_: object) -> int:
        raise KeyError("x\x1b[2Jy")

    monkeypatch.setattr(schema, "run", fails)
    status, out, err = said("schema", capsys=capsys)
    assert (status, out) == (1, "")
    assert err.count("\n") == 1
    assert "\x1b" not in err
    monkeypatch.setenv("INQUEST_TRACEBACK", "1")
    with pytest.raises(KeyError):
        main(["schema"])


def test_a_reader_that_goes_away_ends_the_command_quietly(tmp_path: Path) -> None:
    run = command("schema", tmp=tmp_path)
    assert run.stdout is not None
    assert run.stderr is not None
    run.stdout.readline()
    run.stdout.close()
    assert run.stderr.read() == b""
    assert run.wait(60) == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_being_told_to_stop_leaves_no_temporary_file(tmp_path: Path, number: signal.Signals) -> None:
    log, temporary = tmp_path / "slurm-7.out.gz", tmp_path / "tmp"
    temporary.mkdir()
    with gzip.open(log, "wb", compresslevel=1) as stream:
        for _ in range(120):
            stream.write(CRASH.encode() * 40_000)
    run = command("why", str(log), tmp=temporary)
    for _ in range(6000):
        if any(temporary.glob("*/tmp/*")) or run.poll() is not None:
            break
        time.sleep(0.005)
    run.send_signal(number)
    _, err = run.communicate(timeout=60)
    assert run.returncode in (130, 128 + signal.SIGTERM)
    assert b"Traceback" not in err
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize(
    "words",
    [
        ["why", "x", "--attempt", "0"],
        ["why", "x", "--attempt", "-1"],
        ["sql", "SELECT 1", "--timeout", "nan"],
        ["sql", "SELECT 1", "--limit", "-5"],
        ["jobs", "--limit", "0"],
        ["retain", "--days", "inf"],
        ["retain", "--days", "-1"],
        ["retain", "--days", "1e300"],
        ["retain", "--table", "log_line=nan"],
        ["retain", "--table", "nothing=3"],
        ["retain", "--table", "log_line"],
        ["schema", "nothing"],
        ["demo", "nothing"],
    ],
)
def test_an_impossible_number_or_name_is_an_error_of_usage(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, err = said(*words, capsys=capsys)
    assert (status, out) == (2, "")
    assert "should not have happened" not in err


def test_an_attempt_that_never_was_is_not_answered_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "slurm-7.out"
    log.write_text(CRASH)
    assert said("why", str(log), "--attempt", "1", "--json", capsys=capsys)[0] == 0
    status, _, err = said("why", str(log), "--attempt", "2", capsys=capsys)
    assert status == 3
    assert "no accounting tells its attempts apart" in err
    rerun = str(ROOT / "inquest" / "examples" / "preempted-and-resumed")
    status, _, err = said("why", rerun, "--attempt", "9", capsys=capsys)
    assert status == 3
    assert "there are 1, 2" in err

"""A plan that another process makes is the one that would be made here, and its absence costs nothing but time."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from collector.framing.parts import Plan, plan
from collector.intake import ahead
from collector.intake.ahead import Ahead, planned

HERE_ALONE = (os.cpu_count() or 1) < 2


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "slurm-7.out"
    line = "step 1 loss 2.5 lr 0.0001 and more of what is printed at every step of a run\n"
    path.write_text(line * 150_000 + "Traceback (most recent call last):\nKeyError: 'x'\n" + line * 150_000)
    return path


def here(path: Path) -> Plan:
    with path.open("rb") as file:
        return plan(file, path.stat().st_size)


def made(path: Path) -> Plan:
    with path.open("rb") as file:
        return planned(file, path.stat().st_size)


@pytest.mark.skipif(HERE_ALONE, reason="one processor: nothing is planned ahead")
def test_what_was_planned_ahead_is_what_is_planned_here(log: Path, monkeypatch: pytest.MonkeyPatch):
    expected = here(log)
    with Ahead(log, worth=1) as started:
        assert started.plan() == expected
    monkeypatch.setattr("collector.framing.parts.plan", None)  # it is not made a second time
    with Ahead(log, worth=1):
        assert made(log) == expected


def test_a_file_that_changed_meanwhile_is_planned_anew(log: Path):
    with Ahead(log, worth=1):
        with log.open("a") as file:
            file.write("step 2 loss 2.4\n" * 100)
        assert made(log) == here(log)


def test_where_it_cannot_be_made_ahead_it_is_made_here(log: Path, monkeypatch: pytest.MonkeyPatch):
    expected = here(log)
    monkeypatch.setattr("sys.executable", "/bin/false")
    with Ahead(log, worth=1):
        assert made(log) == expected
    monkeypatch.setattr("sys.executable", str(log.parent / "nowhere"))
    with Ahead(log, worth=1):
        assert made(log) == expected


def test_a_small_file_a_folder_and_nothing_start_no_process(log: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("subprocess.Popen", None)
    for target in (log, log.parent, log.parent / "none", Path("a\0b")):
        with Ahead(target) as started:
            assert started.plan() is None


@pytest.mark.skipif(HERE_ALONE, reason="one processor: nothing is planned ahead")
def test_no_module_of_the_folder_that_a_command_is_run_in_is_loaded(log: Path, monkeypatch: pytest.MonkeyPatch):
    folder = log.parent
    (folder / "collector/intake").mkdir(parents=True)
    for name in ("json.py", "collector/__init__.py", "collector/intake/__init__.py", "collector/intake/ahead.py"):
        (folder / name).write_text(f"open({str(folder / 'loaded')!r}, 'w')")
    monkeypatch.setenv("PYTHONPATH", str(Path(ahead.__file__).parents[2]))
    monkeypatch.chdir(folder)
    with Ahead(log, worth=1) as started:
        assert started.plan() == here(log)
    assert not (folder / "loaded").exists()

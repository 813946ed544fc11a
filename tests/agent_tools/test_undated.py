"""A log without times has the date of its file, which is when it was written last, or copied: no time in which to look for faults."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from agent_tools.agent import diagnose
from inquest.target import found

TRAINED = "".join(
    f"{{'loss': {3 - n / 10:.2f}, 'grad_norm': 1.1, 'learning_rate': 1e-05, 'epoch': 0.{n}}}\n" for n in range(1, 9)
)
LOST = 'Traceback (most recent call last):\n  File "/home/u/train.py", line 8, in <module>\n    loss.backward()\nRuntimeError: CUDA error: unspecified launch failure\n'  # fmt: skip
OWN = 'Traceback (most recent call last):\n  File "/home/u/train.py", line 8, in <module>\n    row = rows[9]\nIndexError: list index out of range\n'  # fmt: skip
FELL = "2026-03-01T10:41:09,123456+00:00 NVRM: Xid (PCI:0000:3b:00): 79, pid=4711, name=python, GPU has fallen off the bus.\n"


def bundle(folder: Path, said: str, written: datetime, beside: bool = False) -> Path:
    """A job's log as it was copied at some time, the kernel log of the one node that lies with it, and perhaps another job's log."""
    (folder / "logs").mkdir(parents=True)
    (folder / "kernel").mkdir()
    (folder / "kernel" / "gpu03.log").write_text(FELL, encoding="utf-8")
    for name in ("slurm-77.out", *(["slurm-78.out"] if beside else [])):
        log = folder / "logs" / name
        log.write_text(TRAINED + said, encoding="utf-8")
        os.utime(log, (written.timestamp(), written.timestamp()))
    return folder


def told(folder: Path) -> tuple[str, float, str]:
    with found(str(folder), lake=None, job="77") as job:
        made = diagnose(job.reader, job.job_id)
        texts = [made.headline, *made.shows, *made.warnings, *made.timeline]
        return made.family, made.confidence, " ".join(str(t) for t in texts)


@pytest.mark.parametrize("month", [3, 11], ids=["as it was written", "copied months later"])
def test_a_fault_that_lies_beside_an_error_of_the_gpu_is_suspected(tmp_path: Path, month: int) -> None:
    family, confidence, text = told(bundle(tmp_path / "b", LOST, datetime(2026, month, 1, 10, 41, 30, tzinfo=UTC)))
    assert (family, confidence < 0.7) == ("B2", True)
    assert "before this run began" not in text


def test_an_error_of_the_programs_own_stays_its_own(tmp_path: Path) -> None:
    assert told(bundle(tmp_path / "b", OWN, datetime(2026, 11, 1, tzinfo=UTC)))[0] == "A3"


def test_where_another_job_lies_beside_it_the_fault_may_be_that_ones(tmp_path: Path) -> None:
    assert told(bundle(tmp_path / "b", LOST, datetime(2026, 11, 1, tzinfo=UTC), beside=True))[0] == "A3"

"""A lake that is a list, and a job's folder with a file of every kind."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from collector.intake import bundle
from tests.collector.intake.bundlekit import SAMPLES, Lake


@pytest.fixture
def lake(monkeypatch: pytest.MonkeyPatch) -> Lake:
    fake = Lake()
    monkeypatch.setattr(bundle, "Writer", lambda *_, **__: fake)
    return fake


@pytest.fixture
def job_folder(tmp_path: Path) -> Path:
    root = tmp_path / "job-4812"
    for place, name, source in (
        ("slurm", "sacct.txt", "sacct.txt"),
        ("slurm", "sacct.json", "sacct_2605.json"),
        ("slurm", "scontrol.txt", "scontrol_job.txt"),
        ("slurm", "events.txt", "sacctmgr_event.txt"),
        ("kernel", "gpu07.log", "journal-iso.log"),
        ("metrics", "dcgm.om", "dcgm.om"),
        ("nccl", "_dump_3.json", "_dump_3.json"),
    ):
        (root / place).mkdir(parents=True, exist_ok=True)
        shutil.copy(SAMPLES / source, root / place / name)
    (root / "logs").mkdir()
    (root / "logs" / "big-4812.out").write_text("Epoch 1\n{'loss': 2.0, 'learning_rate': 1e-05, 'epoch': 0.1}\n")
    (root / "run.sh").write_text("#!/bin/bash\ntorchrun train.py\n")
    return root

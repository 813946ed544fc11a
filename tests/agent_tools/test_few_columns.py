"""Accounting that was asked for few columns: nothing is said of a column that is not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_tools.agent import diagnose
from collector.intake.bundle import import_paths
from store import Reader

STATES = ("COMPLETED", "FAILED", "TIMEOUT", "CANCELLED by 1000", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "PENDING", "RUNNING", "DEADLINE")  # fmt: skip


@pytest.mark.parametrize("state", STATES)
def test_what_is_not_known_is_not_said(state: str, tmp_path: Path) -> None:
    (tmp_path / "slurm").mkdir()
    (tmp_path / "slurm/sacct.txt").write_text(f"JobID|State\n7|{state}\n")
    import_paths([tmp_path / "slurm"], tmp_path / "lake")
    with Reader(tmp_path / "lake") as reader:
        verdict = diagnose(reader, "7")
    assert not [n for n in verdict.provenance.notes if "NULL" in n]
    assert [c for c in verdict.shows if "exit status" in c.text] == []

"""`inquest follow --once`: a live Slurm's jobs into the lake, by the commands that stand in the PATH."""

from __future__ import annotations

from pathlib import Path

import pytest

from inquest.__main__ import main
from store.free_sql import run
from store.lake import locked

COMMANDS = {
    "scontrol": 'case "$*" in *--version*) echo slurm 20.11.9;; *config*) echo "ClusterName = lab";; '
    '*node*) echo "NodeName=gpu01 Arch=x86_64 CPUAlloc=0 CPUTot=8 CPULoad=1.00"; echo "   State=IDLE";; '
    '*) echo "JobId=7 JobName=train"; echo "   UserId=mira(2001)"; echo "   JobState=PENDING Reason=Resources Dependency=(null)"; '
    'echo "   SubmitTime=2026-03-01T10:00:00 EligibleTime=2026-03-01T10:00:00";; esac',
    "sacct": 'case "$*" in *--helpformat*) echo JobID State;; *) echo "JobID|State";; esac',
    "sdiag": 'echo "sdiag output at Sun Mar  1 10:00:00 2026 (1772359200)"; echo "DBD Agent queue size: 0"',
    "sacctmgr": 'echo "Cluster|NodeName|TimeStart|TimeEnd|State|User|Reason"',
}


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand-ins for Slurm's commands."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, body in COMMANDS.items():
        (folder / name).write_text(f"#!/bin/sh\n{body}\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.setenv("INQUEST_SLURM", "commands")


def test_one_look_fills_the_lake(tmp_path: Path, slurm: None):
    """Jobs, nodes and the controller; a second look adds nothing that is known."""
    lake = tmp_path / "lake"
    assert main(["follow", "--lake", str(lake), "--once"]) == 0
    assert main(["follow", "--lake", str(lake), "--once"]) == 0
    events = "SELECT event, reason FROM slurm_job_event WHERE job_id = '7' ORDER BY event"
    assert run(lake, events).rows == (("blocked", "Resources"), ("eligible", None), ("submitted", None))
    assert run(lake, "SELECT node, state FROM slurm_node_state").rows == (("gpu01", "IDLE"),)
    assert main(["doctor", "--lake", str(lake)]) == 0, "our state beside the tables is no damage"


def test_two_do_not_follow_one_cluster_into_one_lake(tmp_path: Path, slurm: None, capsys: pytest.CaptureFixture[str]):
    """The second one says so and ends."""
    lake = tmp_path / "lake"
    assert main(["follow", "--lake", str(lake), "--once"]) == 0
    with locked(lake / "slurm" / "lab" / "lock", wait=False) as ours:
        assert ours
        assert main(["follow", "--lake", str(lake), "--once"]) == 3
    assert "another `inquest follow`" in capsys.readouterr().err


def test_without_a_slurm_it_names_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """And makes no lake."""
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.setenv("INQUEST_SLURM", "commands")
    assert main(["follow", "--lake", str(tmp_path / "lake"), "--once"]) == 3
    assert "apt-get install slurm-client" in capsys.readouterr().err
    assert not (tmp_path / "lake").exists()

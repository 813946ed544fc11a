"""The hooks as Slurm runs them: a plain sh, an environment of Slurm's, and an exit status that can drain a node."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

HOOKS = Path(__file__).resolve().parents[2] / "deploy/hooks"
SH = [s for s in ("dash", "bash", "busybox") if shutil.which(s)]


def run(hook: str, shell: str = "sh", **env: str) -> subprocess.CompletedProcess[str]:
    argv = [shell, *(["sh"] if shell == "busybox" else []), str(HOOKS / hook)]
    # An empty PATH for the epilog: it must start no program.
    path = {} if hook == "epilog.sh" else {"PATH": os.environ["PATH"]}
    shutil_shell = shutil.which(shell) or shell
    return subprocess.run(
        [shutil_shell, *argv[1:]], env={"PATH": "/nowhere", **path, **env}, capture_output=True, text=True, timeout=30
    )


@pytest.mark.parametrize("shell", SH)
def test_the_epilog_announces_a_job_with_one_empty_file(tmp_path: Path, shell: str) -> None:
    """It starts no program (there is none on its path), and is silent."""
    done = run("epilog.sh", shell, INQUEST_SPOOL=str(tmp_path), SLURM_JOB_ID="4812", SLURM_RESTART_COUNT="2")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert [p.name for p in tmp_path.iterdir()] == ["4812.2.ended"]
    assert (tmp_path / "4812.2.ended").stat().st_size == 0


@pytest.mark.parametrize(
    "env",
    [
        {},
        {"SLURM_JOB_ID": ""},
        {"SLURM_JOB_ID": "../../etc/passwd"},
        {"SLURM_JOB_ID": "48 12; touch x"},
        {"SLURM_JOB_ID": "4812", "INQUEST_SPOOL": "/nowhere/at/all"},
        {"SLURM_JOB_ID": "4812", "INQUEST_SPOOL": "/proc/self"},
    ],
)
def test_the_epilog_never_fails_a_job(tmp_path: Path, env: dict[str, str]) -> None:
    """No id, a hostile one, no folder, one that cannot be written: exit status 0, no word, no file elsewhere."""
    done = run("epilog.sh", **{"INQUEST_SPOOL": str(tmp_path), **env})
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(os.geteuid() == 0 and not Path("/dev/full").exists(), reason="no device that is always full")
def test_the_epilog_survives_a_file_that_is_there_already(tmp_path: Path) -> None:
    for _ in range(2):
        assert run("epilog.sh", INQUEST_SPOOL=str(tmp_path), SLURM_JOB_ID="7", SLURM_RESTART_COUNT="x").returncode == 0
    assert [p.name for p in tmp_path.iterdir()] == ["7.0.ended"]


class Node:
    """A node's folders for the prolog, and a stand-in for the inquest command that notes that it was called."""

    def __init__(self, folder: Path, script: str) -> None:
        self.folder = folder
        (folder / "run").mkdir()
        self.command = folder / "inquest"
        self.command.write_text(f'#!/bin/sh\necho "$@" >>{folder}/calls\n{script}\n')
        self.command.chmod(0o755)

    def prolog(self, **env: str) -> subprocess.CompletedProcess[str]:
        given = {
            "INQUEST": str(self.command),
            "INQUEST_RUN": str(self.folder / "run"),
            "INQUEST_PREFLIGHT_CONF": str(self.folder / "conf"),
            "INQUEST_PREFLIGHT_OFF": str(self.folder / "off"),
            "INQUEST_LIMIT": "1",
            "SLURM_JOB_GPUS": "0,1",
        }
        return run("prolog.sh", **{**given, **env})

    @property
    def calls(self) -> list[str]:
        path = self.folder / "calls"
        return path.read_text().splitlines() if path.exists() else []


def test_the_prolog_refuses_only_when_it_is_told_to(tmp_path: Path) -> None:
    """Without INQUEST_ENFORCE a fault is printed and the job starts."""
    node = Node(tmp_path, "echo fault: gpus: GPU 3 has fallen off the bus; exit 10")
    dry = node.prolog()
    assert (dry.returncode, dry.stdout) == (0, "fault: gpus: GPU 3 has fallen off the bus\n")
    (tmp_path / "conf").write_text("INQUEST_ENFORCE=1\n")
    refused = node.prolog()
    assert refused.returncode == 1
    assert "fallen off the bus" in refused.stdout
    assert node.calls == ["preflight --limit 1", "preflight --limit 1 --enforce"]
    assert not list((tmp_path / "run").iterdir())


def test_a_fault_of_a_dry_run_is_not_remembered_as_fit(tmp_path: Path) -> None:
    """The dry run ends with status 0; the next job is looked at again all the same."""
    node = Node(tmp_path, "echo fault: disk: / is full; exit 0")
    assert [node.prolog().returncode, node.prolog().returncode] == [0, 0]
    assert len(node.calls) == 2


@pytest.mark.parametrize("broken", ["exit 1", "exit 2", "kill -9 $$", "sleep 60"])
def test_a_check_that_breaks_off_or_hangs_lets_the_job_start(tmp_path: Path, broken: str) -> None:
    node = Node(tmp_path, broken)
    assert node.prolog(INQUEST_ENFORCE="1").returncode == 0
    assert len(node.calls) == 1


def test_the_prolog_looks_only_where_there_is_something_to_see(tmp_path: Path) -> None:
    """No GPUs in the job, a kill switch, or a node that was fit a moment ago: Python is not started."""
    node = Node(tmp_path, "exit 0")
    assert node.prolog(SLURM_JOB_GPUS="").returncode == 0
    assert node.prolog(INQUEST_PREFLIGHT="off").returncode == 0
    (tmp_path / "off").touch()
    assert node.prolog().returncode == 0
    assert node.calls == []
    (tmp_path / "off").unlink()
    assert node.prolog().returncode == 0
    assert node.prolog().returncode == 0
    assert len(node.calls) == 1
    os.utime(tmp_path / "run/preflight.fit", (0, 0))
    assert node.prolog().returncode == 0
    assert len(node.calls) == 2


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="shellcheck is not installed")
def test_the_scripts_pass_shellcheck() -> None:
    root = HOOKS.parent.parent
    scripts = [str(p) for folder in ("deploy", "bench", "evals") for p in (root / folder).rglob("*.sh")]
    assert len(scripts) >= 4
    done = subprocess.run(["shellcheck", *scripts], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")

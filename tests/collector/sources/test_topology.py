"""The processes of jobs: real ones of this host, and trees of /proc that a test wrote."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.one_job import JOB as BENCH_JOB
from bench.one_job import alone
from collector.node.here import Here
from collector.node.loop import Loop
from collector.sources.topology import Topology
from collector.topology import processes
from collector.topology.owners import Owner
from store.rows import HostSample, Process, SourceHealth
from tests.collector.livekit import Kept, SetClock

JOB = {
    "SLURM_JOB_ID": "990017",
    "SLURM_STEP_ID": "0",
    "SLURM_PROCID": "3",
    "SLURM_LOCALID": "3",
    "SLURM_STEP_NUM_TASKS": "8",
}


class Tree:
    """A /proc that a test writes."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir()
        (root / "stat").write_text("cpu 1 2 3\nbtime 1772359200\n")

    def process(self, pid: int, cgroup: str = "0::/", env: dict[str, str] | None = None, **stat: object) -> None:
        folder = self.root / str(pid)
        folder.mkdir(exist_ok=True)
        comm, ppid = stat.get("comm", "python"), stat.get("ppid", 1)
        rest = " ".join(["0"] * 17)
        (folder / "stat").write_text(f"{pid} ({comm}) S {ppid} {rest} {stat.get('ticks', 500)} 0 0\n")
        (folder / "cgroup").write_text(cgroup + "\n")
        (folder / "cmdline").write_bytes(str(stat.get("command", "python train.py")).replace(" ", "\0").encode())
        if env is not None:
            (folder / "environ").write_bytes("\0".join(f"{k}={v}" for k, v in env.items()).encode())

    def gone(self, pid: int) -> None:
        for path in (self.root / str(pid)).iterdir():
            path.unlink()
        (self.root / str(pid)).rmdir()


class Node:
    def __init__(self, tmp_path: Path) -> None:
        self.tree, self.clock = Tree(tmp_path / "proc"), SetClock()
        self.here = Here(node="node1", cluster="lab", clock=self.clock, proc=self.tree.root)
        self.hurried: list[str] = []
        self.here.hurry = self.hurried.append
        self.here.owners.gpu_order = {n: f"GPU-{n}" for n in range(4)}
        self.source = Topology(self.here)
        self.source.open()

    def look(self) -> list[Process]:
        self.clock.passes(2)
        return [r for r in self.source.rows() if isinstance(r, Process)]


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not true():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.05)


@pytest.mark.skipif(os.geteuid() != 0, reason="other users' environments need root")
def test_a_real_process_from_begin_to_end() -> None:
    """Found with its rank, its secrets left out; its exit status is told although it is not our child."""
    script = "import sys, time; time.sleep(1.5); sys.exit(7)"
    command = [sys.executable, "-c", script, "--hub-token=hf_abcdefghijklmnopqrstuvwxyz0123456789"]
    # A grandchild: its parent, not we, reaps it.
    outer = "import subprocess, sys; p = subprocess.Popen(sys.argv[1:]); print(p.pid, flush=True); p.wait()"
    parent = subprocess.Popen(
        [sys.executable, "-c", outer, *command], env={**os.environ, **JOB}, stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    source, rows = Topology(Here(node="node1")), list[Process]()
    source.open()

    def ended() -> bool:
        rows.extend(r for r in source.rows() if isinstance(r, Process) and r.pid == pid)
        return any(r.end_ts for r in rows)

    until(ended)
    source.close()
    parent.wait()
    begun, end = rows[0], rows[-1]
    assert (begun.job_id, begun.step_id, begun.rank, begun.world_size, begun.ppid) == ("990017", "0", 3, 8, parent.pid)
    assert "hf_abc" not in (begun.command or "") and "redacted" in (begun.command or "")
    assert (end.ts, end.job_id) == (begun.ts, "990017")
    if tuple(int(n) for n in os.uname().release.split(".")[:2]) >= (6, 15):
        assert (end.exit_code, end.exit_signal) == (7, 0)


POD, HEX = "1f2e3d4c-5b6a-7988-a9b0-c1d2e3f40516", "9c0f" * 16
HIERARCHIES = [Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/unified"), Path("/sys/fs/cgroup/pids")]
HIERARCHY = next((h for h in HIERARCHIES if os.access(h / "cgroup.procs", os.W_OK)), None)


@pytest.mark.skipif(os.geteuid() != 0 or HIERARCHY is None, reason="namespaces and cgroups of one's own need root")
def test_a_real_container_of_a_step_in_a_pods_cgroup(tmp_path: Path) -> None:
    """Namespaces of its own, no word of Slurm in its environment, and a cgroup as kubelet makes it: job, rank, pod and container."""
    assert HIERARCHY is not None
    pod = HIERARCHY / f"kubepods/burstable/pod{POD}"
    cgroup = pod / HEX
    cgroup.mkdir(parents=True)
    script = "import time; open('begun', 'w').close(); time.sleep(60)"
    container = ["env", "-i", "unshare", "--mount", "--pid", "--fork", "--cgroup", sys.executable, "-c", script]
    outer = (
        f"open({str(cgroup / 'cgroup.procs')!r}, 'w').write('0'); import subprocess, sys; subprocess.run(sys.argv[1:])"
    )
    step = subprocess.Popen(
        [sys.executable, "-c", outer, *container], env={**os.environ, **JOB}, cwd=tmp_path, start_new_session=True
    )
    source = Topology(Here(node="node1"))
    try:
        until((tmp_path / "begun").exists)
        source.open()
        found = {r.command: r for r in source.rows() if isinstance(r, Process) and r.job_id == "990017"}
        inside = next(r for c, r in found.items() if (c or "").startswith(f"{sys.executable} -c {script[:11]}"))
        assert inside.pid != step.pid
        assert (inside.step_id, inside.rank, inside.pod, inside.container) == ("0", 3, POD, HEX)
    finally:
        source.close()
        os.killpg(step.pid, 9)
        step.wait()
        until(lambda: not (cgroup / "cgroup.procs").read_text())
        for folder in (cgroup, pod, pod.parent, pod.parent.parent):
            if not any(p.is_dir() for p in folder.iterdir()):
                folder.rmdir()


def test_ranks_gpus_and_containers(tmp_path: Path) -> None:
    """A rank in a pod, a worker of it, and a process that belongs to no job and is not told."""
    node = Node(tmp_path)
    pod = "/kubepods/burstable/pod1f2e3d4c-5b6a-7988-a9b0-c1d2e3f40516/" + "ab" * 32
    slurm = f"0::{pod}/system.slice/slurmstepd.scope/job_990017/step_0/user/task_3"
    node.tree.process(50, slurm, {**JOB, "CUDA_VISIBLE_DEVICES": "1"}, comm="python (x) y")
    node.tree.process(60, "0::/system.slice/sshd.service", {"HOME": "/root"})
    (row,) = node.look()
    assert (row.job_id, row.step_id, row.rank, row.comm) == ("990017", "0", 3, "python (x) y")
    assert (row.container, row.pod, row.gpu_uuids) == ("ab" * 32, "1f2e3d4c-5b6a-7988-a9b0-c1d2e3f40516", "GPU-1")
    owners = node.here.owners
    assert owners.of_gpu("GPU-1") == Owner("990017", 1) and owners.of_pid(50).rank == 3
    assert owners.of_gpu("GPU-0").job_id is None


def test_what_the_driver_says_counts_for_more_than_the_environment(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.tree.process(50, env={**JOB, "CUDA_VISIBLE_DEVICES": "0,1"})
    assert node.look()[0].gpu_uuids == "GPU-0,GPU-1"
    node.here.owners.gpu_pids["GPU-1"] = frozenset({50, 777})
    assert [r.gpu_uuids for r in node.look()] == ["GPU-1"]
    assert node.here.owners.of_gpu("GPU-0").job_id is None
    assert node.look() == []


def test_a_gpu_that_two_jobs_share_is_nobodys(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.tree.process(50, env={**JOB, "CUDA_VISIBLE_DEVICES": "0"})
    node.tree.process(51, env={**JOB, "SLURM_JOB_ID": "990018", "CUDA_VISIBLE_DEVICES": "0"})
    node.look()
    assert node.here.owners.of_gpu("GPU-0").job_id is None
    assert set(node.here.owners.jobs) == {"990017", "990018"}


def test_a_sluid_is_resolved_through_the_environment(tmp_path: Path) -> None:
    """Slurm 26.05 names cgroups by SLUID; a process that hides its environment belongs to the job all the same."""
    node = Node(tmp_path)
    cgroup = "0::/system.slice/slurmstepd.scope/sD1M5CH9Z9JWJ0/step_0/user/task_0"
    node.tree.process(50, cgroup, JOB)
    node.tree.process(51, cgroup, None, ppid=50)
    assert [r.job_id for r in node.look()] == ["990017", "990017"]


def test_a_container_outside_of_slurms_cgroup_is_its_parents(tmp_path: Path) -> None:
    """As crun and podman leave it under a job's step: a cgroup of the runtime's own, an environment without a word of Slurm."""
    node = Node(tmp_path)
    away = f"0::/libpod_parent/libpod-{'9c0f' * 16}"
    node.tree.process(
        50, "0::/slurm/job_990017/step_0/task_3", {**JOB, "CUDA_VISIBLE_DEVICES": "1"}, command="crun run c1"
    )
    node.tree.process(51, away, {"PATH": "/bin", "HOME": "/root"}, ppid=50)
    node.tree.process(52, away, {"PATH": "/bin", "RANK": "5", "CUDA_VISIBLE_DEVICES": ""}, ppid=51)
    node.tree.process(53, away, {"PATH": "/bin"}, ppid=1)
    found = {r.pid: r for r in node.look()}
    assert sorted(found) == [50, 51, 52], "another's container is nobody's"
    assert [found[p].job_id for p in (51, 52)] == ["990017", "990017"]
    assert (found[51].step_id, found[51].rank, found[51].gpu_uuids) == ("0", 3, "GPU-1")
    assert found[51].container == "9c0f" * 16
    assert (found[52].rank, found[52].gpu_uuids) == (5, None), "what it says itself counts for more"


def test_a_process_that_empties_its_environment_stays_its_jobs(tmp_path: Path) -> None:
    """As Apptainer's starter does, whose container has what it was given (`--cleanenv`)."""
    node = Node(tmp_path)
    node.tree.process(50, env={**JOB, "CUDA_VISIBLE_DEVICES": "1"}, comm="starter")
    assert [r.job_id for r in node.look()] == ["990017"]
    node.tree.process(50, env={"PATH": "/bin"}, comm="parent")
    node.tree.process(51, env={"APPTAINER_CONTAINER": "/images/train.sif"}, ppid=50)
    node.clock.passes(15)
    found = {r.pid: r for r in [*node.look(), *node.look()]}
    assert [(found[p].job_id, found[p].rank, found[p].gpu_uuids) for p in (50, 51)] == [("990017", 3, "GPU-1")] * 2
    assert found[51].container == "/images/train.sif"


def test_of_an_environment_that_cannot_be_read_no_rank_is_made_up(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.tree.process(50, "0::/slurm/job_990017/step_0/task_3", JOB)
    node.tree.process(51, "0::/slurm/job_990017/step_0/task_3", None, ppid=50)
    node.tree.process(52, "0::/slurm/job_990018/step_1", {"PATH": "/bin"}, ppid=50)
    found = {r.pid: r for r in node.look()}
    assert (found[51].job_id, found[51].rank) == ("990017", None)
    assert (found[52].job_id, found[52].step_id, found[52].rank) == ("990018", "1", None), "its cgroup is another job's"


def test_a_process_that_was_seen_before_its_exec_is_told_anew(tmp_path: Path) -> None:
    """slurmstepd's child is slurmstepd until it becomes the user's program."""
    node = Node(tmp_path)
    node.tree.process(50, "0::/system.slice/slurmstepd.scope/job_990017/step_0/user/task_3", {}, comm="slurmstepd")
    (before,) = node.look()
    node.tree.process(50, "0::/system.slice/slurmstepd.scope/job_990017/step_0/user/task_3", JOB)
    node.clock.passes(15)
    (after,) = node.look()
    assert (before.rank, after.rank, before.ts) == (None, 3, after.ts)
    assert (before.origin or "") < (after.origin or "")


def test_the_end_of_the_last_process_hurries_the_seal(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.tree.process(50, env=JOB)
    node.tree.process(51, env=JOB)
    node.look()
    node.tree.gone(50)
    assert [r.pid for r in node.look() if r.end_ts] == [50] and not node.hurried
    node.tree.gone(51)
    (row,) = node.look()
    assert (row.end_ts, row.exit_code) == (node.clock.now(), None)
    assert node.hurried == ["the last process of job 990017 ended"]
    assert node.here.owners.of_pid(51).job_id == "990017", "the kernel log may still name it"


def test_a_job_is_told_that_it_was_watched(tmp_path: Path) -> None:
    """`process` rows carry jobs, so source_health answers for the node and for each job on it."""
    node, kept = Node(tmp_path), Kept()
    node.tree.process(50, env=JOB)
    loop = Loop([node.source], kept, node.here)
    loop.tasks[0].round()
    node.clock.passes(5)
    loop.tell_health()
    assert [(h.covers, h.job_id, h.ok) for h in kept.of(SourceHealth)] == [
        ("process", None, True),
        ("process", "990017", True),
    ]
    assert not kept.of(HostSample)


def test_the_bench_sees_its_own_job_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a collector costs is measured beside other jobs; it has to see the ranks that it is measured with."""
    monkeypatch.setattr(processes, "look", processes.look)
    alone()
    node = Node(tmp_path)
    node.tree.process(50, env={**JOB, "SLURM_JOB_ID": BENCH_JOB})
    node.tree.process(51, env={**JOB, "SLURM_JOB_ID": "990018"})
    assert [(r.pid, r.job_id, r.rank) for r in node.look()] == [(50, BENCH_JOB, 3)]


def test_five_thousand_processes_are_read_once_each(tmp_path: Path) -> None:
    """The second look lists them and opens none."""
    node = Node(tmp_path)
    for pid in range(100, 5100):
        node.tree.process(pid, "0::/system.slice/x.service", {})
    node.tree.process(6000, env=JOB)
    found = [r.pid for _ in range(4) for r in node.look()]
    assert found == [6000]
    for pid in range(100, 5100):
        (node.tree.root / str(pid) / "cgroup").write_text("0::/slurm/uid_0/job_1/step_0\n")
    assert node.look() == [], "a process that is known is not read again"

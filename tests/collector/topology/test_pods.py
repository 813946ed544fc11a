"""Pods that run slurmd: a real one with a real job, told from its host and from inside; and what cgroups leave out of them."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from collector.node.here import Here
from collector.sources.topology import Topology
from collector.topology.cgroup_paths import Place
from collector.topology.pods import Pods
from store.rows import Process
from tests.collector.sources.test_topology import JOB, Node
from tests.collector.topology.podlab import NODE, PodLab, no_pods

WHY_NOT = no_pods()
RANK = "import sys, time; time.sleep(600)"
# One task makes itself a root of its own, as soperator's jail is one; the batch script is another's.
SCRIPT = f"""#!/bin/bash
#SBATCH --mem=100 --gres=gpu:2 -n2 --output=/dev/null
export CUDA_VISIBLE_DEVICES=0,1
srun -n2 --mem=50 bash -c 'export CUDA_VISIBLE_DEVICES=$SLURM_LOCALID; exec python3 -c "{RANK}"'
"""
JAILED = f"""#!/bin/bash
#SBATCH --mem=50 --output=/dev/null
srun --mem=50 unshare --mount bash -ec '
  mount --make-rslave /; mount -t tmpfs jail /mnt; mkdir -p /mnt/usr /mnt/proc /mnt/old; ln -s usr/bin usr/lib usr/lib64 /mnt
  mount --rbind /usr /mnt/usr; mount -t proc proc /mnt/proc; cd /mnt; pivot_root . old; umount -l /old; cd /
  exec python3 -c "{RANK}"'
"""
LOOK = """
import json, sys
from dataclasses import asdict
from pathlib import Path
from collector.node.here import Here, node_name
from collector.sources.topology import Topology
source = Topology(Here(node=node_name(), proc=Path(sys.argv[1])))
source.open()
print(json.dumps([asdict(row) for row in source.rows()], default=str))
"""


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[PodLab, list[Process]]]:
    """The pod, and what the host's collector saw there of two jobs."""
    made = PodLab(tmp_path_factory.mktemp("pod") / "lab", str(uuid4()), uuid4().hex * 2)
    with made:
        for name, text in (("ranks", SCRIPT), ("jailed", JAILED)):
            (made.home / f"mira/{name}.sh").write_text(text)
        made.submit("/home/mira/ranks.sh")
        made.run("sbatch", "/home/mira/jailed.sh")
        here = Here(node="worker-3")
        here.owners.gpu_order = {0: "GPU-a", 1: "GPU-b"}
        source, rows = Topology(here), dict[int | None, Process]()
        source.open()
        deadline = time.monotonic() + 120
        while sum(r.command == f"python3 -c {RANK}" for r in rows.values()) < 3:
            assert time.monotonic() < deadline, "the ranks did not come up"
            rows |= {r.pid: r for r in source.rows() if isinstance(r, Process) and r.pod == made.pod}
            time.sleep(0.2)
        source.close()
        yield made, list(rows.values())


@pytest.mark.slurm
@pytest.mark.xdist_group("live_slurm")
@pytest.mark.skipif(WHY_NOT is not None, reason=str(WHY_NOT))
def test_from_the_host_a_rank_in_a_pod_has_its_whole_chain(lab: tuple[PodLab, list[Process]]) -> None:
    """Container, pod, job, step, rank and GPU, under the name that Slurm has for the node and not Kubernetes."""
    made, rows = lab
    ranks = sorted((r for r in rows if r.rank is not None and r.gpu_uuids), key=lambda r: r.rank or 0)
    assert [(r.node, r.step_id, r.rank, r.gpu_uuids) for r in ranks] == [
        (NODE, "0", 0, "GPU-a"),
        (NODE, "0", 1, "GPU-b"),
    ]
    assert {(r.node, r.container, r.pod) for r in rows} == {(NODE, made.container, made.pod)}
    assert {r.comm for r in rows if r.step_id == "batch"} >= {"slurmstepd", "srun"}


@pytest.mark.slurm
@pytest.mark.xdist_group("live_slurm")
@pytest.mark.skipif(WHY_NOT is not None, reason=str(WHY_NOT))
def test_a_task_in_a_root_of_its_own_is_its_jobs(lab: tuple[PodLab, list[Process]]) -> None:
    """As behind soperator's jail: another mount namespace, another root."""
    made, rows = lab
    (jailed,) = [r for r in rows if r.command == f"python3 -c {RANK}" and not r.gpu_uuids]
    assert Path(f"/proc/{jailed.pid}/ns/mnt").readlink() != Path(f"/proc/{jailed.ppid}/ns/mnt").readlink()
    assert (jailed.node, jailed.step_id, jailed.rank, jailed.pod) == (NODE, "0", 0, made.pod)


@pytest.mark.slurm
@pytest.mark.xdist_group("live_slurm")
@pytest.mark.skipif(WHY_NOT is not None, reason=str(WHY_NOT))
def test_inside_of_the_pod_its_name_comes_from_what_kubelet_mounted(lab: tuple[PodLab, list[Process]]) -> None:
    """There the cgroup's path begins in the pod and the job's environment is that of the login pod."""
    made, rows = lab
    first = next(r.ppid for r in rows if r.comm == "slurmstepd")
    assert first is not None
    text = made.inside(
        first, "env", f"--chdir={Path(__file__).parents[3]}", sys.executable, "-c", LOOK, f"/proc/{first}/root/proc"
    )
    seen: list[dict[str, Any]] = [row for row in json.loads(text) if row["comm"] == "python3"]
    assert sorted((r["node"], r["rank"]) for r in seen) == [(NODE, 0), (NODE, 0), (NODE, 1)]
    assert {(r["pod"], r["container"]) for r in seen} == {(made.pod, "slurmd")}
    assert {r["cgroup"].split("/")[1] for r in seen} == {f"slurm_{NODE}"}


POD, OTHER, HEX = "0b6c2a1e-91d4-4c57-8f0e-2d3a4b5c6d7e", "5e9d7c3b-1a2f-4e6d-b8c0-9f8e7d6c5b4a", "a17e" * 16
SLURMD = {"HOSTNAME": "slinky-0.slurm-workers", "KUBERNETES_SERVICE_HOST": "10.96.0.1"}


def pod_node(tmp_path: Path, *pods: str) -> Node:
    """A host with the slurmd of each pod, processes 10, 20 and so on."""
    node = Node(tmp_path)
    for n, pod in enumerate(pods):
        node.tree.process(
            10 * (n + 1), f"0::/kubepods/burstable/pod{pod}/{HEX}", SLURMD, comm="slurmd", command="slurmd"
        )
        (node.tree.root / f"{10 * (n + 1)}/comm").write_text("slurmd\n")
    return node


def test_a_scope_beside_the_pods_own_is_found_through_slurmd(tmp_path: Path) -> None:
    """As a privileged pod's slurmd makes it in the host's hierarchy, where no pod is in the path."""
    node = pod_node(tmp_path, POD)
    login = {**JOB, "HOSTNAME": "slurm-login-7d9f", "KUBERNETES_SERVICE_HOST": "10.96.0.1"}
    scope = "0::/system.slice/slinky-0_slurmstepd.scope/job_990017/step_0"
    node.tree.process(50, f"{scope}/slurm", {}, ppid=10, comm="slurmstepd")
    node.tree.process(51, f"{scope}/user/task_3", login, ppid=50)
    found = {r.pid: r for r in node.look()}
    assert {(r.node, r.pod, r.container) for r in found.values()} == {("slinky-0", POD, HEX)}
    assert node.here.node == "slinky-0", "everything else on this host is that node's, too"


def test_slurmds_option_and_a_tasks_word_name_the_node(tmp_path: Path) -> None:
    node = pod_node(tmp_path, POD)
    node.tree.process(10, f"0::/kubepods/pod{POD}/{HEX}", SLURMD, comm="slurmd", command="slurmd -D -N gpu-17")
    node.look()
    assert node.here.node == "gpu-17"
    node.tree.process(
        51, f"0::/kubepods/pod{POD}/{HEX}/slurm/job_990017/step_0", {**JOB, "SLURMD_NODENAME": "n17"}, ppid=10
    )
    assert [r.node for r in node.look()] == ["n17"] and node.here.node == "n17"


def test_of_several_slurmds_each_process_has_its_own_and_the_host_keeps_its_name(tmp_path: Path) -> None:
    node = pod_node(tmp_path, POD, OTHER)
    node.tree.process(20, f"0::/kubepods/pod{OTHER}/{HEX}", {"HOSTNAME": "slinky-1"}, comm="slurmd", command="slurmd")
    node.tree.process(51, f"0::/kubepods/pod{POD}/{HEX}/slurm/job_990017/step_0", JOB, ppid=10)
    node.tree.process(52, f"0::/kubepods/pod{OTHER}/{HEX}/slurm/job_990018/step_0", JOB, ppid=20)
    assert {r.pid: r.node for r in node.look()} == {51: "slinky-0", 52: "slinky-1"}
    assert node.here.node == "node1"
    assert node.here.owners.nodes == {"slinky-0", "slinky-1"}, "under each of them the host may be asked for something"
    node.tree.gone(20)
    node.look()
    assert node.here.node == "slinky-0"


def test_a_name_that_was_given_stays(tmp_path: Path) -> None:
    node = pod_node(tmp_path, POD)
    node.here.node_given = True
    node.tree.process(51, f"0::/kubepods/pod{POD}/{HEX}/slurm/job_990017/step_0", JOB, ppid=10)
    assert [r.node for r in node.look()] == ["node1"]


def test_a_node_without_pods_reads_no_pod_out_of_an_environment(tmp_path: Path) -> None:
    """The job was submitted in a login pod; the node is a machine."""
    node = Node(tmp_path)
    node.tree.process(1, "0::/init.scope", {}, comm="systemd", ppid=0)
    node.tree.process(50, env={**JOB, "HOSTNAME": "slurm-login-7d9f", "KUBERNETES_SERVICE_HOST": "10.96.0.1"})
    assert [r.pod for r in node.look()] == [None]


def test_another_pods_volumes_on_the_host_are_nobodys_pod(tmp_path: Path) -> None:
    """Of kubelet's mounts only those that it makes in a container for itself count."""
    (tmp_path / "1").mkdir()
    (tmp_path / "1/mountinfo").write_text(
        f"90 30 0:44 / /var/lib/kubelet/pods/{OTHER}/volumes/kubernetes.io~projected/token rw - tmpfs tmpfs rw\n"
    )
    assert Pods(tmp_path).around(Place("/"), 1) == Place("/")


def test_a_sluid_is_resolved_by_the_steps_daemon_where_no_environment_says_it(tmp_path: Path) -> None:
    """On a job's second node, with containers whose environment is clean; a task may call itself what it likes."""
    node = Node(tmp_path)
    scope = "0::/system.slice/slurmstepd.scope/sD1M5CH9Z9JWJ0/step_0"
    lie = "slurmstepd: [990018.0]"
    node.tree.process(49, f"{scope}/user/task_1", {}, ppid=50, comm="slurmstepd", command=lie)
    node.tree.process(50, f"{scope}/slurm", {}, comm="slurmstepd", command="slurmstepd: [990017.0]")
    node.tree.process(51, f"{scope}/user/task_0", {"RANK": "9"}, ppid=50)
    assert {r.pid: (r.job_id, r.rank) for r in node.look()} == {
        49: ("990017", None),
        50: ("990017", None),
        51: ("990017", 9),
    }


def test_a_slurmstepd_is_told_anew_once_a_task_names_its_sluid(tmp_path: Path) -> None:
    """Slurm 26.05: the step's daemon is there first, and its path has no number."""
    node = Node(tmp_path)
    scope = "0::/system.slice/slurmstepd.scope/sD1M5CH9Z9JWJ0/step_0"
    node.tree.process(50, f"{scope}/slurm", {}, comm="slurmstepd")
    assert [r.job_id for r in node.look()] == [None]
    node.tree.process(51, f"{scope}/user/task_0", JOB, ppid=50)
    node.look()
    node.clock.passes(15)
    assert [(r.pid, r.job_id) for r in node.look()] == [(50, "990017")]

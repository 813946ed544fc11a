"""enroot's containers by the root directories of processes, in a tree of /proc that a test writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.collector.sources.test_topology import JOB, Node

FOLDER = "/home/mira/.local/share/enroot/pyxis_990017.0"
HOST = "22 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"
INSIDE = "612 588 254:0 {} / ro,nosuid,nodev - ext4 /dev/vda rw\n613 612 0:21 / /proc rw - proc proc rw\n"


def stand(node: Node, pid: int, root: Path, mounts: str) -> None:
    """Give a process a root directory and the mounts that it sees."""
    root.mkdir(exist_ok=True, parents=True)
    (node.tree.root / str(pid)).mkdir(exist_ok=True)
    (node.tree.root / str(pid) / "root").symlink_to(root)
    (node.tree.root / str(pid) / "mountinfo").write_text(mounts)


@pytest.fixture
def node(tmp_path: Path) -> Node:
    """A node whose first process stands in the host's root."""
    made = Node(tmp_path)
    made.tree.process(1, comm="systemd", ppid=0)
    stand(made, 1, tmp_path / "host", HOST)
    made.source.open()
    return made


def test_a_task_and_its_children_are_of_the_container_that_is_their_root(node: Node, tmp_path: Path) -> None:
    """A task has the job's environment, a loader of its own may have the image's alone; slurmstepd stands outside."""
    inside = tmp_path / "rootfs"
    image = {"PATH": "/bin", "NVIDIA_VISIBLE_DEVICES": "all"}
    rank = {**JOB, "CUDA_VISIBLE_DEVICES": "2"}
    for pid, env, ppid, root in ((100, JOB, 1, "host"), (101, rank, 100, "rootfs"), (102, image, 101, "rootfs")):
        node.tree.process(pid, "3:memory:/slurm/uid_1/job_990017/step_0/task_3", env, ppid=ppid)
        stand(
            node, pid, tmp_path / root, HOST if root == "host" else INSIDE.format(FOLDER.replace("mira", "mira\\040x"))
        )
    (inside / ".lock").touch()
    found = {r.pid: r for r in node.look()}
    assert [found[pid].container for pid in (100, 101, 102)] == [None, *[FOLDER.replace("mira", "mira x")] * 2]
    assert [(found[pid].rank, found[pid].gpu_uuids) for pid in (101, 102)] == [(3, "GPU-2")] * 2


@pytest.mark.parametrize(
    ("lock", "folder", "cgroup", "container"),
    [
        (True, FOLDER, "0::/system.slice/slurmstepd.scope/job_990017/step_0/user/task_3", FOLDER),
        (False, "/newroot", "0::/system.slice/slurmstepd.scope/job_990017/step_0/user/task_3", None),
        (True, "/", "0::/system.slice/slurmstepd.scope/job_990017/step_0/user/task_3", None),
        (True, FOLDER, f"0::/system.slice/docker-{'9c0f' * 16}.scope", "9c0f" * 16),
    ],
    ids=["enroot's", "a root of somebody else's", "an image that is mounted", "docker's"],
)
def test_another_root_is_no_container_of_enroots(
    node: Node, tmp_path: Path, lock: bool, folder: str, cgroup: str, container: str | None
) -> None:
    """A sandbox or a chroot has a root of its own, too; a runtime that tells its container in the cgroup is believed."""
    node.tree.process(101, cgroup, JOB)
    stand(node, 101, tmp_path / "rootfs", INSIDE.format(folder))
    if lock:
        (tmp_path / "rootfs" / ".lock").touch()
    (row,) = node.look()
    assert row.container == container

"""In which pod a process stands, and what Slurm calls the node that a pod is.

A cgroup's path tells the pod where it is seen from the host and Slurm keeps its jobs below the pod's. Where it does not (a cgroup
namespace of the pod's own, Slurm's scope beside the pod's), what the process came from does: slurmd, or the pod's first process.
The environment does not: a job brings that of the pod in which it was submitted.

153 119 254:0 /var/lib/kubelet/pods/1f2e3d4c-.../etc-hosts /etc/hosts rw,relatime - ext4 /dev/vda rw      in /proc/1/mountinfo
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from collector.topology.cgroup_paths import Place, placed
from store import lazy

ANCESTORS = 16
_HOSTS = lazy.compile(r"^(?:\S+ ){3}\S*/pods/(?P<pod>[0-9a-f-]{32,36})/etc-hosts /etc/hosts ", re.MULTILINE)
_CONTAINER = lazy.compile(
    r"^(?:\S+ ){3}\S*/pods/(?P<pod>[0-9a-f-]{32,36})/containers/(?P<name>[^/ ]+)/\S+ /dev/termination-log ",
    re.MULTILINE,
)
_NAMED = lazy.compile(rb"(?:^|\0)-N\0?([\w.-]+)")


class Pods:
    """The pods of this host in which a slurmd runs, and the names of their nodes."""

    def __init__(self, proc: Path) -> None:
        self._proc = proc
        self._slurmds: dict[int, tuple[str, str]] = {}
        self._told: dict[str, str] = {}

    def meet(self, pid: int, where: Place) -> None:
        """A process of a pod that belongs to no job: if it is slurmd, this is how its node is called."""
        if where.pod is None or _read(self._proc, pid, "comm").strip() != b"slurmd":
            return
        given = _NAMED.search(_read(self._proc, pid, "cmdline"))
        name = given[1] if given else _variable(_read(self._proc, pid, "environ"), b"HOSTNAME")
        if name:
            # slurmd takes the host's name without its domain.
            self._slurmds[pid] = (where.pod, name.decode("utf-8", "replace").partition(".")[0])

    def tell(self, where: Place, node: str | None) -> None:
        """A task's own word on how its node is called counts for more than what slurmd's surroundings look like."""
        if node and where.pod is not None and any(pod == where.pod for pod, _ in self._slurmds.values()):
            self._told[where.pod] = node

    def keep(self, pids: Collection[int]) -> None:
        """Forget the slurmds that are none of these processes."""
        self._slurmds = {pid: at for pid, at in self._slurmds.items() if pid in pids}
        pods = {pod for pod, _ in self._slurmds.values()}
        self._told = {pod: name for pod, name in self._told.items() if pod in pods}

    @property
    def nodes(self) -> dict[str, str]:
        """What Slurm calls the node that each of these pods is."""
        return {**dict(self._slurmds.values()), **self._told}

    def around(self, where: Place, parent: int) -> Place:
        """`where` with the pod and the container that its parents tell, as far as it names none itself."""
        if where.pod is not None and where.container is not None:
            return where
        pod, container, pid = where.pod, where.container, parent
        for _ in range(ANCESTORS):
            if pid <= 0 or (pod and container):
                break
            above = placed(_read(self._proc, pid, "cgroup").decode("utf-8", "replace"))
            named, name = (above.pod, None) if above.pod and above.container else self._mounted(pid)
            if above.pod or named:
                pod = pod or above.pod or named
                container = container or above.container or name
            pid = _parent(_read(self._proc, pid, "stat"))
        return replace(where, pod=pod, container=container)

    def _mounted(self, pid: int) -> tuple[str | None, str | None]:
        """The pod, and the container's name in it, by the files that kubelet mounts into every container."""
        text = _read(self._proc, pid, "mountinfo").decode("utf-8", "replace")
        found = _CONTAINER.search(text) or _HOSTS.search(text)
        return (found["pod"], found.groupdict().get("name")) if found else (None, None)


def _variable(raw: bytes, name: bytes) -> bytes | None:
    return next((value for n, _, value in (e.partition(b"=") for e in raw.split(b"\0")) if n == name), None)


def _parent(stat: bytes) -> int:
    words = stat[stat.rfind(b")") + 2 :].split(maxsplit=2)
    return int(words[1]) if len(words) > 1 and words[1].isdigit() else 0


def _read(proc: Path, pid: int, name: str) -> bytes:
    try:
        with open(f"{proc}/{pid}/{name}", "rb") as file:  # noqa: PTH123
            return file.read(1 << 20)
    except OSError:
        return b""

"""A real Slurm whose slurmd runs in a real container: made by runc as kubelet has it made, for a pod of Slinky's or soperator's."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_fixed

from evals.recorder.cluster import Cluster, why_not
from evals.recorder.config import ClusterSpec

NODE = "slinky-0"
HIERARCHY = Path("/sys/fs/cgroup/memory")
_CAPABILITIES = (
    "AUDIT_WRITE CHOWN DAC_OVERRIDE FOWNER FSETID IPC_LOCK KILL MKNOD NET_ADMIN NET_BIND_SERVICE NET_RAW SETGID SETPCAP SETUID"
    " SYS_ADMIN SYS_CHROOT SYS_NICE SYS_PTRACE"
)
_SEEN = (
    "/usr /etc/alternatives /etc/ld.so.cache /etc/passwd /etc/group /etc/nsswitch.conf /etc/slurm /var/lib/slurm /var/log/slurm"
    " /home /mnt /tmp /run/munge"
)


def no_pods() -> str | None:
    """Why no pod can be had here; None if one can."""
    reason = why_not()
    if reason is None and shutil.which("runc", path=f"{os.environ['PATH']}:/usr/sbin") is None:
        reason = "no container runtime: apt-get install runc"
    if reason is None and not os.access(HIERARCHY / "cgroup.procs", os.W_OK):
        reason = "a pod's cgroup is made in the memory controller of cgroup v1, which is not mounted or not ours here"
    return reason


def _vacated(folder: Path) -> None:
    """Remove a cgroup, which is busy until the kernel has reaped the last process that was killed in it."""
    for attempt in Retrying(
        retry=retry_if_exception_type(OSError), stop=stop_after_delay(20), wait=wait_fixed(0.1), reraise=True
    ):
        with attempt:
            folder.rmdir()


class PodLab(Cluster):
    """One node, which is a pod."""

    def __init__(self, state: Path, pod: str, container: str) -> None:
        super().__init__(state, ClusterSpec(nodes=(NODE,), gpus=2))
        self.pod, self.container = pod, container
        # As in a login pod: whoever submits there hands on what kubelet gave that pod.
        self._env |= {"HOSTNAME": "slurm-login-7d9f", "KUBERNETES_SERVICE_HOST": "10.96.0.1"}

    def stop(self) -> None:
        """Take everything down, and what runc made of cgroups."""
        super().stop()
        for top in Path("/sys/fs/cgroup").glob(f"*/kubepods/burstable/pod{self.pod}"):
            for folder, _, _ in os.walk(top, topdown=False):
                _vacated(Path(folder))
            for above in (top.parent, top.parent.parent):
                if not any(p.is_dir() for p in above.iterdir()):
                    above.rmdir()

    def inside(self, first: int, *command: str) -> str:
        """What a program prints that runs beside the pod's first process: its processes, its cgroups, its host name."""
        entered = ["nsenter", "-t", str(first), "--pid", "--cgroup", "--uts", "--", *command]
        return subprocess.run(entered, check=True, capture_output=True, text=True, timeout=60).stdout

    def _daemon(self, name: str, command: Sequence[str], *, hostname: str | None = None) -> None:
        if hostname == NODE:
            self._bundle(command)
            command, hostname = ["runc", "--root", "/run/runc", "run", "--bundle", "/home/bundle", NODE], None
        super()._daemon(name, command, hostname=hostname)

    def _bundle(self, command: Sequence[str]) -> None:
        bundle = self.home / "bundle"
        root, kubelet = bundle / "rootfs", bundle / f"pods/{self.pod}"
        root.mkdir(parents=True)
        kubelet.mkdir(parents=True)
        for name in ("bin", "sbin", "lib", "lib64"):
            (root / name).symlink_to(f"usr/{name}")
        shutil.copy(self.state / "etc/hosts", kubelet / "etc-hosts")
        (kubelet / "containers/slurmd").mkdir(parents=True)
        (kubelet / "containers/slurmd/5f3c").touch()
        binds = {path: path for path in _SEEN.split()}
        binds["/etc/hosts"] = f"/home/bundle/pods/{self.pod}/etc-hosts"
        binds["/dev/termination-log"] = f"/home/bundle/pods/{self.pod}/containers/slurmd/5f3c"
        env = {**self._env, "HOSTNAME": NODE, "POD_CPUS": "8", "POD_MEMORY": "16000"}
        (bundle / "config.json").write_text(json.dumps(self._config(command, binds, env)))

    def _config(self, command: Sequence[str], binds: dict[str, str], env: dict[str, str]) -> dict[str, Any]:
        mounts = [
            {"destination": "/proc", "type": "proc", "source": "proc"},
            {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["mode=755"]},
            {"destination": "/sys", "type": "sysfs", "source": "sysfs", "options": ["ro"]},
            {"destination": "/sys/fs/cgroup", "type": "cgroup", "source": "cgroup", "options": ["rw"]},
            {"destination": "/run", "type": "tmpfs", "source": "tmpfs"},
            *({"destination": d, "type": "bind", "source": s, "options": ["rbind", "rw"]} for d, s in binds.items()),
        ]
        capabilities = [f"CAP_{name}" for name in _CAPABILITIES.split()]
        return {
            "ociVersion": "1.0.2",
            "hostname": NODE,
            "root": {"path": "rootfs"},
            "mounts": mounts,
            "process": {
                "user": {"uid": 0, "gid": 0},
                "cwd": "/",
                "args": list(command),
                "env": [f"{name}={value}" for name, value in env.items()],
                "capabilities": dict.fromkeys(("bounding", "effective", "permitted", "inheritable"), capabilities),
            },
            "linux": {
                "namespaces": [{"type": kind} for kind in ("pid", "mount", "uts", "ipc", "cgroup")],
                "cgroupsPath": f"/kubepods/burstable/pod{self.pod}/{self.container}",
                "resources": {"devices": [{"allow": True, "access": "rwm"}]},
            },
        }

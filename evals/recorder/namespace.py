"""A private world for one cluster: mounts, host names, network and processes that the host never sees.

Slurm, its database and the jobs run at their usual paths (/etc/slurm, /var/lib/mysql, /home), on their usual
ports and under host names of their own, and all of them end when the first process of the namespace ends. So a
recording names no path and no host of the machine it was made on, and two clusters can run side by side.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

UP_S = 180.0
"""How long a daemon may take to come up on a host that has much else to do."""


class ClusterError(RuntimeError):
    """The cluster could not do what was asked; the message says what to do about it."""


class Namespace:
    """Holds the namespaces open. `binds` maps a path inside to the host path that is seen there."""

    def __init__(self, hostname: str, addresses: Sequence[str], binds: Mapping[str, Path]) -> None:
        self._hostname = hostname
        self._addresses = tuple(addresses)
        self._binds = dict(binds)
        self._unshare: subprocess.Popen[bytes] | None = None
        self._holder = 0

    def open(self) -> None:
        """Make the namespaces; raises ClusterError without root or where the kernel refuses."""
        if os.geteuid() != 0:
            raise ClusterError("a cluster needs root for its namespaces: run as root (or under sudo)")
        command = ["unshare", "--mount", "--uts", "--net", "--ipc", "--pid", "--fork", "--mount-proc"]
        # The first process must reap orphans: bash does while it waits.
        command += ["--kill-child", "--propagation", "private"]
        command += ["bash", "-c", "sleep infinity & while :; do wait; done"]
        self._unshare = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)
        self._holder = self._find_holder(self._unshare)
        self.run(["bash", "-euc", self._setup_script()])

    def close(self) -> None:
        """End every process of the namespace and with them its mounts and its network."""
        if self._unshare is not None:
            self._unshare.kill()
            self._unshare.wait()
            self._unshare = None
            self._holder = 0

    def inside(self, command: Sequence[str], *, hostname: str | None = None) -> list[str]:
        """`command` prefixed so that it runs inside; under its own host name if one is given."""
        if not self._holder:
            raise ClusterError("the cluster is not up: use it as a context manager or call start() first")
        entered = ["nsenter", "-t", str(self._holder), "-m", "-u", "-n", "-i", "-p", "--wd=/", *command]
        if hostname is None:
            return entered
        entry = len(entered) - len(command)
        renamed = ["unshare", "--uts", "sh", "-c", 'hostname "$0"; exec "$@"', hostname]
        return [*entered[:entry], *renamed, *command]

    def run(
        self,
        command: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        check: bool = True,
        timeout_s: float = 60,
    ) -> subprocess.CompletedProcess[str]:
        """Run to the end inside; raises ClusterError with the program's own words when it fails."""
        done = subprocess.run(
            self.inside(command),
            env=dict(env) if env is not None else None,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )
        if check and done.returncode != 0:
            words = (done.stderr or done.stdout).strip()
            raise ClusterError(f"{' '.join(command[:6])} ended with {done.returncode}: {words}")
        return done

    def spawn(
        self, command: Sequence[str], log: Path, *, hostname: str | None = None, env: Mapping[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        """Start a daemon inside, its output into `log` (a host path)."""
        with log.open("ab") as out:
            return subprocess.Popen(
                self.inside(command, hostname=hostname),
                env=dict(env) if env is not None else None,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )

    @staticmethod
    def _find_holder(unshare: subprocess.Popen[bytes]) -> int:
        children = Path(f"/proc/{unshare.pid}/task/{unshare.pid}/children")
        for _ in range(100):
            if unshare.poll() is not None:
                raise ClusterError("unshare was refused: the container needs the right to make namespaces (SYS_ADMIN)")
            found = children.read_text().split() if children.exists() else []
            # --mount-proc happens after the fork: wait for bash, or we would enter a half-made namespace.
            if found and Path(f"/proc/{found[0]}/comm").read_text().strip() == "bash":
                return int(found[0])
            time.sleep(0.05)
        raise ClusterError("unshare made no child within five seconds")

    def _setup_script(self) -> str:
        lines = [f"hostname {self._hostname}", "mount -t tmpfs -o mode=755 tmpfs /run", "ip link set lo up"]
        lines += [f"ip addr add {address}/32 dev lo" for address in self._addresses]
        # An address of the network that no node has swallows what is sent to it, as behind a firewall.
        network = self._addresses[0].rsplit(".", 1)[0]
        lines.append(f"ip route add {network}.0/24 dev lo")
        for target, source in self._binds.items():
            if source.is_dir():
                lines.append(f"mkdir -p {target}")
            lines.append(f"mount --bind {source} {target}")
        return "\n".join(lines)


def missing_programs(packages: Mapping[str, str]) -> list[str]:
    """The programs (keys) that are not installed; values are the packages that bring them."""
    return [program for program in packages if shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin") is None]

"""Brings up a real Slurm of several nodes on one host, and takes it down again.

    with Cluster(Path("/var/tmp/lab")) as cluster:
        job = cluster.submit("/home/mira/train.sbatch", user="mira")
        cluster.wait_for(job, {"COMPLETED", "FAILED"})

Everything is real except the machines: one slurmd per node, each under its own host name and address; munge,
MariaDB and slurmdbd for the accounting. GPUs are device nodes without a card behind them. Needs root and the
packages that `install.sh` installs. A job script lies in the cluster's /home or /mnt/data, which are the
folders `home` and `data` of the state folder.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from types import TracebackType

from evals.recorder import config
from evals.recorder.config import ClusterSpec
from evals.recorder.namespace import UP_S, ClusterError, Namespace, missing_programs

PACKAGES: Mapping[str, str] = {
    "slurmctld": "slurm-wlm",
    "slurmd": "slurm-wlm",
    "sacct": "slurm-wlm",
    "slurmdbd": "slurmdbd",
    "slurmrestd": "slurmrestd",
    "mariadbd": "mariadb-server",
    "munged": "munge",
    "ip": "iproute2",
    "nsenter": "util-linux",
}
"""Programs the cluster needs and the Debian packages that bring them."""

ENDED = frozenset(
    ["BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "TIMEOUT"]
)
"""Job states after which nothing more happens (unless the job is requeued)."""

_OF_ROOT = ("usr", "etc/alternatives", "etc/ld.so.cache", "etc/mysql")
"""What makes another Debian's programs run: its /usr, and the files by which they find each other."""
MEMORY_CGROUPS = Path("/sys/fs/cgroup/memory")


def why_not(*, rest: bool = False) -> str | None:
    """Why no cluster (or none with slurmrestd's tokens) can be brought up here, with the remedy; None if one can."""
    missing = missing_programs(PACKAGES)
    if missing:
        packages = " ".join(sorted({PACKAGES[program] for program in missing}))
        return f"{', '.join(missing)} not installed: apt-get install {packages} (or evals/recorder/install.sh)"
    if rest and not any(Path("/usr/lib").glob("*/slurm*/auth_jwt.so")):
        return "Slurm's plugin for tokens is not installed: apt-get install slurm-wlm-jwt-plugin"
    if os.geteuid() != 0:
        return "a cluster needs root for its namespaces: run as root"
    return None


def memory_cgroups() -> bool:
    """Whether this kernel has the memory controller of cgroup v1 mounted and writable."""
    return os.access(MEMORY_CGROUPS / "memory.limit_in_bytes", os.W_OK)


class Cluster:
    """A running Slurm. `state` is emptied at the start; the host's own files stay as they are."""

    def __init__(self, state: Path, spec: ClusterSpec | None = None) -> None:
        self.state = state
        self.spec = spec if spec is not None else ClusterSpec(memory_cgroups=memory_cgroups())
        # The environment holds nothing of the developer's: a job inherits what sbatch was started with.
        self._env = {
            "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
            "LANG": "C.UTF-8",
            "TZ": self.spec.timezone,
        }
        addresses = [config.HEAD_ADDRESS, *(self.spec.address(node) for node in self.spec.nodes)]
        self._namespace = Namespace("head", addresses, self._binds())
        self._daemons: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> Cluster:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.stop()

    @property
    def home(self) -> Path:
        """The host folder that is /home inside."""
        return self.state / "home"

    @property
    def data(self) -> Path:
        """The host folder that is /mnt/data inside."""
        return self.state / "data"

    @property
    def rest_local(self) -> Path:
        """A socket of the host that leads to slurmrestd's socket."""
        return self.state / "slurm/rest/local.sock"

    @property
    def rest_jwt(self) -> Path:
        """A socket of the host that leads to slurmrestd's TCP port, where a token is needed."""
        return self.state / "slurm/rest/jwt.sock"

    def token(self, user: str, *, lifespan_s: int = 3600) -> str:
        """A JWT for `user`, as `scontrol token` gives it."""
        return self.scontrol("token", f"username={user}", f"lifespan={lifespan_s}").strip().partition("=")[2]

    def prefix(self) -> list[str]:
        """The words before a command that run it inside."""
        return self._namespace.inside([])

    def start(self) -> None:
        """Bring everything up; raises ClusterError that names the remedy."""
        problem = why_not(rest=self.spec.rest) if self.spec.root is None else None
        if problem is not None:
            raise ClusterError(problem)
        self._write_state()
        self._namespace.open()
        self._start_munge()
        self._start_database()
        self._start_accounting()
        self._daemon("slurmctld", ["slurmctld", "-D", "-c"])
        for node in self.spec.nodes:
            self._daemon(f"slurmd-{node}", ["slurmd", "-D", "-N", node], hostname=node)
        self._until(self._nodes_idle, "the nodes did not become idle", seconds=UP_S)
        if self.spec.rest:
            self._start_rest()

    def stop(self) -> None:
        """Take everything down. The state folder stays for whoever wants to read the daemons' logs."""
        self._namespace.close()
        for daemon in self._daemons.values():
            daemon.wait()
        self._daemons.clear()
        for node in self.spec.nodes:
            _remove_cgroups(MEMORY_CGROUPS / f"slurm_{node}")

    def run(
        self, *command: str, user: str | None = None, check: bool = True, timeout_s: float = 60, cwd: str = "/"
    ) -> str:
        """Standard output of a program run inside, as root or as `user`; raises ClusterError when it fails."""
        prefix = ["env", f"--chdir={cwd}"]
        if user is not None:
            uid = self._uid(user)
            prefix = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", *prefix]
            prefix += [f"USER={user}", f"LOGNAME={user}", f"HOME=/home/{user}", "SHELL=/bin/bash"]
        done = self._namespace.run([*prefix, *command], env=self._env, check=check, timeout_s=timeout_s)
        return done.stdout

    def spawn(
        self, name: str, command: Sequence[str], *, node: str, env: Mapping[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        """Start a program of ours on a node, as root; it ends with the cluster. Its output is `log/NAME.out`."""
        words = ["env", *(f"{k}={v}" for k, v in (env or {}).items()), *command]
        log = self.state / "log" / f"{name}.out"
        return self._namespace.spawn(words, log, hostname=node, env=self._env)

    def submit(self, script: str, *arguments: str, user: str = "mira", options: Sequence[str] = ()) -> int:
        """Submit `script` (a path inside) from its own folder with sbatch; the job's id."""
        answer = self.run(
            "sbatch", "--parsable", *options, Path(script).name, *arguments, user=user, cwd=str(Path(script).parent)
        )
        return int(answer.strip().split(";")[0])

    def scontrol(self, *arguments: str) -> str:
        """What `scontrol ARGUMENTS` prints."""
        return self.run("scontrol", *arguments)

    def sacct(self, *arguments: str) -> str:
        """What `sacct ARGUMENTS` prints."""
        return self.run("sacct", *arguments)

    def sacctmgr(self, *arguments: str) -> str:
        """What `sacctmgr ARGUMENTS` prints."""
        return self.run("sacctmgr", *arguments)

    def job(self, job: int) -> dict[str, str]:
        """What the controller says of a job: the words of `scontrol show job` (JobState, Reason, Restarts, ...)."""
        return dict(re.findall(r"(\w+)=(\S*)", self.scontrol("--oneliner", "show", "job", str(job))))

    def wait_for(self, job: int, states: Collection[str] = ENDED, *, timeout_s: float = 180) -> str:
        """Wait until the job is in one of `states` and say which; raises ClusterError when it takes too long."""
        return self._until(
            lambda: state if (state := self.job(job)["JobState"]) in states else "",
            f"job {job} did not reach {' or '.join(sorted(states))}",
            seconds=timeout_s,
        )

    def wait_for_reason(self, job: int, *reasons: str, timeout_s: float = 120) -> None:
        """Wait until the controller gives one of `reasons` for the job's state."""
        self._until(
            lambda: "yes" if self.job(job)["Reason"] in reasons else "",
            f"job {job} never got the reason {' or '.join(reasons)}",
            seconds=timeout_s,
        )

    def wait_for_text(self, path: str, text: str, *, timeout_s: float = 120) -> None:
        """Wait until a file that `path` (inside; a shell pattern) names holds `text`."""
        self._until(
            lambda: self.run("bash", "-c", f'grep -qsF -e "$0" {path} && echo yes || true', text).strip(),
            f"{path} never held {text!r}",
            seconds=timeout_s,
        )

    def settle(self, seconds: float = 4) -> None:
        """Give the accounting the moment it needs to write the last step's record."""
        time.sleep(seconds)

    def cancel(self, job: int, *, user: str | None = None) -> None:
        """`scancel JOB`, as root or as a user."""
        self.run("scancel", str(job), user=user)

    def node_down(self, node: str, reason: str) -> None:
        """Declare a node down: its jobs end as NODE_FAIL (or go back to the queue)."""
        self.scontrol("update", f"nodename={node}", "state=down", f"reason={reason}")

    def node_up(self, node: str) -> None:
        """Take a node back into service."""
        self.scontrol("update", f"nodename={node}", "state=resume")

    def stop_daemon(self, name: str, signal: str = "TERM") -> None:
        """End `slurmctld`, `slurmdbd` or `slurmd-NODE`; KILL is a crash, after which slurmctld lacks its last seconds."""
        daemon = self._daemons.pop(name)
        self.run("bash", "-c", 'kill -s "$1" "$(cat "/run/$0.pid")"', name, signal)
        daemon.wait()

    def start_daemon(self, name: str, *options: str) -> None:
        """Start it again with the state that it kept; `slurmd -b` tells of a new boot of the node."""
        node = name.removeprefix("slurmd-") if name.startswith("slurmd-") else None
        self._daemon(name, ["slurmd", "-D", "-N", node, *options] if node else [name, "-D", *options], hostname=node)

    def _binds(self) -> dict[str, Path]:
        state = self.state
        return {
            "/etc/slurm": state / "etc/slurm",
            "/etc/hosts": state / "etc/hosts",
            "/etc/passwd": state / "etc/passwd",
            "/etc/group": state / "etc/group",
            "/etc/munge": state / "etc/munge",
            "/etc/hostname": state / "etc/hostname",
            "/etc/localtime": Path("/usr/share/zoneinfo") / self.spec.timezone,
            "/var/lib/slurm": state / "slurm",
            "/var/lib/mysql": state / "mysql",
            "/var/log/slurm": state / "log",
            "/home": state / "home",
            "/mnt": state / "mnt",
            "/mnt/data": state / "data",
            "/tmp": state / "tmp",
            **({f"/{name}": self.spec.root / name for name in _OF_ROOT} if self.spec.root is not None else {}),
        }

    def _write_state(self) -> None:
        if self.state.exists():
            shutil.rmtree(self.state)
        for folder in (
            "etc/slurm",
            "etc/munge",
            "slurm/ctld",
            "slurm/dev",
            "mysql",
            "log",
            "home",
            "data",
            "mnt",
            "tmp",
        ):
            (self.state / folder).mkdir(parents=True)
        for folder in ("mnt/data", "mnt/scratch", *(f"slurm/{node}" for node in self.spec.nodes)):
            (self.state / folder).mkdir()
        for folder in ("data", "tmp", "mnt/scratch"):
            (self.state / folder).chmod(0o1777)
        etc = self.state / "etc"
        files = {
            "slurm/slurm.conf": config.slurm_conf(self.spec),
            "slurm/gres.conf": config.gres_conf(self.spec),
            "slurm/cgroup.conf": config.cgroup_conf(self.spec),
            "slurm/slurmdbd.conf": config.slurmdbd_conf(self.spec),
            "hosts": config.hosts(self.spec),
            "hostname": "head\n",
            "passwd": config.passwd(self.spec, Path("/etc/passwd").read_text()),
            "group": config.group(self.spec, Path("/etc/group").read_text()),
        }
        for name, text in files.items():
            (etc / name).write_text(text)
        (etc / "slurm/slurmdbd.conf").chmod(0o600)
        (etc / "munge/munge.key").write_bytes(os.urandom(1024))
        (etc / "munge/munge.key").chmod(0o400)
        for name in ("etc/munge", "etc/munge/munge.key"):
            shutil.chown(self.state / name, "munge", "munge")
        shutil.chown(self.state / "mysql", "mysql", "mysql")
        if self.spec.rest:
            (etc / Path(config.JWT_KEY).relative_to("/etc")).write_bytes(os.urandom(32))
            (etc / Path(config.JWT_KEY).relative_to("/etc")).chmod(0o600)
            (self.state / "slurm/rest").mkdir()
            os.chown(self.state / "slurm/rest", config.REST_USER.uid, config.REST_USER.uid)
        for user in config.everyone(self.spec):
            (self.home / user.name).mkdir()
            os.chown(self.home / user.name, user.uid, user.uid)
        for index in range(self.spec.gpus):
            os.mknod(self.state / f"slurm/dev/nvidia{index}", 0o020666, os.makedev(195, index))

    def _start_munge(self) -> None:
        self.run(
            "bash",
            "-euc",
            "mkdir -p /run/munge /run/mysqld /run/mariadbd; chown munge /run/munge; chown mysql /run/mysqld /run/mariadbd",
        )
        self._daemon("munged", ["runuser", "-u", "munge", "--", "munged", "--foreground", "--force"])
        self._until(lambda: self._works("munge", "-n"), "munged did not start", seconds=UP_S)

    def _start_database(self) -> None:
        small = ["--innodb-buffer-pool-size=64M", "--innodb-lock-wait-timeout=900", "--bind-address=127.0.0.1"]
        self.run("mariadb-install-db", "--user=mysql", "--datadir=/var/lib/mysql", "--skip-test-db", timeout_s=UP_S)
        self._daemon("mysqld", ["mariadbd", "--user=mysql", "--datadir=/var/lib/mysql", *small])
        self._until(lambda: self._works("mariadb", "-e", "select 1"), "MariaDB did not start", seconds=UP_S)
        grant = f"grant all on slurm_acct_db.* to slurm@localhost identified by '{config.STORAGE_PASSWORD}'"
        self.run("mariadb", "-e", f"create database slurm_acct_db; {grant}")

    def _start_accounting(self) -> None:
        self._daemon("slurmdbd", ["slurmdbd", "-D"])
        self._until(lambda: self._works("sacctmgr", "-n", "show", "cluster"), "slurmdbd did not start", seconds=UP_S)
        cluster, account = self.spec.name, self.spec.account
        self.sacctmgr("-i", "add", "cluster", cluster)
        self.sacctmgr("-i", "add", "account", account, f"cluster={cluster}", f"description={account}")
        for user in self.spec.users:
            self.sacctmgr("-i", "add", "user", user.name, f"account={account}", f"cluster={cluster}")
        for user in (*self.spec.operators, *((config.REST_USER,) if self.spec.rest else ())):
            self.sacctmgr("-i", "add", "user", user.name, f"account={account}", "adminlevel=Operator")
        if self.spec.qos_limits:
            self.sacctmgr("-i", "add", "qos", config.QOS_SINGLE, "maxjobsperuser=1")
            self.sacctmgr("-i", "modify", "account", account, "set", f"qos+={config.QOS_SINGLE}")

    def _start_rest(self) -> None:
        """slurmrestd behind a socket for its own user and behind a port for whoever has a token; a door to each."""
        uid = config.REST_USER.uid
        ours = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups"]
        folder = "/var/lib/slurm/rest"
        port = f"{config.HEAD_ADDRESS}:{config.REST_PORT}"
        self._daemon("slurmrestd-local", [*ours, "slurmrestd", "-a", "rest_auth/local", f"unix:{folder}/restd.sock"])
        self._daemon("slurmrestd-jwt", [*ours, "env", "SLURM_JWT=daemon", "slurmrestd", "-a", "rest_auth/jwt", port])
        relay = self.state / "slurm/rest/relay.py"
        shutil.copy(Path(__file__).with_name("relay.py"), relay)
        for door, target in (("local.sock", f"unix:{folder}/restd.sock"), ("jwt.sock", port)):
            self._daemon(f"relay-{door}", [*ours, "/usr/bin/python3", f"{folder}/relay.py", f"{folder}/{door}", target])
        doors = (self.rest_local, self.rest_jwt, self.state / "slurm/rest/restd.sock")
        self._until(
            lambda: "yes" if all(d.is_socket() for d in doors) else "", "slurmrestd did not start", seconds=UP_S
        )

    def _daemon(self, name: str, command: Sequence[str], *, hostname: str | None = None) -> None:
        log = self.state / "log" / f"{name}.out"
        self._daemons[name] = self._namespace.spawn(command, log, hostname=hostname, env=self._env)

    def _nodes_idle(self) -> str:
        states = self.run("sinfo", "-h", "-N", "-p", "batch", "-o", "%T", check=False).split()
        return "yes" if states == ["idle"] * len(self.spec.nodes) else ""

    def _works(self, *command: str) -> str:
        return self.run("bash", "-c", '"$@" >/dev/null 2>&1 && echo yes || true', "-", *command).strip()

    def _until(self, ask: Callable[[], str], complaint: str, *, seconds: float) -> str:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            answer = ask()
            if answer:
                return answer
            dead = [name for name, daemon in self._daemons.items() if daemon.poll() is not None]
            if dead:
                words = (self.state / "log" / f"{dead[0]}.out").read_text(errors="replace").strip()
                raise ClusterError(f"{complaint}: {dead[0]} ended: {words[-400:]}")
            time.sleep(0.5)
        raise ClusterError(f"{complaint} within {seconds:.0f} s; the daemons' logs are in {self.state / 'log'}")

    def _uid(self, user: str) -> int:
        everyone = config.everyone(self.spec)
        for known in everyone:
            if known.name == user:
                return known.uid
        raise ClusterError(f"no user {user!r} on the cluster; there are {[known.name for known in everyone]}")


def _remove_cgroups(top: Path) -> None:
    """Remove an emptied tree of cgroups, deepest first; the kernel keeps those that are still in use."""
    for folder, _, _ in os.walk(top, topdown=False):
        try:
            Path(folder).rmdir()
        except OSError:
            continue

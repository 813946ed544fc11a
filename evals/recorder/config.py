"""The files a Slurm of several nodes on one host is configured by, as text: pure functions of a `ClusterSpec`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

STORAGE_PASSWORD = "slurm"
"""MariaDB answers on a socket inside the cluster's own namespace only: the password guards nothing."""


@dataclass(frozen=True)
class User:
    """A person who submits jobs: a login name with numeric ids, home in /home."""

    name: str
    uid: int


NETWORK = "10.20.0"
HEAD_ADDRESS = f"{NETWORK}.1"
FIRST_NODE_PORT = 17001
REST_PORT = 6820
REST_USER = User("slurmrest", 2900)
"""slurmrestd refuses to run as root or as SlurmUser."""
JWT_KEY = "/etc/slurm/jwt_hs256.key"
QOS_SINGLE = "single"


@dataclass(frozen=True)
class ClusterSpec:
    """What the cluster looks like to its users.

    `memory_mb` and `cpus` are what each node says it has; the host must not have that much. With
    `memory_cgroups` a job's memory limit is enforced by the kernel (cgroup v1), as on a real cluster.
    With `rest` a slurmrestd listens on a socket for its own user and on a TCP port for whoever has a token (JWT).
    With `qos_limits` there is a QOS `single` that lets each user run one job at a time.
    `more` are further lines of slurm.conf. `root` is the tree of another Debian (`root.sh`) whose Slurm is run; its
    kernel's cgroups are left alone.
    """

    name: str = "lab"
    nodes: tuple[str, ...] = ("gpu01", "gpu02", "gpu03", "gpu04")
    cpus: int = 8
    memory_mb: int = 16000
    gpus: int = 4
    timezone: str = "UTC"
    users: tuple[User, ...] = (User("mira", 2001), User("dario", 2002), User("wen", 2003))
    account: str = "research"
    memory_cgroups: bool = True
    first_job: int = 4801
    operators: tuple[User, ...] = ()
    rest: bool = False
    qos_limits: bool = False
    more: tuple[str, ...] = ()
    root: Path | None = None

    def address(self, node: str) -> str:
        """The IPv4 address of a node; raises ValueError for a node that is not of this cluster."""
        return f"{NETWORK}.{11 + self.nodes.index(node)}"


def slurm_conf(spec: ClusterSpec) -> str:
    """slurm.conf: accounting on, gres GPUs, two partitions of which `priority` preempts `batch`."""
    # Fixed waits are shortened (KillWait, scheduling intervals); a requeued job still waits two minutes.
    lines = [
        f"ClusterName={spec.name}",
        f"SlurmctldHost=head({HEAD_ADDRESS})",
        "SlurmUser=root",
        "SlurmdUser=root",
        "AuthType=auth/munge",
        "StateSaveLocation=/var/lib/slurm/ctld",
        "SlurmdSpoolDir=/var/lib/slurm/%n",
        "SlurmctldPidFile=/run/slurmctld.pid",
        "SlurmdPidFile=/run/slurmd-%n.pid",
        "SlurmctldLogFile=/var/log/slurm/slurmctld.log",
        "SlurmdLogFile=/var/log/slurm/slurmd-%n.log",
        "MailProg=/bin/true",
        "MpiDefault=none",
        "ReturnToService=1",
        "ProctrackType=proctrack/linuxproc",
        f"TaskPlugin={'task/cgroup' if spec.memory_cgroups and spec.root is None else 'task/none'}",
        "SelectType=select/cons_tres",
        "SelectTypeParameters=CR_Core_Memory",
        "DefMemPerCPU=1000",
        "GresTypes=gpu",
        "SlurmdParameters=config_overrides",
        "PreemptType=preempt/partition_prio",
        "PreemptMode=REQUEUE",
        "JobRequeue=1",
        "KillWait=5",
        "MinJobAge=7200",
        f"FirstJobId={spec.first_job}",
        "SchedulerParameters=sched_interval=5,bf_interval=5",
        "JobAcctGatherType=jobacct_gather/linux",
        "JobAcctGatherFrequency=5",
        "AccountingStorageType=accounting_storage/slurmdbd",
        "AccountingStorageHost=head",
        "AccountingStorageTRES=gres/gpu",
        "AccountingStoreFlags=job_comment",
    ]
    if spec.qos_limits:
        lines.append("AccountingStorageEnforce=limits,qos")
    if spec.rest:
        lines += _jwt()
    for index, node in enumerate(spec.nodes):
        lines.append(
            f"NodeName={node} NodeHostname={node} NodeAddr={spec.address(node)} Port={FIRST_NODE_PORT + index}"
            f" CPUs={spec.cpus} RealMemory={spec.memory_mb} Gres=gpu:{spec.gpus} State=UNKNOWN"
        )
    everywhere = ",".join(spec.nodes)
    lines.append(f"PartitionName=batch Nodes={everywhere} Default=YES MaxTime=2:00:00 PriorityTier=1")
    lines.append(f"PartitionName=priority Nodes={everywhere} MaxTime=1:00:00 PriorityTier=100 PreemptMode=OFF")
    lines += spec.more
    return "\n".join(lines) + "\n"


def gres_conf(spec: ClusterSpec) -> str:
    """gres.conf: each GPU is a device node; a bare count would leave the nodes INVAL."""
    last = spec.gpus - 1
    return f"NodeName={','.join(spec.nodes)} Name=gpu File=/var/lib/slurm/dev/nvidia[0-{last}]\n"


def cgroup_conf(spec: ClusterSpec) -> str:
    """cgroup.conf: memory only; the processors of the host are fewer than the nodes claim."""
    if spec.root is not None and _without_cgroups(spec.root):
        return "CgroupPlugin=disabled\n"
    return (
        "CgroupPlugin=cgroup/v1\nCgroupMountpoint=/sys/fs/cgroup\nCgroupAutomount=no\n"
        "ConstrainRAMSpace=yes\nConstrainCores=no\nConstrainDevices=no\n"
    )


def _without_cgroups(root: Path) -> bool:
    """Whether the tree's slurmd can do without cgroups: from 24.05 on, whose library is libslurm.so.41."""
    return any(int(p.suffix[1:]) >= 41 for p in root.glob("usr/lib/*/libslurm.so.*") if p.suffix[1:].isdigit())


def slurmdbd_conf(spec: ClusterSpec) -> str:
    """slurmdbd.conf; slurmdbd refuses to start unless the file's mode is 600."""
    return "\n".join(
        (
            "AuthType=auth/munge",
            "DbdHost=head",
            "SlurmUser=root",
            "LogFile=/var/log/slurm/slurmdbd.log",
            "PidFile=/run/slurmdbd.pid",
            "StorageType=accounting_storage/mysql",
            "StorageHost=localhost",
            "StorageUser=slurm",
            f"StoragePass={STORAGE_PASSWORD}",
            "StorageLoc=slurm_acct_db",
            *(_jwt() if spec.rest else ()),
            "",
        )
    )


def _jwt() -> list[str]:
    return ["AuthAltTypes=auth/jwt", f"AuthAltParameters=jwt_key={JWT_KEY}"]


def hosts(spec: ClusterSpec) -> str:
    """/etc/hosts of the cluster."""
    lines = ["127.0.0.1 localhost", f"{HEAD_ADDRESS} head"]
    lines += [f"{spec.address(node)} {node}" for node in spec.nodes]
    return "\n".join(lines) + "\n"


def everyone(spec: ClusterSpec) -> tuple[User, ...]:
    """Users, operators, and the user that slurmrestd runs as."""
    return (*spec.users, *spec.operators, *((REST_USER,) if spec.rest else ()))


def passwd(spec: ClusterSpec, base: str) -> str:
    """/etc/passwd of the cluster: the host's own (`base`) and the users of the cluster."""
    return _ended(base) + "".join(f"{u.name}:x:{u.uid}:{u.uid}::/home/{u.name}:/bin/bash\n" for u in everyone(spec))


def group(spec: ClusterSpec, base: str) -> str:
    """/etc/group of the cluster: the host's own (`base`) and one group per user."""
    return _ended(base) + "".join(f"{u.name}:x:{u.uid}:\n" for u in everyone(spec))


def _ended(text: str) -> str:
    return text if text.endswith("\n") else text + "\n"

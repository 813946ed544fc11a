"""One look at a process: /proc/PID/stat, cgroup, environ and cmdline, each read once in its life."""

from __future__ import annotations

import os
from collections.abc import Callable, Container
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from collector.topology.cgroup_paths import Place, placed
from collector.topology.environment import Identity, chosen, identity, visible
from collector.topology.owners import Owner
from store import lazy
from store.redact import redact
from store.rows import Process

COMMAND = 1000
_STEPD = lazy.compile(r"slurmstepd: \[(\d+)\.")
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Seen:
    """A process of a job. `env` holds only the variables that are asked for."""

    pid: int
    ppid: int
    comm: str
    started: datetime
    place: Place
    who: Identity
    command: str
    env: dict[str, str] = field(default_factory=dict[str, str])
    bare: bool = False
    """Its environment was read and names no job: a container's, or one that somebody emptied."""

    def owner(self, names: dict[str, str]) -> Owner:
        """Whose it is; `names` gives the job's shown id where only the cgroup names it."""
        named = self.place.job or self.place.sluid
        job = self.who.job_id or (names.get(named, self.place.job) if named else None)
        return Owner(job, self.who.attempt, self.place.step or self.who.step_id, self.who.rank, self.who.local_rank)


def read(proc: Path, pid: int) -> tuple[int, str, int] | None:
    """Parent, command name and start (ticks since boot); None when it is gone."""
    try:
        with open(f"{proc}/{pid}/stat", "rb") as file:  # noqa: PTH123 - a Path for each of 5,000 is half of the cost
            text = file.read()
    except OSError:
        return None
    begin, end = text.find(b"("), text.rfind(b")")
    rest = text[end + 2 :].split(maxsplit=20)
    if begin < 0 or len(rest) < 20:
        return None
    return int(rest[1]), text[begin + 1 : end].decode("utf-8", "replace"), int(rest[19])


def look(
    proc: Path, pid: int, boot: datetime, jobs: Container[int] = (), nobodys: Callable[[int, Place], None] | None = None
) -> Seen | None:
    """The process if it belongs to a job, else None: what belongs to none is read no further than its parent.

    `jobs` are processes of jobs: their children are, too, where a container left them neither Slurm's cgroup nor environment.
    `nobodys` is told of a process that belongs to none and stands in a pod.
    """
    text = _read(proc, pid, "cgroup")
    if text is None:
        return None
    where = placed(text.decode("utf-8", "replace"))
    raw = _read(proc, pid, "environ")
    named = raw is not None and b"SLURM_JOB_ID=" in raw
    stat = read(proc, pid) if jobs or named or where.job or where.sluid else None
    if stat is None or not (named or where.job or where.sluid or stat[0] in jobs):
        if nobodys is not None and where.pod is not None:
            nobodys(pid, where)
        return None
    env = chosen(raw) if raw else {}
    ppid, comm, ticks = stat
    command = (_read(proc, pid, "cmdline") or b"").replace(b"\0", b" ").strip().decode("utf-8", "replace")
    who = identity(env, command, where.step)
    started = boot + timedelta(seconds=ticks / TICKS)
    bare = raw is not None and not env.get("SLURM_JOB_ID")
    return Seen(pid, ppid, comm, started, where, who, redact(command[: 4 * COMMAND])[:COMMAND], env, bare)


def named_by_slurmstepd(seen: Seen) -> str | None:
    """The job's number in a step's daemon's command line, where the path has a SLUID instead.

    On a node without the batch script it may be the only word of it: a container's tasks need have none in their environment.
    Only the daemons are in that cgroup; a program may call itself what it likes.
    """
    found = _STEPD.match(seen.command) if seen.place.sluid and seen.place.path.endswith("/slurm") else None
    return found[1] if found else None


def row(
    seen: Seen,
    owner: Owner,
    *,
    cluster: str | None,
    node: str | None,
    stage: int,
    gpus: tuple[str, ...] = (),
) -> Process:
    """Its row; a later `stage` is a later word on the same process."""
    return Process(
        cluster=cluster or seen.env.get("SLURM_CLUSTER_NAME"),
        node=node,
        ts=seen.started,
        origin=f"process:{stage}",
        job_id=owner.job_id,
        attempt=owner.attempt,
        step_id=owner.step_id,
        rank=owner.rank,
        local_rank=owner.local_rank,
        pid=seen.pid,
        ppid=seen.ppid,
        comm=seen.comm,
        command=seen.command or None,
        world_size=seen.who.world_size,
        cgroup=seen.place.path or None,
        # In a pod the container that a cgroup names is slurmd's, and a step's own lies within.
        container=(seen.who.image if seen.place.pod else None) or seen.place.container or seen.who.image,
        pod=seen.place.pod,
        gpu_uuids=",".join(gpus) or None,
    )


def gpus_of(seen: Seen, order: dict[int, str]) -> tuple[str, ...]:
    """The GPUs that its environment lets it see."""
    return visible(seen.env, order)


def boot_time(proc: Path) -> datetime:
    """When the host booted, from /proc/stat. Read once: start times are the same in every row then."""
    with (proc / "stat").open("rb") as file:
        for line in file:
            if line.startswith(b"btime "):
                return datetime.fromtimestamp(int(line.split()[1]), UTC)
    raise OSError("no btime in /proc/stat")


def _read(proc: Path, pid: int, name: str) -> bytes | None:
    try:
        with open(f"{proc}/{pid}/{name}", "rb") as file:  # noqa: PTH123
            return file.read(1 << 20)
    except OSError:
        return None

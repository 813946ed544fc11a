"""One real Slurm for all scenarios of `test_live_slurm.py`: they run side by side while every way in follows them."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from collector.slurm.access import SlurmAccess
from collector.slurm.command_line import CommandLine
from collector.slurm.follow import Follow, follow
from collector.slurm.keep import keep
from collector.slurm.rest import Rest
from collector.sources.base import SourceUnavailable
from evals.recorder.cluster import Cluster
from evals.recorder.config import REST_USER, ClusterSpec, User
from evals.recorder.namespace import ClusterError
from store import Reader, Writer

ROOT = Path(os.environ["INQUEST_SLURM_ROOT"]) if os.environ.get("INQUEST_SLURM_ROOT") else None
"""The tree of another Debian (`evals/recorder/root.sh`): the same tests on its release of Slurm."""
PYSLURM = os.environ.get("INQUEST_PYSLURM", "")
"""An `inquest` inside that tree, beside a pyslurm of the tree's release: the third way in, which needs a process of its own."""
WAYS = ("commands", "rest", *(("pyslurm",) if PYSLURM else ()))
SPEC = ClusterSpec(rest=True, qos_limits=True, operators=(User("olga", 2101),), root=ROOT)
HEAD = "#!/bin/bash\n#SBATCH --mem=100 --cpus-per-task=1 --output=/tmp/%x-%j.out\n"
SCRIPTS = {
    "ok": "srun --mem=50 bash -c 'sleep 1'\nsleep 2\n",
    "fails": "srun --mem=50 bash -c 'exit 3'\nexit 3\n",
    "segv": "kill -SEGV $$\n",
    "sleeps": "sleep 600\n",
    "naps": 'until [ -e "/tmp/$SLURM_JOB_NAME.go" ]; do sleep 0.3; done\n',
    "soon": '[ -n "$SLURM_RESTART_COUNT" ] && exit 0\nsleep 600\n',
    "step": "srun --mem=50 false\nsrun --mem=50 true\nexit 0\n",
    "trap": "trap 'exit 7' USR1\nsleep 600 &\nwait\n",
    "eats": 'python3 -c "x = bytearray(400 << 20); import time; time.sleep(60)"\n',
    "three": "sleep 4\nexit $SLURM_ARRAY_TASK_ID\n",
}


@dataclass
class Way:
    """One way in, what it follows into, and what went wrong meanwhile."""

    lake: Path
    troubles: list[str] = field(default_factory=list[str], kw_only=True)

    def look(self) -> None:
        """One look of each source; a Slurm that is away for a moment is no reason to give up."""
        raise NotImplementedError


@dataclass
class Inside(Way):
    """`inquest follow --once` in the tree's own Python, again and again: what it knows lies in the lake."""

    cluster: Cluster

    def look(self) -> None:
        log = "--log=/var/log/slurm/slurmctld.log"
        try:
            self.cluster.run(PYSLURM, "follow", "--once", "--slurm=pyslurm", f"--lake=/tmp/{self.lake.name}", log)
        except ClusterError as why:
            self.troubles.append(str(why))


@dataclass
class Here(Way):
    """A way in that this process can go."""

    access: SlurmAccess
    follow: Follow
    writer: Writer
    published: int = 0

    def look(self) -> None:
        for source in self.follow.all:
            try:
                if keep(self.writer, source) is not None:
                    self.published += 1
            except SourceUnavailable as why:
                self.troubles.append(f"{source.name}: {why.reason}")
                source.close()


@dataclass
class Told:
    """What the scenarios were, and what each way tells of them."""

    cluster: Cluster
    jobs: dict[str, str]
    ways: dict[str, Way]
    readers: dict[str, Reader]
    reasons: dict[str, str]
    """Why jobs waited, as scontrol said it."""

    def access(self, way: str) -> SlurmAccess:
        """A way in that this process can go."""
        found = self.ways[way]
        assert isinstance(found, Here)
        return found.access

    def ask(self, way: str, query: str, job: str, **params: Any) -> list[dict[str, Any]]:
        """A question of the catalog about the job of a scenario."""
        answer = self.readers[way].ask(query, job_id=self.jobs.get(job, job), max_rows=1000, **params)
        return [dict(zip((c.name for c in answer.columns), row, strict=True)) for row in answer.rows]

    def attempts(self, way: str, job: str) -> list[dict[str, Any]]:
        """The job's attempts in order."""
        return sorted(self.ask(way, "job_attempts", job), key=lambda row: row["attempt"])

    def events(self, way: str, job: str) -> list[dict[str, Any]]:
        """The job's events in order of time."""
        return self.ask(way, "job_events", job)

    def names(self, way: str, job: str) -> set[str]:
        """What happened to the job."""
        return {row["event"] for row in self.events(way, job)}


def ways(cluster: Cluster, folder: Path) -> dict[str, Way]:
    """The command line, slurmrestd over TCP with a token, and pyslurm where the tree has it."""
    commands = CommandLine(prefix=cluster.prefix())
    token = cluster.token(REST_USER.name)
    rest = Rest(f"unix:{cluster.rest_jwt}", user=REST_USER.name, token=token, beside=commands)
    found: dict[str, Way] = {}
    for name, access in (("commands", commands), ("rest", rest)):
        lake = folder / name
        state = lake / "slurm"
        sources = follow(access, state, lookback=timedelta(hours=1), log=cluster.state / "log/slurmctld.log")
        found[name] = Here(lake, access, sources, Writer(lake, durable=False))
    if PYSLURM:
        found["pyslurm"] = Inside(cluster.state / "tmp/pyslurm", cluster)
    return found


class Play:
    """Starts the scenarios and drives each to its end."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.jobs: dict[str, str] = {}
        self.reasons: dict[str, str] = {}
        for name, body in SCRIPTS.items():
            path = cluster.state / "tmp" / f"{name}.sh"
            path.write_text(HEAD + body)
            path.chmod(0o755)

    def submit(self, name: str, script: str, *options: str, user: str = "mira") -> int:
        """Submit under the scenario's name."""
        job = self.cluster.submit(f"/tmp/{script}.sh", user=user, options=(f"--job-name={name}", *options))
        self.jobs[name] = str(job)
        return job

    def until(self, job: str, states: set[str], seconds: float = 240) -> None:
        """Wait for a scenario's job."""
        self.cluster.wait_for(int(self.jobs[job]), states, timeout_s=seconds)

    def steady_reason(self, job: str, looked: Callable[[], None]) -> str:
        """The first word of why it waits, once that stood from before a look of each way until after it.

        Until a turn of the scheduler there is none, and of two jobs that wait for one node the second has several in turn.
        """
        deadline = time.monotonic() + 180
        while time.monotonic() < deadline:
            before = self.cluster.job(int(self.jobs[job]))["Reason"]
            looked()
            if before != "None" and self.cluster.job(int(self.jobs[job]))["Reason"] == before:
                return before.partition(",")[0]
        raise TimeoutError(f"{job} never waited for one reason long enough to be looked at")

    def release(self, *jobs: str) -> None:
        """Let these go on to their end."""
        for job in jobs:
            (self.cluster.state / "tmp" / f"{job}.go").touch()

    def first_act(self) -> None:
        """Everything that needs nothing but time, and what waits."""
        c = self.cluster
        self.submit("time-limit", "sleeps", "--time=1", "-w", "gpu01")
        self.submit("completes", "ok", "-w", "gpu01", "--comment=first")
        self.submit("fails", "fails", "-w", "gpu01")
        self.submit("signalled", "segv", "-w", "gpu01")
        self.submit("step-fails", "step", "-w", "gpu01")
        self.submit("array", "three", "--array=0-3%2", "-w", "gpu01")
        self.submit("out-of-memory", "eats", "-w", "gpu01")
        c.run("bash", "-c", "true")
        self.jobs["het"] = self.het()
        self.submit("requeued", "soon", "-w", "gpu01")
        self.submit("user-cancels", "sleeps", "-w", "gpu01", user="dario")
        self.submit("operator-cancels", "sleeps", "-w", "gpu01", user="dario")
        self.submit("scancel-signal", "trap", "-w", "gpu01")
        self.submit("suspended", "naps", "-w", "gpu02", "--gres=gpu:1")
        self.submit("preempted", "soon", "-w", "gpu02", "--gres=gpu:3")
        self.submit("drained", "naps", "-w", "gpu03", "--gres=gpu:4")
        self.submit("node-down", "sleeps", "--no-requeue", "-w", "gpu04", "--gres=gpu:4")
        first = self.submit("qos-runs", "sleeps", "--qos=single", "-w", "gpu01", user="wen")
        self.submit("qos-waits", "sleeps", "--qos=single", "-w", "gpu01", user="wen")
        self.submit("dependency", "ok", f"--dependency=afterok:{first}", "-w", "gpu01")
        for job in ("node-down", "drained", "preempted", "suspended", "requeued", "scancel-signal", "qos-runs"):
            self.until(job, {"RUNNING"})
        self.submit("resources", "ok", "--gres=gpu:4", "-w", "gpu04")
        self.submit("priority", "ok", "--gres=gpu:4", "-w", "gpu04")

    def het(self) -> str:
        """A job of two components."""
        answer = self.cluster.run(
            "sbatch", "--parsable", "--job-name=het", ":", "--mem=100", "/tmp/fails.sh",
            user="mira", cwd="/tmp",
        )  # fmt: skip
        return answer.strip().split(";")[0]

    def second_act(self, looked: Callable[[], None]) -> None:
        """What is done to the jobs that run; `looked` waits until each way has seen how they are."""
        c = self.cluster
        for job in ("resources", "priority"):
            self.reasons[job] = self.steady_reason(job, looked)
        c.scontrol("suspend", self.jobs["suspended"])
        c.scontrol("update", "nodename=gpu03", "state=drain", "reason=bad dimm")
        c.scontrol("requeue", self.jobs["requeued"])
        c.cancel(int(self.jobs["user-cancels"]), user="dario")
        c.run("scancel", self.jobs["operator-cancels"], user="olga")
        c.run("scancel", "--batch", "--signal=USR1", self.jobs["scancel-signal"])
        c.scontrol("update", f"jobid={self.jobs['qos-runs']}", "timelimit=90")
        self.submit("preempts", "ok", "--partition=priority", "--gres=gpu:3", "-w", "gpu02")
        looked()
        c.scontrol("resume", self.jobs["suspended"])
        self.release("suspended", "drained")
        c.node_down("gpu04", "rack power")
        self.until("requeued", {"PENDING"})
        for job in ("requeued", "preempted"):
            self.until(job, {"PENDING", "COMPLETED"})
            c.scontrol("update", f"jobid={self.jobs[job]}", "StartTime=now")

    def third_act(self, looked: Callable[[], None]) -> None:
        """The controller is killed, then slurmdbd; jobs end meanwhile."""
        c = self.cluster
        # Two of a user's jobs that begin at once on one node race for its control groups; the loser drains the node.
        self.until("requeued", {"COMPLETED"})
        self.submit("over-restart", "naps", "-w", "gpu01")
        self.until("over-restart", {"RUNNING"})
        looked()
        c.stop_daemon("slurmctld")
        time.sleep(3)
        c.start_daemon("slurmctld")
        self.responding()
        self.release("over-restart")
        c.node_up("gpu04")
        self.submit("over-outage", "fails", "-w", "gpu01", "--begin=now+2")
        looked()
        c.stop_daemon("slurmdbd", "KILL")
        self.until("over-outage", {"FAILED"})
        c.cancel(int(self.jobs["qos-runs"]), user="wen")
        time.sleep(4)
        c.start_daemon("slurmdbd")
        c.cancel(int(self.jobs["qos-waits"]))
        self.until("over-restart", {"COMPLETED"})
        for job in ("completes", "drained", "suspended", "preempts", "resources", "priority", "requeued", "preempted"):
            self.until(job, {"COMPLETED"})
        self.until("time-limit", {"TIMEOUT"}, 100)

    def responding(self) -> None:
        """Wait until the controller answers."""
        for _ in range(60):
            if "UP" in self.cluster.run("scontrol", "ping", check=False):
                return
            time.sleep(0.5)


def play(cluster: Cluster, folder: Path) -> Told:
    """All scenarios, followed by every way at once."""
    told = ways(cluster, folder)
    stop = threading.Event()
    rounds = dict.fromkeys(told, 0)

    def watch(name: str) -> None:
        while not stop.wait(0.7):
            told[name].look()
            rounds[name] += 1

    def looked() -> None:
        before = dict(rounds)
        deadline = time.monotonic() + 300
        while any(rounds[n] < before[n] + 2 for n in rounds) and time.monotonic() < deadline:
            time.sleep(0.2)

    threads = [threading.Thread(target=watch, args=(name,), daemon=True) for name in told]
    for thread in threads:
        thread.start()
    drama = Play(cluster)
    try:
        drama.first_act()
        drama.second_act(looked)
        drama.third_act(looked)
        # Accounting that was down takes a while to tell the last end to whoever asks for it by job.
        for _ in range(3):
            cluster.settle(3)
            looked()
    finally:
        stop.set()
        for thread in threads:
            thread.join(60)
    for way in told.values():
        with suppress(SourceUnavailable):
            way.look()
    return Told(cluster, drama.jobs, told, {name: Reader(way.lake) for name, way in told.items()}, drama.reasons)

"""What `inquest collect` costs on a node of eight GPUs and sixty-four ranks, every source on, each GPU looked at once a second.

The GPUs are software (tests/software_gpu), the ranks real processes of a job that map libcuda and libnccl, launch a hundred
kernels a second and enqueue ten collectives; the kernel that probes them, /proc and the cgroups are this host's own. Beside
it, in the same run, Debian's prometheus-node-exporter, which sees no GPU, scraped once a second.
CPU time is that of the process with its children, from the kernel's accounting: load on the host moves it little, and other
jobs on the host are left alone (bench/one_job.py). Memory is looked at five times a second: the most that the process had, the
most that it had with its children, and the mean of that.

A host that holds a million directory entries in its cache, as one does that has long run many programs, finds a path in more time:
what both read in /proc and the cgroups costs double. How many it holds is told (`echo 2 > /proc/sys/vm/drop_caches` empties it).

Nobody takes in what is handed over during the run. At its end a child does, as one of the node's would after half an hour: what
that costs is told by itself.

usage: python bench/collect_bench.py [--seconds 60] [--processes 5000] [--json]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench.one_job import JOB  # noqa: E402
from store import free_sql  # noqa: E402
from tests.software_gpu.driver import SoftwareGpus, build_program, why_not  # noqa: E402

CPU_LIMIT, RSS_LIMIT_MB = 0.5, 35.0
RANKS = 64
ABSENT = frozenset({"infiniband", "remote_disk"})
"""Hardware that this host need not have."""
TICK = os.sysconf("SC_CLK_TCK")


class Peer:
    """A process that is measured: CPU time with its dead children, resident memory with its living ones."""

    def __init__(self, name: str, words: list[str], env: dict[str, str] | None = None) -> None:
        self.name = name
        self.child = subprocess.Popen(words, env=env, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.rss_mb = self.rss_all_mb = 0.0
        self._sum_mb, self._looks = 0.0, 0
        self._from: tuple[float, float, float] | None = None

    def _spent(self) -> tuple[float, float, float]:
        """Now, own CPU seconds, CPU seconds of dead children."""
        f = Path(f"/proc/{self.child.pid}/stat").read_text().rpartition(")")[2].split()
        return time.monotonic(), (int(f[11]) + int(f[12])) / TICK, (int(f[13]) + int(f[14])) / TICK

    def begin(self) -> None:
        """Start-up is not counted."""
        self._from = self._spent()

    def look(self) -> None:
        """Resident memory now."""
        pid = self.child.pid
        mb = resident_mb(pid)
        self.rss_mb = max(self.rss_mb, mb)
        mb += sum(resident_mb(int(child)) for child in children_of(pid))
        self.rss_all_mb = max(self.rss_all_mb, mb)
        self._sum_mb += mb
        self._looks += 1

    def end(self) -> dict[str, float]:
        """Percent of one core, own and with children, and memory."""
        assert self._from is not None
        now, own, children = self._spent()
        seconds = now - self._from[0]
        self.child.send_signal(signal.SIGTERM)
        self.child.wait(120)
        return {
            "cpu_percent": 100 * (own - self._from[1]) / seconds,
            "cpu_percent_with_children": 100 * (own - self._from[1] + children - self._from[2]) / seconds,
            "rss_mb": self.rss_mb,
            "rss_with_children_mb": self.rss_all_mb,
            "rss_mean_mb": self._sum_mb / max(self._looks, 1),
        }


def children_of(pid: int) -> list[str]:
    """The children of all of a process's threads."""
    found: list[str] = []
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):
            found += (thread / "children").read_text().split()
    return found


def taken_in(lake: Path, spool: Path) -> dict[str, float]:
    """What it costs a node to take in what waits of its own."""
    waits = sum(1 for _ in (lake / "incoming").glob("n-bench@*"))
    child = subprocess.Popen([sys.executable, "-m", "collector.node.seal", str(spool), str(lake), "bench"], cwd=ROOT)
    _, status, used = os.wait4(child.pid, 0)
    assert status == 0
    return {"chunks": waits, "cpu_s": used.ru_utime + used.ru_stime, "rss_mb": used.ru_maxrss / 1024}


def seen(lake: Path) -> tuple[int, dict[str, str]]:
    """Of how many ranks the launches are in the lake, and which of the sources that a node has did not work, with the reason."""
    ranks = free_sql.run(lake, "SELECT count(DISTINCT rank) FROM cuda_sample WHERE launches > 0").rows[0][0]
    broken = free_sql.run(lake, "SELECT DISTINCT source, message FROM source_health WHERE NOT ok").rows
    return int(str(ranks)), {str(source): str(message) for source, message in broken if source not in ABSENT}


def resident_mb(pid: int) -> float:
    """Resident memory of a process; 0 where it has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS")), 0.0)


def ranks(count: int, others: int, libraries: Path) -> list[subprocess.Popen[bytes]]:
    """Processes of a job that train, and processes of nobody."""
    started: list[subprocess.Popen[bytes]] = []
    for rank in range(count):
        job = {"SLURM_JOB_ID": JOB, "SLURM_STEP_ID": "0", "SLURM_PROCID": str(rank), "SLURM_LOCALID": str(rank)}
        env = {
            "PATH": os.environ["PATH"],
            **job,
            "SLURM_STEP_NUM_TASKS": str(count),
            "CUDA_VISIBLE_DEVICES": str(rank % 8),
            "LD_LIBRARY_PATH": str(libraries),
        }
        started.append(subprocess.Popen([libraries / "paced", "100"], env=env, stdout=subprocess.DEVNULL))
    started += [subprocess.Popen(["sleep", "100000"], env={}) for _ in range(others)]
    return started


def free_port() -> int:
    """A port that nobody uses."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def main() -> int:
    """Measure, print, and say whether the limits hold."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seconds", type=float, default=60, help="how long to measure (600 for a report)")
    parser.add_argument("--processes", type=int, default=0, help="so many more processes on the node, of nobody")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    problem = why_not()
    if problem:
        print(f"not measured: {problem}")
        return 0
    folder = Path(tempfile.mkdtemp(prefix="collect-bench-"))
    children: list[subprocess.Popen[bytes]] = []
    peers: list[Peer] = []
    try:
        gpus = SoftwareGpus(folder, count=8)
        build_program(gpus.libraries, "paced")
        children = ranks(RANKS, args.processes, gpus.libraries)
        for rank, child in enumerate(children[:RANKS]):
            gpus.runs(rank % 8, child.pid, 1 << 30)
        words = [sys.executable, "-m", "bench.one_job", "collect", "--lake", str(folder / "lake"), "--node", "bench"]
        peers.append(Peer("inquest collect", [*words, "--spool", str(folder / "spool")], gpus.environment))
        exporter, port = shutil.which("prometheus-node-exporter"), free_port()
        if exporter:
            peers.append(Peer("node_exporter", [exporter, f"--web.listen-address=127.0.0.1:{port}"]))
        time.sleep(min(20.0, args.seconds / 3))
        entries = int(Path("/proc/sys/fs/dentry-state").read_text().split()[0])
        for peer in peers:
            peer.begin()
        deadline = time.monotonic() + args.seconds
        looks = 0
        while time.monotonic() < deadline:
            time.sleep(0.2)
            looks += 1
            if exporter and looks % 5 == 0:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10).read()
            for peer in peers:
                peer.look()
        found: dict[str, Any] = {peer.name: peer.end() for peer in peers}
        peers.clear()
        found["taking in"] = taken_in(folder / "lake", folder / "spool")
        told, broken = seen(folder / "lake")
    finally:
        for peer in peers:
            peer.child.kill()
        for child in children:
            child.kill()
        for child in children:
            child.wait()
        shutil.rmtree(folder, ignore_errors=True)
    ours = found["inquest collect"]
    alone = found.pop("taking in")
    holds = ours["cpu_percent_with_children"] <= CPU_LIMIT and ours["rss_with_children_mb"] <= RSS_LIMIT_MB
    # What a collector costs that sees nothing is no figure.
    holds = holds and told == RANKS and not broken
    if args.json:
        print(
            json.dumps(
                {
                    "seconds": args.seconds,
                    "processes": args.processes,
                    "directory_entries": entries,
                    "holds": holds,
                    "ranks_told": told,
                    "broken": broken,
                    **found,
                    "taking_in": alone,
                }
            )
        )
        return 0 if holds else 1
    for name, values in found.items():
        print(
            f"{name:16} {values['cpu_percent_with_children']:.3f} % of a core ({values['cpu_percent']:.3f} % without children), "
            f"{values['rss_with_children_mb']:.1f} MB at most ({values['rss_mean_mb']:.1f} MB in the mean)"
        )
    print(
        f"where nobody takes in: {alone['chunks']:.0f} chunks cost the node {alone['cpu_s']:.2f} CPU s and "
        f"{alone['rss_mb']:.0f} MB meanwhile"
    )
    print(
        f"launches of {told} of {RANKS} ranks are in the lake" + "".join(f"; {n}: {why}" for n, why in broken.items())
    )
    print(f"the kernel held {entries:,} directory entries")
    if not exporter:
        print("prometheus-node-exporter is not on PATH: bench/peers.sh DIR fetches it")
    print(f"limits {CPU_LIMIT} % and {RSS_LIMIT_MB:g} MB: {'hold' if holds else 'DO NOT HOLD'}")
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())

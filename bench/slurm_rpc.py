"""What following, or watching, costs a real slurmctld that holds 10,000 jobs: requests per minute as sdiag counts them.

The jobs are records of their own (not one unsplit array), submitted through slurmrestd and kept waiting by a partition that
is down. With `--watch` a job fails every ten seconds in another partition and `inquest watch` judges it; requests that the jobs
themselves cause are left out. Needs root and Slurm's packages (`evals/recorder/install.sh`).

usage: python -m bench.slurm_rpc [--jobs 10000] [--minutes 5] [--watch] [--json]
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import time
from pathlib import Path

import httpx

from bench.watch_lab import ROOT, SPOOL, TRACE, ask
from evals.recorder.cluster import Cluster, why_not
from evals.recorder.config import REST_USER, ClusterSpec

LIMIT = 11.0
"""Requests a minute to slurmctld that docs/slurm.md promises at most."""
EVERY_S = 10.0
_ASKS = re.compile(r"_INFO(_SINGLE)?$|_PING$|^REQUEST_UPDATE_")
"""Types of requests that ask or change, and those that jobs and nodes send of themselves are none."""
_COUNT = re.compile(r"(REQUEST_\w+)\s*\(\s*\d+\) count:(\d+)\s+ave_time:\d+\s+total_time:(\d+)")


def submit(cluster: Cluster, jobs: int) -> None:
    """Put jobs into the queue of a partition that is down."""
    cluster.scontrol("update", "partitionname=batch", "state=down")
    token = cluster.token(REST_USER.name)
    job = {
        "name": "train", "partition": "batch", "current_working_directory": "/tmp", "environment": {"PATH": "/bin"},
        "account": cluster.spec.account,
    }  # fmt: skip
    with httpx.Client(
        base_url="http://localhost",
        transport=httpx.HTTPTransport(uds=str(cluster.rest_jwt)),
        headers={"X-SLURM-USER-NAME": REST_USER.name, "X-SLURM-USER-TOKEN": token},
        timeout=60,
    ) as client:
        for _ in range(jobs):
            answer = client.post("/slurm/v0.0.38/job/submit", json={"job": job, "script": "#!/bin/sh\ntrue\n"})
            if answer.status_code != 200 or answer.json().get("errors"):
                raise RuntimeError(f"not submitted: {answer.text[:300]}")


def counted(cluster: Cluster) -> dict[str, tuple[int, int]]:
    """Requests by type since the counters were reset, and their time in microseconds."""
    return {name: (int(n), int(us)) for name, n, us in _COUNT.findall(cluster.run("sdiag"))}


def wait(cluster: Cluster, seconds: float, failing: bool) -> int:
    """Let time pass; with `failing` a job ends every ten seconds. How many."""
    until, ended = time.monotonic() + seconds, 0
    while (left := until - time.monotonic()) > 0:
        if failing and left > EVERY_S:
            cluster.submit("/home/mira/fails.sbatch", options=("--partition=priority", "--mem=20"))
            ended += 1
        time.sleep(min(left, EVERY_S))
    return ended


def main() -> int:
    """Fill the queue, follow, count."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=10_000)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--watch", action="store_true", help="the watcher, with jobs that fail meanwhile")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    if problem := why_not(rest=True):
        print(problem, file=sys.stderr)
        return 2
    more = (f"MaxJobCount={args.jobs + 1000}", f"EpilogSlurmctld={ROOT}/deploy/hooks/epilog.sh")
    nodes = ("rpc01", "rpc02", "rpc03", "rpc04")
    with (
        tempfile.TemporaryDirectory(prefix="rpc-", dir="/var/tmp") as folder,
        Cluster(Path(folder) / "lab", ClusterSpec(rest=True, nodes=nodes, memory_cgroups=False, more=more)) as cluster,
    ):
        submit(cluster, args.jobs)
        held = len(cluster.run("squeue", "-h", "-r", "-o", "%i", timeout_s=120).split())
        (cluster.home / "mira" / "fails.sbatch").write_text(f"#!/bin/bash\n{TRACE}")
        cluster.run("mkdir", "-p", SPOOL)
        what = f"watch --spool {SPOOL}" if args.watch else "follow"
        command = f"cd {ROOT}; exec {sys.executable} -m inquest {what} --lake /mnt/data/lake >/mnt/data/log 2>&1"
        following = cluster.spawn("follow", ["bash", "-c", command], node="head", env={"PYTHONPATH": str(ROOT)})
        wait(cluster, 30, args.watch)  # the first look sees everything for the first time
        cluster.run("sdiag", "--reset")
        begun = time.monotonic()
        failed = wait(cluster, args.minutes * 60, args.watch)
        found = {name: spent for name, spent in counted(cluster).items() if _ASKS.search(name)}
        minutes = (time.monotonic() - begun) / 60
        ended = following.poll()
        told = len(ask(cluster, "SELECT key FROM attempt WHERE done IS NOT NULL")) if args.watch else 0
        said = (cluster.data / "log").read_text()[-300:]
    count, spent = found.get("REQUEST_STATS_INFO", (1, 0))
    found["REQUEST_STATS_INFO"] = (count - 1, spent)  # the one that counted
    total = sum(n for n, _ in found.values())
    result = {
        "jobs_in_the_queue": held,
        **({"jobs_that_failed": failed, "verdicts": told} if args.watch else {}),
        "minutes": round(minutes, 2),
        "requests_per_minute": round(total / minutes, 2),
        "slurmctld_busy_share": round(sum(us for _, us in found.values()) / 1e6 / (minutes * 60), 5),
        "by_type": {name: n for name, (n, _) in sorted(found.items()) if n},
        "said": said,
    }
    print(json.dumps(result) if args.json else "\n".join(f"{k:24} {v}" for k, v in result.items()))
    return 0 if ended is None and 0 < total / minutes <= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())

"""A real cluster that is renamed while jobs wait, run and end, under two watchers of whom one is killed meanwhile."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.watch_lab import ask
from evals.recorder.cluster import Cluster, why_not
from evals.recorder.config import ClusterSpec
from store import Reader

ROOT = Path(__file__).resolve().parents[3]
HIDDEN = [p for p in (Path(sys.executable), ROOT) if str(p).startswith(("/tmp/", "/home/", "/mnt/"))]
REASON = why_not() or (f"{HIDDEN[0]} is not seen inside the cluster's own mounts" if HIDDEN else None)
pytestmark = [
    pytest.mark.slurm,
    pytest.mark.xdist_group("live_slurm"),
    pytest.mark.skipif(REASON is not None, reason=str(REASON)),
]


def _watch(cluster: Cluster, name: str) -> str:
    argv = f"env PYTHONPATH={ROOT} {sys.executable} -m inquest watch --lake /mnt/data/lake --poll 2 --no-early-warnings"
    line = f"cd {ROOT}; exec {argv} >>/mnt/data/{name}.log 2>&1"
    return cluster.run("bash", "-c", f"setsid bash -c '{line}' >/dev/null 2>&1 & echo $!").strip()


def _verdicts(cluster: Cluster, jobs: dict[str, int]) -> list[tuple[str, int]]:
    """Job and attempt of each verdict."""
    if not (cluster.data / "lake/lake.json").exists():
        return []
    with Reader(cluster.data / "lake") as reader:
        rows = [(n, r) for n, job in jobs.items() for r in reader.ask("verdict_given", job_id=str(job)).dicts()]
    return [(name, int(str(r["attempt"]))) for name, r in rows]


AGAIN = "[ ${SLURM_RESTART_COUNT:-0} != 0 ] || sleep 600; exit 8"
ENDS = {"before": 3, "runs": 4, "meanwhile": 5, "held": 6, "after": 7, "again": 8}


@pytest.mark.timeout(600)
def test_a_cluster_is_renamed_while_jobs_wait_run_and_end(tmp_path: Path) -> None:
    """Of jobs with a record under the old name slurmdbd never tells the end; each run gets its one verdict all the same."""
    spec = ClusterSpec(nodes=("ren01", "ren02"), memory_cgroups=False)
    with Cluster(tmp_path / "lab", spec) as cluster:
        jobs: dict[str, int] = {}

        def submit(name: str, body: str, *options: str) -> int:
            (cluster.home / f"mira/{name}.sbatch").write_text(f"#!/bin/bash\n{body}\n")
            jobs[name] = cluster.submit(f"/home/mira/{name}.sbatch", options=("--mem=100", *options))
            return jobs[name]

        _watch(cluster, "first")
        second = _watch(cluster, "second")
        cluster.wait_for(submit("before", "exit 3"))
        submit("again", AGAIN, "--requeue")
        submit("runs", "until [ -e /mnt/data/go ]; do sleep 0.3; done; exit 4")
        submit("meanwhile", "until [ -e /mnt/data/down ]; do sleep 0.3; done; exit 5")
        held = submit("held", "exit 6", "--hold")
        for name in ("runs", "meanwhile", "again"):
            cluster.wait_for(jobs[name], {"RUNNING"})
        _until(lambda: _verdicts(cluster, jobs) == [("before", 1)])
        cluster.settle(20)  # accounting and following have heard of all of them
        cluster.run("kill", "-9", second)
        cluster.stop_daemon("slurmctld")
        conf = cluster.state / "etc/slurm/slurm.conf"
        conf.write_text(conf.read_text().replace("ClusterName=lab\n", "ClusterName=east\n"))
        cluster.sacctmgr("-i", "add", "cluster", "east")
        cluster.run("rm", "/var/lib/slurm/ctld/clustername")
        cluster.run("touch", "/mnt/data/down")  # one ends while no controller runs
        cluster.settle(3)
        cluster.start_daemon("slurmctld")
        cluster.scontrol("release", str(held))
        _watch(cluster, "third")
        cluster.scontrol("requeue", str(jobs["again"]))
        cluster.wait_for(submit("after", "exit 7"))
        cluster.wait_for(jobs["again"], {"PENDING"})
        cluster.scontrol("update", f"jobid={jobs['again']}", "StartTime=now")
        cluster.run("touch", "/mnt/data/go")
        for job in jobs.values():
            cluster.wait_for(job)
        told = cluster.sacct("-aXnP", "-S", "now-1hour", "-M", "lab,east", "-o", "JobID,State")
        assert f"{jobs['runs']}|RUNNING" in told, "Slurm itself does not know the end, or this test shows nothing"
        wanted = {*((name, 1) for name in jobs), ("again", 2)}
        _until(lambda: wanted <= set(_verdicts(cluster, jobs)))
        cluster.settle(20)  # both have followed the queue, and polled again
        assert sorted(_verdicts(cluster, jobs)) == sorted(wanted), "one verdict each"
        assert ask(cluster, "SELECT count(*) FROM attempt WHERE done IS NULL") == [(0,)]
        assert ask(cluster, "SELECT sum(value) FROM tally WHERE name = 'verdicts'") == [(float(len(wanted)),)]
        assert [p.name for p in (cluster.data / "lake/watch").iterdir()] == ["lab"], "the state is carried on"
        with Reader(cluster.data / "lake") as reader:
            ends = {n: reader.ask("job_overview", job_id=str(j)).dicts()[0] for n, j in jobs.items()}
        assert {n: r["exit_code"] for n, r in ends.items()} == ENDS
        said = (cluster.data / "first.log").read_text()
        assert said.count("called lab and is east now") == 1, "and no process had to be started anew"


def _until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not true() and time.monotonic() < deadline:
        time.sleep(1)

"""`inquest collect` beside a job on a real Slurm, with software GPUs: no path, no code change in the job."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from evals.recorder.cluster import Cluster, why_not
from evals.recorder.config import ClusterSpec
from tests.collector.livekit import asked
from tests.software_gpu import driver

ROOT = Path(__file__).resolve().parents[3]
REASON = why_not() or driver.why_not()
RANK = """
import os, sys, time
rank = os.environ["SLURM_PROCID"]
open(f"/mnt/data/rank{rank}", "w").write(str(os.getpid()))
for step in range(600):
    print(f"step {step} loss {5 - step / 200:.3f}", flush=True)
    time.sleep(0.25)
    if rank == "1" and os.path.exists("/mnt/data/fail"):
        raise RuntimeError("CUDA error: unspecified launch failure")
"""
SCRIPT = (
    "#!/bin/bash\n#SBATCH --gres=gpu:2 --mem=400 --ntasks=2\nsrun --kill-on-bad-exit=1 python3 /mnt/data/train.py\n"
)


def until(true: Callable[[], bool], what: str, limit_s: float = 90) -> None:
    deadline = time.monotonic() + limit_s
    while not true():
        assert time.monotonic() < deadline, what
        time.sleep(0.2)


def innermost(pid: int) -> int:
    """The program itself, below what entered the namespaces for it."""
    while children := Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        pid = int(children[0])
    return pid


@pytest.mark.slurm
@pytest.mark.xdist_group("live_slurm")
@pytest.mark.skipif(REASON is not None, reason=str(REASON))
@pytest.mark.timeout(600)
def test_a_job_is_in_the_lake_by_rank_and_gpu_and_its_verdict_cites_it(tmp_path: Path) -> None:
    """An XID on one of its GPUs and the end of the rank on it: attributed rows, and a verdict that rests on them."""
    with Cluster(tmp_path / "lab", ClusterSpec(nodes=("gpu01",))) as cluster:
        data = cluster.data
        gpus = driver.SoftwareGpus(data / "soft", count=4)
        (data / "train.py").write_text(RANK)
        env = {
            "PYTHONPATH": str(ROOT),
            "LD_LIBRARY_PATH": "/mnt/data/soft/lib",
            "INQUEST_SOFTWARE_GPU": "/mnt/data/soft/gpus",
        }
        words = [sys.executable, "-m", "inquest", "collect", "--lake", "/mnt/data/lake", "--spool", "/mnt/data/spool"]
        collector = cluster.spawn("collect", [*words, "--cluster", "lab"], node="gpu01", env=env)
        script = cluster.home / "mira/train.sbatch"
        script.write_text(SCRIPT)
        job = cluster.submit("/home/mira/train.sbatch")
        told_pids = [data / f"rank{n}" for n in (0, 1)]
        until(lambda: all(p.exists() and p.read_text() for p in told_pids), "the ranks did not start")
        pids = [int(p.read_text()) for p in told_pids]
        for gpu, pid in enumerate(pids):
            gpus.runs(gpu, pid, 1 << 30)
        # Long enough for a coarse row of the GPUs that carries the job.
        time.sleep(22)
        gpus.xid(1, 79)
        gpus.lose(1)
        time.sleep(3)
        (data / "fail").touch()
        cluster.wait_for(job)
        cluster.settle()
        lake = data / "lake"
        hurried = "SELECT count(*) FROM process WHERE end_ts IS NOT NULL AND rank = 1"
        until(lambda: (lake / "lake.json").exists() and asked(lake, hurried) != [(0,)], "the end was not sealed", 240)
        os.kill(innermost(collector.pid), signal.SIGTERM)
        until(lambda: collector.poll() is not None, "the collector does not stop")
        told = (cluster.state / "log/collect.out").read_text()
        imports = tmp_path / "import"
        (imports / "slurm").mkdir(parents=True)
        (imports / "logs").mkdir()
        (imports / "slurm/sacct.txt").write_text(cluster.sacct("--parsable2", "--duplicates", "-o", "ALL"))
        name = f"slurm-{job}.out"
        (imports / "logs" / name).write_bytes((cluster.home / "mira" / name).read_bytes())
        assert (collector.returncode, told) == (0, "")

        of_job = f"job_id = '{job}'"
        ranks = f"SELECT rank, pid, step_id, exit_code, gpu_uuids FROM process WHERE {of_job} AND rank IS NOT NULL ORDER BY 1"
        found = asked(lake, ranks)
        uuids = [gpus.gpu(n).uuid.decode() for n in (0, 1)]
        assert [(r[0], r[1], r[2], r[4]) for r in found] == [(0, pids[0], "0", uuids[0]), (1, pids[1], "0", uuids[1])]
        # The kernel tells the status only once the process is reaped: on a busy host that may come after our look.
        assert found[1][3] in (1, None)
        assert asked(lake, f"SELECT xid, gpu FROM gpu_event WHERE {of_job} AND event = 'xid'") == [(79, 1)]
        assert asked(lake, f"SELECT DISTINCT gpu FROM gpu_sample WHERE {of_job} ORDER BY 1") == [(0,), (1,)]
        assert asked(lake, "SELECT DISTINCT gpu FROM gpu_sample WHERE job_id IS NULL AND gpu > 1 ORDER BY 1") == [
            (2,),
            (3,),
        ]
        assert asked(lake, f"SELECT count(*) > 20 FROM gpu_detail WHERE {of_job}") == [(True,)]
        assert asked(lake, f"SELECT bool_and(ok) FROM source_health WHERE covers = 'process' AND {of_job}") == [(True,)]
        if cluster.spec.memory_cgroups:
            assert asked(lake, f"SELECT count(*) > 0 FROM cgroup_sample WHERE {of_job} AND step_id = '0'") == [(True,)]
        assert asked(lake, "SELECT max(rss_bytes) < 35000000 FROM collector_sample") == [(True,)]

        inquest = [sys.executable, "-m", "inquest"]
        subprocess.run(
            [*inquest, "import", str(imports), "--lake", str(lake)], cwd=ROOT, check=True, capture_output=True
        )
        why = subprocess.run(
            [*inquest, "why", str(job), "--lake", str(lake), "--json"], cwd=ROOT, check=True, capture_output=True
        )
        verdict = json.loads(why.stdout)
        assert verdict["family"] == "B2", json.dumps(verdict)[:2000]
        assert "gpu_event" in json.dumps(verdict["evidence"])

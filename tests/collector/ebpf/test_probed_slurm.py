"""A job of a real Slurm, in mount and process namespaces of its own: every call of each rank, with no change to the job."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pytest

from evals.recorder.cluster import Cluster
from evals.recorder.cluster import why_not as no_slurm
from evals.recorder.config import ClusterSpec
from store.rows import CapturedLine, CudaSample, NcclSample, Process
from tests.collector.ebpf.probed import Probed, libraries

pytestmark = [
    pytest.mark.slurm,
    pytest.mark.xdist_group("live_slurm"),
    pytest.mark.timeout(600),
    pytest.mark.skipif(no_slurm() is not None, reason=str(no_slurm())),
]
SCRIPT = """#!/bin/bash
#SBATCH --mem=200 --nodes=2 --ntasks=4 --output=/tmp/%j.out
export LD_LIBRARY_PATH=/home/mira
srun --mem=50 bash -c '(while [ ! -e /home/mira/go ]; do sleep 0.2; done; echo go; sleep 2) | /home/mira/calls 123456 5'
"""


def test_launches_collectives_lines_and_ends_of_four_ranks(tmp_path: Path) -> None:
    with Probed() as node, Cluster(tmp_path / "lab", ClusterSpec()) as cluster:
        home = tmp_path / "lab/home/mira"
        for file in libraries().iterdir():
            shutil.copy(file, home)
        (home / "probed.sbatch").write_text(SCRIPT)
        job = cluster.submit("/home/mira/probed.sbatch", user="mira")

        def ends() -> list[Process]:
            # Other tests' programs of this name end on this host at the same time.
            mine = (r for r in node.rows if type(r) is Process and r.comm == "calls" and r.job_id == str(job))
            return [r for r in mine if r.origin == "process:4"]

        known = node.source._libraries  # pyright: ignore[reportPrivateUsage]
        assert known is not None
        # What is asked for before a library's file is probed is not counted: the ranks wait for it.
        node.until(
            lambda: (
                {p.name for p in known.probed.values() if len(p.pids) == 4 and "/home/mira/" in p.inside}
                == {"libcuda", "libnccl"}
            ),
            seconds=90,
        )
        (home / "go").touch()
        node.until(lambda: len(ends()) == 4, seconds=90)
        launches: Counter[int | None] = Counter()
        collectives: Counter[int | None] = Counter()
        for row in node.rows:
            if type(row) is CudaSample and row.job_id == str(job):
                launches[row.rank] += row.launches or 0
            elif type(row) is NcclSample and row.job_id == str(job):
                collectives[row.rank] += row.enqueued or 0
        assert launches == dict.fromkeys(range(4), 123457)
        assert collectives == dict.fromkeys(range(4), 8)
        assert {(r.job_id, r.step_id, r.rank, r.exit_code) for r in ends()} == {(str(job), "0", n, 0) for n in range(4)}
        told = [r for r in node.rows if type(r) is CapturedLine and r.job_id == str(job)]
        lines = {(r.rank, r.text) for r in told if r.text and r.text.startswith("made")}
        assert lines == {(n, "made 123456 launches") for n in range(4)}

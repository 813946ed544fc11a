"""A job on four nodes of a real Slurm, in mount and process namespaces of their own: every call of each rank is in the lake, with no
change to the job."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from collector.node.collect import Collector, Settings
from collector.node.here import Here
from collector.sources.ebpf import Ebpf
from collector.sources.topology import Topology
from evals.recorder.cluster import Cluster
from evals.recorder.cluster import why_not as no_slurm
from evals.recorder.config import ClusterSpec
from tests.collector.ebpf.probed import libraries, why_not
from tests.collector.livekit import asked

pytestmark = [
    pytest.mark.slurm,
    pytest.mark.xdist_group("live_slurm"),
    pytest.mark.timeout(600),
    pytest.mark.skipif(no_slurm() is not None, reason=str(no_slurm())),
]
SCRIPT = """#!/bin/bash
#SBATCH --mem=200 --nodes=4 --ntasks=8 --output=/tmp/%j.out
export LD_LIBRARY_PATH=/home/mira
srun --mem=50 bash -c '(while [ ! -e /home/mira/go ]; do sleep 0.2; done; echo go; sleep 2) | /home/mira/calls 123456 5; exit $((SLURM_PROCID % 3))'
"""
RANKS = range(8)


def until(true: Callable[[], bool], what: str, limit_s: float = 120) -> None:
    deadline = time.monotonic() + limit_s
    while not true():
        assert time.monotonic() < deadline, what
        time.sleep(0.2)


def test_launches_copies_collectives_lines_and_ends_of_all_ranks_are_in_the_lake(tmp_path: Path) -> None:
    if problem := why_not():
        pytest.skip(problem)
    here, lake = Here(node="node1", cluster="lab"), tmp_path / "lake"
    source = Ebpf(here)
    source.capture = True
    collector = Collector([Topology(here), source], here, Settings(spool=tmp_path / "spool", lake=lake))
    wrong: list[str] = []
    running = threading.Thread(target=lambda: wrong.extend(collector.run(signals=False)))

    def probed() -> set[str]:
        """Libraries of which all ranks' files are probed: what is asked for before is not counted."""
        known = source._libraries  # pyright: ignore[reportPrivateUsage]
        files = list(known.probed.values()) if known is not None else []
        return {p.name for p in files if len(p.pids) == len(RANKS) and "/home/mira/" in p.inside}

    with Cluster(tmp_path / "lab", ClusterSpec()) as cluster:
        home = tmp_path / "lab/home/mira"
        for file in libraries().iterdir():
            shutil.copy(file, home)
        (home / "probed.sbatch").write_text(SCRIPT)
        running.start()
        try:
            until(lambda: source._libraries is not None, "the probes were not loaded")  # pyright: ignore[reportPrivateUsage]
            job = cluster.submit("/home/mira/probed.sbatch", user="mira")
            until(lambda: probed() == {"libcuda", "libnccl"}, "not all ranks were found")
            (home / "go").touch()
            cluster.wait_for(job)
            until(lambda: str(job) not in here.owners.jobs, "the job's end was not seen")
        finally:
            collector.loop.stop()
            running.join(90)
    assert [w for w in wrong if "it does not answer" not in w] == []
    until(lambda: not [*(tmp_path / "spool").glob("ready-*")], "the spool was not handed over")

    def told(columns: str, table: str, more: str = "") -> list[tuple[object, ...]]:
        of = f"job_id = '{job}' AND step_id = '0' AND rank IS NOT NULL {more}"
        return asked(lake, f"SELECT rank, {columns} FROM {table} WHERE {of} GROUP BY rank ORDER BY rank")

    calls = "sum(launches), sum(graph_launches), sum(h2d_bytes), sum(d2h_bytes), bool_or(attached)"
    assert told(calls, "cuda_sample") == [(n, 123457, 5, 5 * 4096, 5 * 512, True) for n in RANKS]
    by_kind = [
        told("sum(enqueued), sum(bytes)", "nccl_sample", f"AND collective = '{kind}'")
        for kind in ("all_reduce", "all_gather")
    ]
    assert by_kind == [[(n, 6, 6 * 4000) for n in RANKS], [(n, 2, 2 * 600) for n in RANKS]]
    assert told("max(seq), max(completed)", "nccl_sample") == [(n, 8, 7) for n in RANKS]
    ends = "count(DISTINCT pid), min(exit_code), max(exit_code)"
    assert told(ends, "process", "AND comm = 'calls' AND end_ts IS NOT NULL") == [(n, 1, 0, 0) for n in RANKS]
    of_tasks = f"job_id = '{job}' AND step_id = '0' AND comm = 'bash' AND exit_code > 0"
    tasks = asked(lake, f"SELECT exit_code, count(DISTINCT pid) FROM process WHERE {of_tasks} GROUP BY 1 ORDER BY 1")
    assert tasks == [(1, 3), (2, 2)]
    printed = told("count(*), any_value(text)", "captured_line", "AND text LIKE 'made%'")
    assert printed == [(n, 1, "made 123456 launches") for n in RANKS]

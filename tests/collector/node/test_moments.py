"""What lasts for milliseconds, from the device over the collected lake to a verdict's evidence."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from collector.node.collect import Collector, Settings
from collector.node.here import Here
from collector.sources.base import Source
from collector.sources.infiniband import Infiniband
from collector.sources.nvml import Nvml
from collector.sources.topology import Topology
from tests.collector.livekit import asked
from tests.collector.sources.softgpu import fresh
from tests.collector.sources.test_links import Tree

ROOT = Path(__file__).resolve().parents[3]
JOB, GPU = f"99{os.getpid()}", 11
"""One that no other test's job on this host is given."""


class Port(Infiniband):
    """Looked at as often as the GPUs, so that the test is short."""

    @property
    def interval_s(self) -> float:
        return 0.5


def until(true: Callable[[], bool], what: str, limit_s: float = 60) -> None:
    deadline = time.monotonic() + limit_s
    while not true():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


def test_a_flap_a_throttle_and_an_xid_between_two_looks_are_in_the_evidence_of_a_verdict(tmp_path: Path) -> None:
    """A port that was down for 5 ms, 3 ms of hardware slowdown, one XID: no sample shows any of them."""
    gpus = fresh(GPU + 1)
    tree = Tree(tmp_path / "sys")
    tree.port()
    here = Here(node="node1", cluster="lab", sys=tree.root)
    lake = tmp_path / "lake"
    sources: list[Source] = [Topology(here), Nvml(here), Port(here)]
    collector = Collector(sources, here, Settings(spool=tmp_path / "spool", lake=lake))
    env = {
        **os.environ,
        "SLURM_JOB_ID": JOB,
        "SLURM_STEP_ID": "0",
        "SLURM_PROCID": "0",
        "CUDA_VISIBLE_DEVICES": str(GPU),
    }
    words = [sys.executable, "-c", "import sys; sys.stdin.read(); sys.exit(1)"]
    rank = subprocess.Popen(words, env=env, stdin=subprocess.PIPE)
    gpus.runs(GPU, rank.pid, 1 << 30)
    wrong: list[str] = []
    running = threading.Thread(target=lambda: wrong.extend(collector.run(signals=False)))
    running.start()
    try:
        until(lambda: JOB in here.owners.jobs and bool(here.owners.gpus), "the job was not found")
        looks = [t for t in collector.loop.tasks if t.name in ("nvml", "infiniband")]
        seen = {t.name: t.rounds for t in looks}
        until(lambda: all(t.rounds > seen[t.name] + 1 for t in looks), "nobody looks")
        tree.port(link_downed=1)
        gpus.gpu(GPU).fields[75] += 3_000_000
        gpus.xid(GPU, 79)
        seen = {t.name: t.rounds for t in looks}
        until(lambda: all(t.rounds > seen[t.name] + 6 for t in looks), "nobody looks on")
        rank.communicate()
        until(lambda: JOB not in here.owners.jobs, "the job's end was not seen")
    finally:
        rank.kill()
        collector.loop.stop()
        running.join(60)
    # A busy host ends the last round later than the collector waits for it.
    assert [w for w in wrong if "it does not answer" not in w] == []
    until(lambda: not [*(tmp_path / "spool").glob("ready-*")], "the spool was not handed over")
    assert asked(lake, "SELECT bool_or(throttle_reasons <> 0) FROM gpu_sample") == [(False,)]
    assert asked(lake, "SELECT DISTINCT state FROM link_sample WHERE fabric <> 'nvlink'") == [("ACTIVE",)]
    out = subprocess.run(
        [sys.executable, "-m", "inquest", "why", JOB, "--lake", str(lake), "--json"],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    verdict: dict[str, Any] = json.loads(out)
    found = evidence(verdict)
    assert any("79" in row and "xid" in row for row in found)
    assert any("throttle" in row for row in found)
    assert any("flap" in row for row in found)
    told = json.dumps(verdict["rendered"])
    assert all(word in told for word in ("XID 79", "clocks held down for 3.000 ms", "went down 1 times"))


def evidence(verdict: dict[str, Any]) -> list[str]:
    """Rows of the evidence that were shown, one text each."""
    return [json.dumps(row) for shown in verdict["evidence"] for row in shown["rows"] or ()]

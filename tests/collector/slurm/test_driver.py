"""Sources driven into a lake: one that fails leaves the others alone, and who was looking is written down."""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from pathlib import Path

from collector.slurm.driver import Driver
from collector.slurm.follow import follow
from collector.slurm.replay import Replay
from collector.sources.base import SourceUnavailable
from store import Writer
from store.free_sql import run
from store.rows import SlurmControllerSample, SlurmJob

NOW = datetime.now(UTC)
JOB = SlurmJob(job_id="7", attempt=1, ts=NOW, state="PENDING", state_reason="Resources", submit_ts=NOW, restarts=0)
QUIET = SlurmControllerSample(ts=NOW, dbd_agent_queue=0)


def driver(lake: Path, said: list[str], **answers: list[object]) -> Driver:
    access = Replay({"queue": [[JOB]], "controller": [[QUIET]], **answers})  # type: ignore[dict-item]
    return Driver(follow(access, lake / "slurm").all, Writer(lake, durable=False), said.append)


def test_a_failing_source_leaves_the_others_alone(tmp_path: Path):
    """slurmdbd is down: the queue is followed all the same, the failure is said once and stands in source_health."""
    said: list[str] = []
    down = SourceUnavailable("slurmdbd is down", "systemctl restart slurmdbd")
    assert driver(tmp_path / "lake", said, accounting=[down]).once() is False
    assert said == ["slurm_accounting: slurmdbd is down (remedy: systemctl restart slurmdbd)"]
    assert run(tmp_path / "lake", "SELECT job_id, state FROM slurm_job").rows == (("7", "PENDING"),)
    health = run(tmp_path / "lake", "SELECT DISTINCT source, ok FROM source_health ORDER BY source").rows
    assert ("slurm_accounting", False) in health and ("slurm_queue", True) in health


def test_it_works_until_it_is_told_to_stop(tmp_path: Path):
    """A thread of its own; the health of its windows is written at the end."""
    said: list[str] = []
    stop = threading.Event()
    working = driver(tmp_path / "lake", said)
    thread = threading.Thread(target=working.run, args=(stop,))
    thread.start()
    lake = tmp_path / "lake"
    for _ in range(200):
        if (lake / "slurm" / "slurm_nodes.json").exists():
            break
        stop.wait(0.05)
    stop.set()
    thread.join(30)
    assert not thread.is_alive() and said == []
    assert {row[0] for row in run(lake, "SELECT DISTINCT source FROM source_health").rows} >= {
        "slurm_queue",
        "slurm_nodes",
    }

"""The watcher follows queue, nodes and controller into the lake, one watcher at a time, and asks the queue once for all."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from collector.slurm.replay import Replay
from collector.sources.base import SourceUnavailable
from inquest.watch.following import Following
from inquest.watch.paths import Outputs
from inquest.watch.shared import Shared
from store import Reader
from store.rows import SlurmControllerSample, SlurmJob, SlurmNodeSample, SlurmNodeState

NOW = datetime.now(UTC)


def _slurm() -> Replay:
    job = SlurmJob(
        cluster="lab",
        job_id="4812",
        attempt=1,
        ts=NOW,
        state="RUNNING",
        start_ts=NOW - timedelta(hours=1),
        stdout_path="/home/mira/o",
    )
    return Replay(
        {
            "queue": [[job]],
            "nodes": [[SlurmNodeState(cluster="lab", node="gpu01", ts=NOW, state="IDLE"), SlurmNodeSample(node="gpu01", ts=NOW)]],
            "controller": [[SlurmControllerSample(cluster="lab", ts=NOW, server_threads=3)]],
        }
    )  # fmt: skip


def test_what_the_cluster_tells_is_in_the_lake_once(tmp_path: Path) -> None:
    following = Following(Shared(_slurm()), tmp_path / "lake", tmp_path / "state")
    assert following.turn() > 0
    assert following.turn() == 0, "no source is due again"
    again = Following(Shared(_slurm()), tmp_path / "lake", tmp_path / "state")
    again.turn()
    with Reader(tmp_path / "lake") as reader:
        held = {c.table: c.rows for c in reader.coverage() if c.rows}
        assert [r["state"] for r in reader.ask("jobs").dicts()] == ["RUNNING"]
    assert {"slurm_job", "slurm_node_state", "slurm_controller_sample"} <= set(held)


def test_one_source_that_cannot_be_asked_holds_up_no_other(tmp_path: Path) -> None:
    slurm = _slurm()
    slurm._answers["nodes"] = [SourceUnavailable("slurmctld is busy")]
    assert Following(Shared(slurm), tmp_path / "lake", tmp_path / "state").turn() > 0
    with Reader(tmp_path / "lake") as reader:
        held = {c.table for c in reader.coverage() if c.rows}
    assert "slurm_job" in held
    assert "slurm_node_sample" not in held


def test_one_look_at_the_queue_serves_all(tmp_path: Path) -> None:
    """The paths of jobs' output come along with it, and a list of running jobs needs no question of its own."""
    slurm = _slurm()
    shared = Shared(slurm)
    outputs = Outputs(shared)
    Following(shared, tmp_path / "lake", tmp_path / "state").turn()
    assert [j.job_id for j in shared.recent(60.0)] == ["4812"]
    assert outputs.find([SlurmJob(job_id="4812")]) == set()
    assert outputs.placed(SlurmJob(job_id="4812")).stdout_path == "/home/mira/o"
    assert [q for q, _ in slurm.asked].count("queue") == 1

"""Where the watcher looks for a job's output."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from inquest.watch.paths import Outputs
from inquest.watch.shared import Shared
from store.rows import SlurmJob
from tests.inquest.watch.accounts import Accounts

T = datetime(2026, 3, 1, 10, tzinfo=UTC)


def component(offset: int, path: str | None = None) -> SlurmJob:
    """A component of the heterogeneous job 4831, as the queue or accounting tells of it."""
    raw = str(4831 + offset)
    return SlurmJob(
        cluster="lab", job_id=f"4831+{offset}", job_id_raw=raw, het_job_id="4831", work_dir="/home/mira", start_ts=T,
        stdout_path=path, submit_line="sbatch het.sbatch", name="het", user="mira",
    )  # fmt: skip


@pytest.mark.parametrize("queue", [True, False], ids=["the controller knows them", "only accounting"])
def test_the_output_of_a_heterogeneous_job_is_that_of_its_first_component(tmp_path: Path, queue: bool) -> None:
    """Slurm names a file for each, and writes one."""
    accounts = Accounts(tmp_path / "accounts.jsonl")
    if queue:
        accounts.now_running = [component(n, f"/home/mira/slurm-{4831 + n}.out") for n in range(2)]
    outputs = Outputs(Shared(accounts))
    told = [component(n) for n in range(2)]
    outputs.find(told)
    assert [outputs.placed(job).stdout_path for job in told] == ["/home/mira/slurm-4831.out"] * 2
    assert [outputs.placed(job).job_id for job in told] == ["4831+0", "4831+1"]


def test_the_controller_tells_how_often_a_run_had_been_restarted(tmp_path: Path) -> None:
    """Of the run that it speaks of, and of no other."""
    slurm = Accounts(tmp_path / "accounts")
    shared = Shared(slurm)  # type: ignore[arg-type]
    outputs = Outputs(shared)
    begun = datetime(2026, 3, 1, 10, tzinfo=UTC)
    slurm.now_running = [SlurmJob(job_id="7", start_ts=begun, restarts=1, stdout_path="/home/mira/7.out")]
    list(shared.queue())
    assert outputs.placed(SlurmJob(job_id="7", start_ts=begun)).restarts == 1
    assert outputs.placed(SlurmJob(job_id="7", start_ts=begun - timedelta(hours=1))).restarts is None
    assert outputs.placed(SlurmJob(job_id="7", start_ts=begun, restarts=0)).restarts == 0

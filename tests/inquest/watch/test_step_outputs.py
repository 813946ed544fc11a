"""Files that a job's steps wrote: named by srun's command line, read with the job's owner's rights."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from inquest.watch.attempt import ended
from inquest.watch.hand import Hand
from inquest.watch.step_outputs import MOST, files_of, patterns, with_steps
from inquest.watch.worker import examined
from store import Reader, Writer
from store.rows import SlurmJob, SlurmStep
from tests.inquest.watch.accounts import TRACEBACK

END = datetime.now(UTC).replace(microsecond=0)
JOB = SlurmJob(
    cluster="lab", job_id="71", job_id_raw="71", attempt=1, name="sft", user="root", state="FAILED", exit_code=1, work_dir="/w",
    start_ts=END - timedelta(minutes=2), end_ts=END, submit_ts=END - timedelta(minutes=3), node_list="gpu01,gpu02",
)  # fmt: skip


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("srun --output=/w/%x-%t.out python train.py", ["/w/%x-%t.out"]),
        ("srun -n2 -o logs/a.out -e logs/a.err python train.py -o model.pt", ["logs/a.out", "logs/a.err"]),
        ("/usr/bin/srun --label --exact --mem 60G --output a.log train", ["a.log"]),
        ("srun -lu train --output=b.log", []),
        ("srun -luoa.log train", ["a.log"]),
        ("srun --kill-on-bad-exit=1 -K train --error=b.log", []),
        ("srun --output=a.log --error=a.log train", ["a.log"]),
        ("sbatch --output=a.log run.sh", []),
        ("srun", []),
        ("", []),
    ],
)
def test_only_sruns_own_words_name_a_file(line: str, found: list[str]) -> None:
    assert patterns(line) == found


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("%x-%2t.out", ["/w/sft-00.out", "/w/sft-01.out"]),
        ("/o/%j.%s.%N.%n", ["/o/71.0.gpu01.0", "/o/71.0.gpu02.1"]),
        ("%J_%u_%%", ["/w/71.0_root_%"]),
        ("none", []),
        ("0", []),
        ("/dev/null", []),
    ],
)
def test_a_pattern_is_filled_as_slurm_fills_it(pattern: str, names: list[str]) -> None:
    step = SlurmStep(job_id="71", step_id="0", tasks=2, node_list="gpu01,gpu02", submit_line=f"srun -o {pattern} train")
    assert list(files_of(step, JOB)) == names


def test_a_step_of_thousands_of_tasks_is_read_in_part() -> None:
    step = SlurmStep(job_id="71", attempt=1, step_id="0", tasks=4096, submit_line="srun -o %N-%t train")
    (attempt,) = with_steps(ended([JOB], "lab"), [JOB, step])
    assert len(attempt.step_paths) == MOST


def test_the_traceback_in_a_tasks_own_file_is_read(tmp_path: Path) -> None:
    """The batch script's output has srun's words alone; a file that was never made is no trouble."""
    lake, out = tmp_path / "lake", tmp_path / "slurm-71.out"
    out.write_text("srun: error: gpu01: task 1: Exited with exit code 1\n")
    (tmp_path / "sft-1.out").write_text(TRACEBACK)
    step = SlurmStep(
        cluster="lab", job_id="71", attempt=1, step_id="0", name="python", state="FAILED", exit_code=1, tasks=3,
        start_ts=JOB.start_ts, end_ts=END, ts=END, submit_line=f"srun -n3 --output={tmp_path}/%x-%t.out python train.py",
    )  # fmt: skip
    rows = [SlurmJob(**{**asdict(JOB), "ts": END, "stdout_path": str(out), "work_dir": str(tmp_path)}), step]
    (attempt,) = with_steps(ended(rows, "lab"), rows)
    Writer(lake).append(rows, batch="told")
    hand = Hand()
    try:
        found = examined(hand, {"attempt": asdict(attempt), "lake": str(lake), "timezone": "UTC"})
    finally:
        hand.close()
    assert found["family"] == "A3"
    assert "scan_02011" in found["headline"] and "not read" not in str(found)


SHOWN = "JobId=71 JobName=sft\n   UserId=root(0) GroupId=root(0)\n   JobState=RUNNING Reason=None Dependency=(null)\n   NodeList=gpu01\n\n"
KERNEL = "".join(f"[{n}.5] usb 1-1: new device {n}\n" for n in range(9))
KERNEL += "[ 20.5] NVRM: Xid (PCI:0000:4e:00): 79, pid=1, GPU has fallen off the bus.\n"
LISTED = "JobID|JobName|State|ExitCode\n70|prep|COMPLETED|0:0\n"


@pytest.mark.parametrize("name", ["slurm-71.out", "train.txt"])
@pytest.mark.parametrize("head", [SHOWN, KERNEL, LISTED])
def test_a_jobs_output_is_its_log_whatever_it_begins_with(tmp_path: Path, head: str, name: str) -> None:
    """A script that shows its job, the accounting or the kernel's log first: no row of those is made of what a job printed."""
    lake, out = tmp_path / "lake", tmp_path / name
    out.write_text(head + TRACEBACK)
    rows = [SlurmJob(**{**asdict(JOB), "ts": END, "stdout_path": str(out)})]
    Writer(lake).append(rows, batch="told")
    hand = Hand()
    try:
        found = examined(hand, {"attempt": asdict(ended(rows, "lab")[0]), "lake": str(lake), "timezone": "UTC"})
    finally:
        hand.close()
    assert found["family"] == "A3" and "scan_02011" in found["headline"]
    with Reader(lake) as reader:
        assert [r["job_id"] for r in reader.ask("jobs").dicts()] == ["71"]
        assert not reader.ask("gpu_events", job_id="71").rows

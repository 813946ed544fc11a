"""Which job and which node a file belongs to."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from collector.intake.discover import JobIndex, node_of, node_of_folder, own_job, place
from store.rows import SlurmJob


def index(*jobs: SlurmJob) -> JobIndex:
    known = JobIndex()
    for job in jobs:
        known.add(job)
    return known


@pytest.mark.parametrize(
    ("name", "head", "job"),
    [
        ("slurm-4812.out", "", "4812"),
        ("logs/slurm-4812_7.out", "", "4812_7"),
        ("slurm-4812+1.out", "", "4812+1"),
        ("train-4812.err", "", "4812"),
        ("train_4812.log", "", "4812"),
        ("job.4812.out", "", "4812"),
        ("job_4812/attempt_0/3/stdout.log", "", "4812"),
        ("train.log", "SLURM_JOB_ID=4812\n", "4812"),
        ("train.log", "slurmstepd: error: *** JOB 4812 ON n1 CANCELLED", "4812"),
        ("train.log", "Starting Slurm job 4812 on n1", "4812"),
        ("train-20260301.log", "", None),
        ("train-2026.log", "", None),
        ("logs/log_1773216792.txt", "", None),
        ("train-1773216792.log", "SLURM_JOB_ID=4812\n", "4812"),
        ("model-v2.log", "epoch 12 loss 3.14", None),
        ("train.log", "the job is 4 times faster", None),
        ("events.log", "000 (88123.000.000) 2025-03-02 10:00:01 Job submitted from host: <10.0.0.4:9618>\n", "88123"),
        ("events.log", "\t9120  -  Run Bytes Sent By Job\n\t7755  -  Run Bytes Received By Job\n", None),
    ],
)
def test_what_the_file_itself_says(name: str, head: str, job: str | None) -> None:
    assert own_job(name, head) == job


def test_seconds_in_a_name_are_no_job_beside_one_that_is_known() -> None:
    """torchtune writes its figures beside the job's own output: they are of that job."""
    known = index(SlurmJob(job_id="4812", attempt=1))
    logs = [("logs/slurm-4812.out", ""), ("logs/log_1773216792.txt", "Step 1 | loss:1.1 lr:0.0\n")]
    assert set(place(logs, known, "folder").values()) == {"4812"}


def test_accounting_knows_paths_raw_ids_and_patterns() -> None:
    known = index(
        SlurmJob(job_id="4812", attempt=1, stdout_path="/home/a/logs/big.out", name="train"),
        SlurmJob(
            job_id="77_3",
            attempt=1,
            job_id_raw="80",
            array_job_id="77",
            array_task_id="3",
            stdout_path="/l/%x-%A_%a.txt",
            name="sw",
        ),
    )
    assert known.job_of("logs/big.out", "") == "4812"
    assert known.job_of("logs/sw-77_3.txt", "") == "77_3"
    assert known.job_of("out/80/stdout.log", "") == "77_3"
    assert known.job_of("logs/other.out", "no sign") is None
    assert known.job_of("logs/model-512.log", "job 4812 begins") == "4812"


def test_logs_without_a_sign_share_the_only_job_or_the_folders_name() -> None:
    known = index(SlurmJob(job_id="4812", attempt=1))
    assert place([("logs/train.out", ""), ("logs/rank0/stdout.log", "")], known, "b") == {
        "logs/train.out": "4812",
        "logs/rank0/stdout.log": "4812",
    }
    assert place([("train.out", ""), ("train.err", "")], JobIndex(), "run7") == {
        "train.out": "run7",
        "train.err": "run7",
    }
    assert place([("my.train.log", "")], JobIndex(), "run7") == {"my.train.log": "my.train"}
    assert place([("slurm-1.out", ""), ("stderr.txt", "")], JobIndex(), "x") == {"slurm-1.out": "1", "stderr.txt": "1"}


def test_attempts_by_time_with_some_slack() -> None:
    def at(hour: int, minute: int = 0) -> datetime:
        return datetime(2026, 3, 1, hour, minute, tzinfo=UTC)

    known = index(
        SlurmJob(job_id="5", attempt=1, start_ts=at(9), end_ts=at(10)),
        SlurmJob(job_id="5", attempt=2, start_ts=at(11), end_ts=None),
        SlurmJob(job_id="6", attempt=3, start_ts=at(9), end_ts=at(10)),
    )
    assert [known.attempt_at("5", t) for t in (at(9, 30), at(10, 1), at(10, 30), at(23), None)] == [1, 1, None, 2, None]
    assert known.attempt_at("6", None) == 3, "the only attempt there is"
    assert known.attempt_at("7", at(9)) is None


@pytest.mark.parametrize(
    ("name", "known", "node"),
    [
        ("kernel/gpu07.log", set(), "gpu07"),
        ("kernel/dmesg-gpu-b3-17.txt.gz", set(), "gpu-b3-17"),
        ("kernel/dmesg.log", {"n1", "n2"}, None),
        ("kernel/dmesg.log", {"n1"}, "n1"),
        ("metrics/node3-dcgm.prom", {"node3", "node4"}, "node3"),
        ("metrics/node_exporter.prom", {"n1", "n2"}, None),
        ("metrics/dcgm.om", set(), None),
        ("kernel/gpu-node-7.log", {"gpu-node-7"}, "gpu-node-7"),
    ],
)
def test_the_node_in_a_files_name(name: str, known: set[str], node: str | None) -> None:
    assert node_of(name, known) == node


@pytest.mark.parametrize(
    ("name", "node"),
    [
        ("logs/gpu02/none_ab/attempt_0/3/stderr.log", "gpu02"),
        ("logs/gpu02/out.txt", "gpu02"),
        ("logs/train-gpu02.out", None),
        ("logs/gpu021/out.txt", None),
        ("logs/gpu01/old/gpu02/out.txt", "gpu02"),
    ],
)
def test_a_log_in_a_nodes_folder_is_that_nodes(name: str, node: str | None) -> None:
    assert node_of_folder(name, {"gpu01", "gpu02"}) == node
    assert node_of_folder(name, {"gpu02"}) is None, "the only node is known without"


def test_a_job_ran_on_one_node_where_every_attempt_did() -> None:
    known = index(
        SlurmJob(job_id="1", attempt=1, node_list="n1"),
        SlurmJob(job_id="2", attempt=1, node_list="n1"),
        SlurmJob(job_id="2", attempt=2, node_list="n1,n2"),
        SlurmJob(job_id="3", attempt=1),
    )
    assert [known.on_one_node(job) for job in ("1", "2", "3", "4", None)] == [True, False, False, False, False]

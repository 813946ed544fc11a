"""Slurm's JSON: sacct_json, squeue_json and nodes_json, old shapes and new."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from collector.formats import slurm_json
from collector.importers.base import ImportContext, ImportFailed
from collector.importers.nodes_json import NodesJson
from collector.importers.registry import pick
from collector.importers.sacct_json import SacctJson
from collector.importers.squeue_json import SqueueJson
from store.rows import Row, SlurmJob, SlurmJobEvent, SlurmNodeSample, SlurmNodeState, SlurmStep

SAMPLES = Path(__file__).parent / "samples"


def read(importer: SacctJson | SqueueJson | NodesJson, path: Path) -> tuple[list[Row], ImportContext]:
    ctx = ImportContext(path.name, UTC)
    return list(importer.rows(path, ctx)), ctx


def test_the_newest_shape() -> None:
    rows, ctx = read(SacctJson(), SAMPLES / "sacct_2605.json")
    assert ctx.problem_count == 0
    job = next(r for r in rows if isinstance(r, SlurmJob))
    assert (job.job_id, job.attempt, job.state, job.sluid) == ("4812", 2, "TIMEOUT", "s6FK2V8Q000G00")
    assert (job.exit_code, job.exit_signal, job.derived_exit_code, job.derived_exit_signal) == (0, 0, 0, 9)
    assert job.start_ts == datetime(2026, 3, 1, 9, 10, tzinfo=UTC)
    assert (job.gpus, job.memory_bytes, job.node_list) == (16, 1000 << 30, "gpu08,gpu09")
    assert job.tres_alloc == "cpu=128,mem=1024000M,node=2,gres/gpu=16,gres/gpu:h100=16"
    assert (job.time_limit_s, job.stdout_path) == (86400.0, "/home/alice/run/slurm-4812.out")
    step = next(r for r in rows if isinstance(r, SlurmStep))
    assert (step.step_id, step.attempt, step.exit_signal, step.cancelled_by) == ("batch", 2, 15, "root")
    assert (step.max_rss_bytes, step.max_rss_node) == (67633152, "gpu08")
    requeued = [r for r in rows if isinstance(r, SlurmJobEvent) and r.event == "requeued"]
    assert [(r.attempt, r.message) for r in requeued] == [(1, "restarts: 1")]


def test_the_oldest_shape_with_plain_numbers_and_words() -> None:
    rows, _ = read(SacctJson(), SAMPLES / "sacct_2108.json")
    job = next(r for r in rows if isinstance(r, SlurmJob))
    assert (job.job_id, job.job_id_raw, job.array_job_id, job.array_task_id) == ("77_3", "80", "77", "3")
    assert (job.state, job.exit_code, job.exit_signal, job.derived_exit_code) == ("CANCELLED", 0, 9, 1)
    assert (job.gpus, job.time_limit_s, job.comment, job.memory_bytes) == (2, 3600.0, "note", 2 << 30)
    assert next(r for r in rows if isinstance(r, SlurmStep)).step_id == "extern"


@pytest.mark.parametrize(
    ("mask", "most", "listed"),
    [("0x1A", None, "1,3-4"), ("0x388", 1, "3,7-9%1"), ("0x20", None, "5"), ("0x" + "A" * 50, 4, "1-199:2%4"),
     ("0x108421", None, "0,5,10,15,20"), ("0xAAA", None, "1,3,5,7,9,11"), ("0x4210842", None, "1-26:5"),
     ("3-9", None, "3-9")],
)  # fmt: skip
def test_tasks_that_have_not_begun_are_called_as_saccts_text_calls_them(
    mask: str, most: int | None, listed: str
) -> None:
    """slurmdbd keeps them as bits, and slurmrestd passes those on."""
    assert slurm_json.task_list(mask, most) == listed


def test_a_file_that_breaks_off_gives_the_jobs_before_the_break(tmp_path: Path) -> None:
    whole = (SAMPLES / "sacct_2605.json").read_text()
    path = tmp_path / "cut.json"
    path.write_text(whole.replace(']}\n ], "errors"', ']},\n {"job_id": 99, "na')[: whole.index('"errors"') + 20])
    rows, ctx = read(SacctJson(), path)
    assert [r.job_id for r in rows if isinstance(r, SlurmJob)] == ["4812"]
    assert "breaks off after 1" in ctx.problems[0]


@pytest.mark.parametrize("body", ['{"jobs": [', '{"jobs": [{"job_id"', '{"jobs": [' + "[" * 20_000])
def test_nothing_usable_is_a_failure_that_says_so(tmp_path: Path, body: str) -> None:
    path = tmp_path / "bad.json"
    path.write_text(body)
    with pytest.raises(ImportFailed, match="no job could be read"):
        read(SacctJson(), path)


def test_the_controllers_jobs_are_snapshots() -> None:
    rows, _ = read(SqueueJson(), SAMPLES / "squeue.json")
    waits, failed = (r for r in rows if isinstance(r, SlurmJob))
    assert (waits.state, waits.state_flags, waits.state_reason, waits.attempt) == (
        "PENDING",
        "REQUEUED",
        "BeginTime",
        3,
    )
    assert (waits.start_ts, waits.end_ts, waits.exit_code, waits.time_limit_s) == (None, None, None, None)
    assert (waits.gpus, waits.memory_bytes) == (32, 1 << 40)
    assert (failed.job_id, failed.exit_code, failed.exit_signal, failed.elapsed_s) == ("4890_5", 1, 0, 100.0)


def test_what_slurm_says_in_words_outranks_its_word_and_a_signal_leaves_no_status(tmp_path: Path) -> None:
    """As scontrol shows both. Slurm 22.05 gives 15 << 8 | 53 as the status of a job whose output it could not open."""
    path = tmp_path / "squeue.json"
    held = '"state_reason": "JobHeldUser", "state_description": "launch failed requeued held"'
    path.write_text(
        f'{{"jobs": [{{"job_id": 7, "job_state": "PENDING", {held}}},'
        ' {"job_id": 8, "job_state": "FAILED", "state_reason": "JobLaunchFailure", "state_description": "", "exit_code": 3893}]}'
    )
    waits, failed = (r for r in read(SqueueJson(), path)[0] if isinstance(r, SlurmJob))
    assert waits.state_reason == "launch failed requeued held"
    assert (failed.state_reason, failed.exit_code, failed.exit_signal) == ("JobLaunchFailure", 0, 53)


def test_nodes_old_and_new() -> None:
    rows, _ = read(NodesJson(), SAMPLES / "nodes.json")
    down, drains = (r for r in rows if isinstance(r, SlurmNodeState))
    assert (down.node, down.state, down.state_flags) == ("gpu07", "DOWN", "DRAIN,NOT_RESPONDING")
    assert (down.ts, down.reason, down.reason_user) == (
        datetime(2026, 3, 1, 9, 5, tzinfo=UTC),
        "Not responding",
        "slurm",
    )
    assert (drains.state, drains.ts) == ("DRAINING", None), "no reason and no time of the file: no time"
    samples = [r for r in rows if isinstance(r, SlurmNodeSample)]
    assert [(s.cpu_load, s.gpus, s.gpus_alloc, s.memory_free_bytes) for s in samples] == [
        (0.12, 8, 0, 500123 << 20),
        (64.0, 8, 8, 1024 << 20),
    ]


def test_sinfo_tells_of_nodes_that_are_alike_together(tmp_path: Path) -> None:
    """As from 23.02 on; a node of two partitions is told of in both."""

    def group(partition: str, state: list[str], *nodes: str, **reason: object) -> dict[str, object]:
        return {"node": {"state": state}, "nodes": {"allocated": 0, "hostnames": [], "nodes": list(nodes)}, "cluster": "", "reason": reason, "partition": {"name": partition}}  # fmt: skip

    held = {"description": "bad psu", "time": {"set": True, "infinite": False, "number": 1772359200}, "user": "root"}
    groups = [group("hw", ["IDLE", "DRAIN"], "n3", **held), group("hw", ["MIXED"], "n[1-2]"), group("all", ["IDLE", "DRAIN"], "n3", **held)]  # fmt: skip
    path = tmp_path / "sinfo.json"
    path.write_text(
        json.dumps({"meta": {"plugins": {"data_parser": "data_parser/v0.0.39"}}, "sinfo": groups, "errors": []})
    )
    assert NodesJson().claims(path, path.read_bytes()) > 90
    rows, _ = read(NodesJson(), path)
    found = [r for r in rows if isinstance(r, SlurmNodeState)]
    assert [(r.node, r.state) for r in found] == [("n3", "DRAINED"), ("n1", "MIXED"), ("n2", "MIXED")]
    assert (found[0].reason, found[0].reason_user, found[0].ts) == (
        "bad psu",
        "root",
        datetime(2026, 3, 1, 10, tzinfo=UTC),
    )


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("sacct_2605.json", "sacct_json"),
        ("sacct_2108.json", "sacct_json"),
        ("squeue.json", "squeue_json"),
        ("nodes.json", "nodes_json"),
        ("query_range.json", "prometheus_json"),
        ("_dump_3.json", "flight_recorder"),
        ("scontrol_job.txt", "scontrol_job"),
        ("scontrol_node.txt", "scontrol_node"),
        ("sacctmgr_event.txt", "sacctmgr_event"),
        ("sacct.txt", "sacct"),
        ("sdiag.txt", "sdiag"),
        ("squeue.txt", "squeue"),
        ("sinfo.txt", "sinfo"),
        ("sinfo_reasons.txt", "sinfo"),
        ("journal-iso.log", "kernel_log"),
        ("dcgm.om", "prometheus"),
        ("vllm.prom", "prometheus"),
        ("smi.csv", "nvidia_smi"),
    ],
)
def test_each_format_is_known_by_its_contents_alone(file: str, name: str, tmp_path: Path) -> None:
    importer = pick(tmp_path / "file", (SAMPLES / file).read_bytes())
    assert importer is not None
    assert importer.name == name


@pytest.mark.parametrize(
    ("state", "code", "want"),
    [
        ("FAILED", {"status": "SUCCESS", "return_code": 0}, (None, None)),
        ("FAILED", {"status": "ERROR", "return_code": 1}, (1, 0)),
        ("COMPLETED", {"status": "SUCCESS", "return_code": 0}, (0, 0)),
        ("TIMEOUT", {"status": "SUCCESS", "return_code": 0}, (0, 0)),
    ],
)
def test_a_job_that_failed_with_success_is_no_knowledge(
    state: str, code: dict[str, object], want: tuple[int | None, int | None]
) -> None:
    """Slurm 22.05's `sacct --json` prints exit status 0 for jobs whose text output says 1:0."""
    assert slurm_json.ended_with(code, state) == want


def test_a_job_that_was_cancelled_while_it_waited_never_began(tmp_path: Path) -> None:
    """The controller of a real 22.05 gives its end as its start, and no node; one that ran for less than a second has nodes."""
    base = {"job_state": "CANCELLED", "submit_time": 1795712309, "start_time": 1795712310, "end_time": 1795712310}
    jobs = [{"job_id": 4801, **base}, {"job_id": 4802, **base, "nodes": "gpu01"}]
    path = tmp_path / "squeue.json"
    path.write_text(json.dumps({"meta": {"Slurm": {}}, "jobs": jobs}))
    rows = [r for r in SqueueJson().rows(path, ImportContext(path.name, UTC)) if isinstance(r, SlurmJob)]
    assert [(r.job_id, r.start_ts is None, r.end_ts is None) for r in rows] == [
        ("4801", True, False),
        ("4802", False, False),
    ]

"""slurmctld_log: jobs end as the controller says, with who ended them; nodes are lost, drained and back at their times."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from collector.importers import registry
from collector.importers.base import ImportContext, ImportFailed
from collector.importers.slurmctld_log import SlurmctldLog
from store.rows import SlurmJob, SlurmJobEvent, SlurmNodeState

HEAD = """\
[2026-03-01T09:59:00.101] slurmctld version 23.11.4 started on cluster alpha
[2026-03-01T09:59:00.250] Recovered state of 4 nodes
[2026-03-01T09:59:00.251] Running as primary controller
"""


def at(text: str) -> datetime:
    return datetime.fromisoformat(f"2026-03-01T{text}").replace(tzinfo=UTC)


def read(tmp_path: Path, text: str) -> list[Any]:
    path = tmp_path / "slurmctld.log"
    path.write_text(HEAD + text)
    importer = registry.pick(path, path.read_bytes())
    assert importer is not None and importer.name == "slurmctld_log"
    return list(SlurmctldLog().rows(path, ImportContext(path.name, UTC, size=path.stat().st_size, cluster="alpha")))


def jobs(rows: list[Any]) -> dict[tuple[str | None, int | None], SlurmJob]:
    return {(r.job_id, r.attempt): r for r in rows if isinstance(r, SlurmJob)}


def run(number: str, end: str, start: str = "10:00:01", raw: str = "") -> str:
    job = f"JobId={number}{raw}"
    return (
        f"[2026-03-01T10:00:00.120] _slurm_rpc_submit_batch_job: JobId={number.partition('_')[0]} InitPrio=829 usec=543\n"
        f"[2026-03-01T{start}.500] sched: Allocate {job} NodeList=gpu[01-02] #CPUs=64 Partition=train\n"
        f"[2026-03-01T10:30:00.345] _job_complete: {job} {end}\n[2026-03-01T10:30:00.345] _job_complete: {job} done\n"
    )


@pytest.mark.parametrize(
    ("end", "state", "status"),
    [
        ("WEXITSTATUS 0", "COMPLETED", (0, 0)),
        ("WEXITSTATUS 2", "FAILED", (2, 0)),
        ("WTERMSIG 53", "FAILED", (0, 53)),
        ("OOM failure", "OUT_OF_MEMORY", (None, None)),
        ("cancelled by node failure", "NODE_FAIL", (None, None)),
        ("cancelled by interactive user", "CANCELLED", (None, None)),
    ],
)
def test_a_job_ends_as_the_controller_says(
    tmp_path: Path, end: str, state: str, status: tuple[int | None, int | None]
) -> None:
    rows = read(tmp_path, run("4812", end))
    job = jobs(rows)["4812", 1]
    assert (job.state, job.exit_code, job.exit_signal) == (state, *status)
    assert (job.submit_ts, job.start_ts, job.end_ts) == (at("10:00:00.120"), at("10:00:01.500"), at("10:30:00.345"))
    assert (job.node_list, job.node_count, job.cpus, job.partition) == ("gpu01,gpu02", 2, 64, "train")
    assert job.elapsed_s == 1798.845
    events = [r.event for r in rows if isinstance(r, SlurmJobEvent)]
    assert events[0:2] == ["submitted", "started"] and events[-1] == "ended"


def test_a_kill_by_somebody_and_a_time_limit_are_told_from_a_signal(tmp_path: Path) -> None:
    """scancel --signal is written as a kill is: a job that then ends well has ended well."""
    killed = "[2026-03-01T10:20:00.000] _slurm_rpc_kill_job: REQUEST_KILL_JOB JobId={} uid 2101\n"
    late = "[2026-03-01T10:29:59.000] Time limit exhausted for JobId=3\n"

    def before_end(number: str, told: str, end: str) -> str:
        *lines, completed, done = run(number, end).splitlines(keepends=True)
        return "".join([*lines, told, completed, done])

    rows = read(
        tmp_path,
        before_end("1", killed.format(1), "WTERMSIG 15")
        + before_end("2", killed.format(2), "WEXITSTATUS 0")
        + before_end("3", late, "WTERMSIG 15")
        + "[2026-03-01T10:40:00.000] _slurm_rpc_submit_batch_job: JobId=4 InitPrio=1 usec=5\n"
        + killed.format(4).replace("10:20", "10:41"),
    )
    found = jobs(rows)
    assert [(found[n, 1].state, found[n, 1].cancelled_by) for n in "1234"] == [
        ("CANCELLED", "2101"),
        ("COMPLETED", None),
        ("TIMEOUT", None),
        ("CANCELLED", "2101"),
    ]
    assert (found["4", 1].start_ts, found["4", 1].end_ts) == (None, at("10:41:00.000"))
    signalled = [(r.job_id, r.actor, r.ts) for r in rows if isinstance(r, SlurmJobEvent) and r.event == "signalled"]
    assert sorted(signalled) == [(n, "2101", at("10:41:00.000" if n == "4" else "10:20:00.000")) for n in "124"]


def test_a_requeue_for_a_lost_node_is_a_new_attempt(tmp_path: Path) -> None:
    rows = read(
        tmp_path,
        "[2026-03-01T10:00:00.000] _slurm_rpc_submit_batch_job: JobId=7 InitPrio=1 usec=5\n"
        "[2026-03-01T10:00:01.000] sched/backfill: _start_job: Started JobId=7 in train on gpu[01-02]\n"
        "[2026-03-01T10:10:00.000] error: Nodes gpu02 not responding\n"
        "[2026-03-01T10:15:00.000] error: Nodes gpu02 not responding, setting DOWN\n"
        "[2026-03-01T10:15:00.000] requeue job JobId=7 due to failure of node gpu02\n"
        "[2026-03-01T10:17:00.000] sched: Allocate JobId=7 NodeList=gpu[01,03] #CPUs=64 Partition=train\n",
    )
    found = jobs(rows)
    first, second = found["7", 1], found["7", 2]
    assert (first.state, first.failed_node, first.end_ts) == ("NODE_FAIL", "gpu02", at("10:15:00.000"))
    assert (second.state, second.submit_ts, second.node_list) == ("RUNNING", at("10:15:00.000"), "gpu01,gpu03")
    assert [r.event for r in rows if isinstance(r, SlurmJobEvent) and r.attempt == 1][-3:] == [
        "node_fail",
        "ended",
        "requeued",
    ]


def test_tasks_of_an_array_are_jobs_and_the_array_itself_is_none(tmp_path: Path) -> None:
    found = jobs(read(tmp_path, run("50_3", "WEXITSTATUS 0", raw="(57)")))
    assert list(found) == [("50_3", 1)]
    task = found["50_3", 1]
    assert (task.array_job_id, task.array_task_id, task.job_id_raw) == ("50", "3", "57")
    assert task.submit_ts == at("10:00:00.120")


def test_a_request_that_can_never_run_is_no_job(tmp_path: Path) -> None:
    rows = read(
        tmp_path,
        "[2026-03-01T10:15:13.346] _pick_best_nodes: JobId=34 never runnable in partition train\n"
        "[2026-03-01T10:15:13.346] _slurm_rpc_submit_batch_job: Requested node configuration is not available\n",
    )
    assert [(r.job_id, r.event) for r in rows] == [("34", "blocked")]


def test_nodes_are_lost_drained_and_back(tmp_path: Path) -> None:
    rows = read(
        tmp_path,
        "[2026-03-01T10:10:00.000] error: Nodes gpu[01-02] not responding\n"
        "[2026-03-01T10:12:00.000] error: Nodes gpu[01-02] not responding\n"
        "[2026-03-01T10:13:00.000] Node gpu01 now responding\n"
        "[2026-03-01T10:15:00.000] error: Nodes gpu02 not responding, setting DOWN\n"
        "[2026-03-01T10:20:00.000] update_node: node gpu03 reason set to: bad DIMM\n"
        "[2026-03-01T10:20:00.000] update_node: node gpu03 state set to DRAIN\n"
        "[2026-03-01T10:25:00.000] error: Nodes gpu03 not responding\n"
        "[2026-03-01T10:30:00.000] update_node: node gpu02 state set to IDLE\n",
    )
    told = [
        (r.node, r.state, r.state_flags, r.ts, r.end_ts, r.reason)
        for r in rows
        if isinstance(r, SlurmNodeState) and r.state != "IDLE"
    ]
    assert told == [
        ("gpu01", None, "NOT_RESPONDING", at("10:10:00.000"), at("10:13:00.000"), "Not responding"),
        ("gpu02", None, "NOT_RESPONDING", at("10:10:00.000"), at("10:15:00.000"), "Not responding"),
        ("gpu03", "DRAINED", "DRAIN", at("10:20:00.000"), at("10:25:00.000"), "bad DIMM"),
        ("gpu02", "DOWN", "NOT_RESPONDING", at("10:15:00.000"), at("10:30:00.000"), "Not responding"),
        ("gpu03", "DRAINED", "DRAIN,NOT_RESPONDING", at("10:25:00.000"), None, "bad DIMM"),
    ]


def test_what_slurmstepd_writes_into_a_job_log_is_not_the_controllers(tmp_path: Path) -> None:
    path = tmp_path / "slurm-7.out"
    path.write_text(
        "[2026-03-01T10:00:00.120] error: *** STEP 7.0 ON gpu01 CANCELLED AT 2026-03-01T10:00:00 DUE TO TIME LIMIT ***\n"
        "[2026-03-01T10:00:00.130] error: *** JOB 7 ON gpu01 CANCELLED AT 2026-03-01T10:00:00 DUE TO TIME LIMIT ***\n"
    )
    picked = registry.pick(path, path.read_bytes())
    assert picked is not None and picked.name == "job_log"
    with pytest.raises(ImportFailed):
        other = tmp_path / "none.log"
        other.write_text("nothing\n")
        list(SlurmctldLog().rows(other, ImportContext("none.log", UTC, size=8)))


@pytest.mark.parametrize("gap", ["...", "[...]", "  …"])
def test_what_an_excerpt_leaves_out_makes_the_rest_no_other_log(tmp_path: Path, gap: str) -> None:
    text = (
        "[2026-03-01T10:00:00.000] sched: Allocate JobId=7 NodeList=gpu01 #CPUs=8 Partition=main\n"
        f"{gap}\n"
        "[2026-03-01T10:05:00.000] error: Nodes gpu01 not responding, setting DOWN\n"
        f"{gap}\n"
    )
    assert SlurmctldLog().claims(tmp_path / "part.txt", text.encode()) > 90


def test_lines_of_lost_nodes_and_of_prologs_alone_are_the_controllers(tmp_path: Path) -> None:
    lost = (
        "[2026-03-01T10:00:00.120] error: Nodes gpu[03-04] not responding, setting DOWN\n"
        "[2026-03-01T10:00:00.130] Killing JobId=9 on failed node gpu03\n"
        "[2026-03-01T10:00:00.140] requeue job JobId=9 due to failure of node gpu03\n"
    )
    assert SlurmctldLog().claims(tmp_path / "part.txt", lost.encode()) > 90
    said = "[2026-03-01T10:00:00.130] error: Killing all workers\n[2026-03-01T10:00:00.140] Requeuing the batch\n"
    assert not SlurmctldLog().claims(tmp_path / "part.txt", said.encode())


def test_a_prolog_that_failed_is_the_reason_of_an_attempt_until_the_next_one_starts(tmp_path: Path) -> None:
    failed = (
        "[2026-03-01T10:00:01.500] sched: Allocate JobId=9 NodeList=gpu03 #CPUs=8 Partition=train\n"
        "[2026-03-01T10:00:02.000] error: Prolog launch failure, JobId=9\n"
    )
    assert jobs(read(tmp_path, failed))["9", 1].state_reason == "Prolog launch failure"
    ran = failed + run("9", "WEXITSTATUS 1", start="10:05:00")
    assert jobs(read(tmp_path, ran))["9", 1].state_reason is None


def test_a_job_of_which_only_its_lost_node_is_told_ended_by_that(tmp_path: Path) -> None:
    lost = (
        "[2026-03-01T10:00:00.120] error: Nodes gpu03 not responding, setting DOWN\n"
        "[2026-03-01T10:00:00.130] Killing JobId=9 on failed node gpu03\n"
    )
    job = jobs(read(tmp_path, lost))["9", 1]
    assert (job.state, job.failed_node, job.start_ts) == ("NODE_FAIL", "gpu03", None)
    again = lost + "[2026-03-01T10:00:00.140] requeue job JobId=9 due to failure of node gpu03\n"
    assert [(a, j.state) for (_, a), j in jobs(read(tmp_path, again)).items()] == [(1, "NODE_FAIL"), (2, "PENDING")]

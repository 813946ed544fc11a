"""A real Slurm: every way that a job can go, told by the commands and by slurmrestd, through a controller's and slurmdbd's death."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from collector.slurm.access import NotAllowed
from collector.slurm.choose import REST_SINCE, choose, every
from collector.slurm.command_line import CommandLine
from collector.slurm.follow import follow
from collector.slurm.rest import Rest
from collector.sources.base import SourceUnavailable
from evals.recorder.cluster import Cluster, memory_cgroups, why_not
from evals.recorder.config import REST_USER
from store.free_sql import run
from store.rows import SlurmJob
from tests.collector.slurm.livekit import SPEC, WAYS, Told, play

REASON = why_not(rest=True)
pytestmark = [
    pytest.mark.slurm,
    pytest.mark.xdist_group("live_slurm"),
    pytest.mark.timeout(1200),
    pytest.mark.skipif(REASON is not None, reason=str(REASON)),
]
HOLDER = """
import os, socket, time
new = lambda: socket.create_connection(("head", 6817))
held = [new() for _ in range(150)]
os.mkdir("/tmp/held")
while os.path.exists("/tmp/held"):
    for at in range(150):  # each anew before slurmctld gives it up
        held[at] = new()
        time.sleep(0.03)
"""
# Newer releases record no signal of a job that Slurm itself ended; and a script that outlives its signalled child by a moment
# ends with the child's status, 128 and the signal.
SIGNALLED = ("time-limit", "user-cancels", "operator-cancels")
NEWER: dict[str, tuple[tuple[int, int], ...]] = {
    "node-down": ((1, 0), (0, 1), (1, 1)),
    **dict.fromkeys(SIGNALLED, ((143, 0),) if SPEC.root is None else ((143, 0), (0, 0))),
}


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Told]:
    folder = tmp_path_factory.mktemp("live")
    with Cluster(folder / "lab", SPEC) as cluster:
        yield play(cluster, folder)


def last(told: Told, way: str, job: str) -> dict[str, Any]:
    """The job's last attempt."""
    return told.attempts(way, job)[-1]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("job", "state", "exit_code", "exit_signal"), [
    ("completes", "COMPLETED", 0, 0), ("fails", "FAILED", 3, 0), ("signalled", "FAILED", 0, 11),
    ("time-limit", "TIMEOUT", 0, 15), ("scancel-signal", "FAILED", 7, 0), ("user-cancels", "CANCELLED", 0, 15),
    ("operator-cancels", "CANCELLED", 0, 15), ("node-down", "NODE_FAIL", 0, 0), ("step-fails", "COMPLETED", 0, 0),
    ("suspended", "COMPLETED", 0, 0), ("drained", "COMPLETED", 0, 0), ("over-restart", "COMPLETED", 0, 0),
    ("over-outage", "FAILED", 3, 0), ("preempts", "COMPLETED", 0, 0),
])  # fmt: skip
def test_each_way_to_end_is_told_with_its_exit(
    told: Told, way: str, job: str, state: str, exit_code: int, exit_signal: int
):
    """One attempt, its state, its exit status and signal, its times, and no other end."""
    rows = told.attempts(way, job)
    assert [(r["attempt"], r["state"]) for r in rows] == [(1, state)]
    row = rows[0]
    assert (row["exit_code"], row["exit_signal"]) in ((exit_code, exit_signal), *NEWER.get(job, ()))
    assert row["submit_ts"] <= row["start_ts"] <= row["end_ts"] and row["node_list"].startswith("gpu0")
    ends = [e for e in told.events(way, job) if e["event"] == "ended"]
    assert [(e["state"], e["event_ts"]) for e in ends] == [(state, row["end_ts"])]
    assert {"submitted", "eligible", "started"} <= told.names(way, job)


@pytest.mark.parametrize("way", WAYS)
def test_who_cancelled_is_told(told: Told, way: str):
    """The user's own cancel and an operator's are different people; slurmrestd names them, sacct gives their ids."""
    assert last(told, way, "user-cancels")["cancelled_by"] in ("2002", "dario")
    assert last(told, way, "operator-cancels")["cancelled_by"] in ("2101", "olga")


@pytest.mark.parametrize("way", WAYS)
def test_the_controllers_log_names_who_asked(told: Told, way: str):
    """A signal that a job survives long enough to act on has no other witness; nor has who changed a limit."""

    def actors(job: str, event: str) -> set[str | None]:
        return {e["actor"] for e in told.events(way, job) if e["event"] == event}

    assert actors("scancel-signal", "signalled") == {"0"}
    assert actors("operator-cancels", "signalled") == {"2101"}
    assert "0" in actors("qos-runs", "updated")
    reclaimed = [e["message"] for e in told.events(way, "preempted") if e["event"] == "preempted"]
    assert any(m and m.endswith(f"JobId={told.jobs['preempts']}") for m in reclaimed)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("job", "state"), [("requeued", "REQUEUED"), ("preempted", "PREEMPTED")])
def test_a_requeue_is_two_attempts_and_recovery(told: Told, way: str, job: str, state: str):
    """The first attempt keeps its end, the second completes, and between them stands the requeue."""
    first, second = told.attempts(way, job)
    assert (first["attempt"], first["state"]) == (1, state)
    assert (second["attempt"], second["state"], second["restarts"]) == (2, "COMPLETED", 1)
    again = [e for e in told.events(way, job) if e["event"] == "requeued"]
    assert [(e["attempt"], e["event_ts"]) for e in again] == [(1, second["submit_ts"])]
    assert ("preempted" in told.names(way, job)) == (state == "PREEMPTED")
    assert first["end_ts"] <= second["submit_ts"] <= second["start_ts"]


@pytest.mark.parametrize("way", WAYS)
def test_suspension_has_its_times(told: Told, way: str):
    """Suspended and resumed at the times that Slurm wrote down, and the time lost is counted."""
    events = {e["event"]: e for e in told.events(way, "suspended")}
    assert events["suspended"]["observed"]
    assert events["started"]["event_ts"] <= events["suspended"]["event_ts"] < events["resumed"]["event_ts"]
    assert last(told, way, "suspended")["suspended_s"] > 0


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("job", "reason"),
    [
        ("dependency", "Dependency"),
        ("qos-waits", "QOSMaxJobsPerUserLimit"),
        ("resources", "Resources"),
        ("priority", None),
    ],
)
def test_what_waits_says_why(told: Told, way: str, job: str, reason: str | None):
    """A blocked job names its reason, and when that was seen."""
    blocked = [e for e in told.events(way, job) if e["event"] == "blocked"]
    # What the second of two jobs that wait for one node is told hangs on the scheduler's turn.
    assert (reason or told.reasons[job]) in {e["reason"].partition(",")[0] for e in blocked}
    assert all(e["observed"] for e in blocked)


@pytest.mark.parametrize("way", WAYS)
def test_a_job_that_can_never_start_says_so(told: Told, way: str):
    """Its dependency failed: still pending, and the reason is the latest one."""
    row = last(told, way, "dependency")
    assert (row["state"], row["state_reason"], row["start_ts"]) == ("PENDING", "DependencyNeverSatisfied", None)


@pytest.mark.parametrize("way", WAYS)
def test_array_tasks_are_jobs_of_their_own(told: Told, way: str):
    """Each task ends with its own status, those that waited behind the throttle too; no row is left for the array."""
    array = told.jobs["array"]
    ends = [last(told, way, f"{array}_{task}") for task in range(4)]
    assert [(r["state"], r["exit_code"]) for r in ends] == [("COMPLETED", 0), *(("FAILED", n) for n in (1, 2, 3))]
    others = run(
        told.ways[way].lake, f"SELECT job_id FROM slurm_job WHERE array_job_id = '{array}' AND contains(job_id, '[')"
    )
    assert others.row_count == 0
    waited = [e for e in told.events(way, f"{array}_3") if e["event"] == "blocked"]
    assert {e["reason"] for e in waited} & {"JobArrayTaskLimit", "Resources", "Priority"}


@pytest.mark.parametrize("way", WAYS)
def test_a_heterogeneous_jobs_components_are_told(told: Told, way: str):
    """Both components are there under the job's id and their offset; only the first one ran the script."""
    het = told.jobs["het"]
    first, second = last(told, way, f"{het}+0"), last(told, way, f"{het}+1")
    assert (first["state"], first["exit_code"]) == ("FAILED", 3)
    assert second["state"] == "FAILED" and second["end_ts"] is not None
    assert told.attempts(way, het) == []


@pytest.mark.parametrize("way", WAYS)
def test_a_failed_step_shows_inside_a_job_that_succeeded(told: Told, way: str):
    """The job completed; step 0 failed, step 1 did not. slurmrestd of this release cannot say with which status."""
    steps = {s["step_id"]: s for s in told.ask(way, "job_steps", "step-fails")}
    assert (steps["0"]["state"], steps["1"]["state"]) == ("FAILED", "COMPLETED")
    assert steps["0"]["exit_code"] == (1 if way == "commands" or SPEC.root is not None else None)
    assert last(told, way, "step-fails")["state"] == "COMPLETED"


@pytest.mark.skipif(
    not memory_cgroups() or SPEC.root is not None,
    reason="this kernel has no memory cgroups (v1) to enforce a limit with",
)
@pytest.mark.parametrize("way", WAYS)
def test_a_memory_kill_is_out_of_memory(told: Told, way: str):
    """The limit of the job, not of the node."""
    row = last(told, way, "out-of-memory")
    assert (row["state"], row["memory_bytes"]) == ("OUT_OF_MEMORY", 100 << 20)


@pytest.mark.parametrize("way", WAYS)
def test_a_changed_limit_is_an_update(told: Told, way: str):
    """What was changed, from what to what, between which two looks."""
    updates = [e["message"] for e in told.events(way, "qos-runs") if e["event"] == "updated" and e["attempt"] == 1]
    assert updates == ["time_limit_s: 7200.0 -> 5400.0"]


@pytest.mark.parametrize("way", WAYS)
def test_nodes_tell_their_states(told: Told, way: str):
    """Drained and down with the reasons that were given, from the controller and from slurmdbd."""
    sql = "SELECT node, state, reason, observed FROM slurm_node_state WHERE node IN ('gpu03', 'gpu04')"
    rows = run(told.ways[way].lake, sql, max_rows=1000).rows
    seen = {(node, state) for node, state, reason, observed in rows if reason == "bad dimm" and observed}
    assert ("gpu03", "DRAINING") in seen or ("gpu03", "DRAINED") in seen
    assert any(node == "gpu04" and state == "DOWN" and reason == "rack power" for node, state, reason, _ in rows)
    samples = run(told.ways[way].lake, "SELECT max(gpus_alloc), max(gpus), max(cpus) FROM slurm_node_sample").rows
    assert samples[0][1:] == (4, 8) and (way == "rest" or samples[0][0] == 4)


@pytest.mark.parametrize("way", WAYS)
def test_nothing_is_lost_or_doubled(told: Told, way: str):
    """Every attempt that sacct knows is in the lake once, with its end, and nothing else; also what ended in an outage."""
    text = told.cluster.sacct("-X", "-n", "-P", "--duplicates", "-a", "-S", "now-1hours", "-o", "JobID,State,End")
    ended = sorted(
        (j, s.split()[0], e) for j, s, e in (line.split("|") for line in text.splitlines()) if e != "Unknown"
    )
    sql = "SELECT job_id, state, strftime(end_ts, '%Y-%m-%dT%H:%M:%S') AS end FROM slurm_job WHERE end_ts IS NOT NULL"
    rows = run(told.ways[way].lake, sql, max_rows=1000).rows
    assert len(ended) > 25 and sorted(tuple(str(v) for v in row) for row in rows) == ended
    counts = run(
        told.ways[way].lake, "SELECT job_id, attempt, count(*) FROM slurm_job_event WHERE event = 'ended' GROUP BY ALL"
    )
    assert {n for _, _, n in counts.rows} == {1} and counts.row_count <= 200
    # A process that starts in an outage is told by pyslurm itself that slurmdbd is away.
    felt = "pyslurm: " if way == "pyslurm" else "slurm_accounting"
    assert any(felt in trouble for trouble in told.ways[way].troubles), "the outage was not felt"


# fmt: off
SAME = (
    "job_id", "attempt", "job_id_raw", "array_job_id", "array_task_id", "het_job_id", "name", "user", "account", "partition",
    "qos", "state", "submit_ts", "eligible_ts", "start_ts", "end_ts", "suspended_s", "time_limit_s", "node_list",
    "node_count", "gpus", "memory_bytes", "exit_code", "exit_signal", "work_dir",
)
# fmt: on


def test_both_ways_tell_the_same(told: Told):
    """Column for column, of every attempt that has ended."""
    columns = ", ".join(f'"{c}"' for c in SAME)
    sql = f"SELECT {columns} FROM slurm_job WHERE end_ts IS NOT NULL ORDER BY job_id, attempt"
    commands, rest = (run(told.ways[way].lake, sql, max_rows=1000) for way in ("commands", "rest"))
    assert commands.row_count > 25
    differing = [
        (row[0], row[1], column, one, other)
        for row, twin in zip(commands.rows, rest.rows, strict=True)
        for column, one, other in zip(SAME, row, twin, strict=True)
        if one != other
    ]
    assert differing == []


def test_what_it_costs_is_what_is_said(told: Told):
    """The controller counts our requests as we do: one for the jobs, two for the nodes, one for sdiag."""
    access = CommandLine(prefix=told.cluster.prefix())
    access.probe()

    def counted() -> dict[str, int]:
        found = re.findall(r"(REQUEST_\w+)\s*\(\s*\d+\) count:(\d+)", told.cluster.run("sdiag"))
        return {name: int(n) for name, n in found}

    before = counted()
    for rows in (access.queue(), access.nodes(), access.controller()):
        assert list(rows)
    after = counted()
    asked = {n: after[n] - before.get(n, 0) for n in after if after[n] != before.get(n, 0)}
    assert asked.pop("REQUEST_STATS_INFO") == 2  # ours, and the one that counted
    assert asked == {"REQUEST_JOB_INFO": 1, "REQUEST_NODE_INFO": 1, "REQUEST_PARTITION_INFO": 1}


def test_a_comment_reaches_a_job_that_has_ended(told: Told):
    """The user sees it in sacct; somebody else's job is not ours to comment."""
    rest = told.access("rest")
    rest.set_comment(told.jobs["fails"], 'F: "exit 3" in the script')
    text = told.cluster.sacct("-X", "-n", "-P", "-j", told.jobs["fails"], "-o", "Comment")
    assert "exit 3" in text
    stranger = CommandLine(prefix=[*told.cluster.prefix(), "setpriv", "--reuid=2003", "--clear-groups", "--regid=2003"])
    with pytest.raises((NotAllowed, SourceUnavailable)):
        stranger.set_comment(told.jobs["fails"], "not mine")


def test_a_job_name_cannot_forge_another_job(told: Told):
    """A real Slurm keeps line breaks in names and comments, and prints them as they are: nobody else's job is touched."""
    victim = told.jobs["completes"]
    evil = f"x\n\nJobId={victim} JobName=evil\n   UserId=mira(2001) G=1\n   JobState=FAILED Reason=x\n   SubmitTime=2026-01-01T00:00:00"
    forger = told.cluster.submit(
        "/tmp/ok.sh", user="mira", options=(f"--job-name={evil}", "--hold", f"--comment={evil}")
    )
    try:
        for way in ("commands", "rest"):
            jobs = {j.job_id: j for j in told.access(way).queue() if isinstance(j, SlurmJob)}
            assert jobs[victim].state == "COMPLETED" and jobs[str(forger)].state == "PENDING"
    finally:
        told.cluster.cancel(forger)


def test_a_cluster_of_a_federation_is_asked_by_its_name(told: Told):
    """`-M`: the same jobs under the same cluster."""
    named = CommandLine(prefix=told.cluster.prefix(), of_cluster="lab")
    named.probe()
    jobs = {(j.cluster, j.job_id) for j in named.queue() if isinstance(j, SlurmJob)}
    assert ("lab", told.jobs["completes"]) in jobs
    assert [r for r in named.accounting(datetime.now(UTC), None, [told.jobs["fails"]]) if isinstance(r, SlurmJob)]
    assert list(named.nodes()) and list(named.controller())


def test_the_way_that_knows_more_is_chosen(told: Told):
    """Both work here; slurmrestd of this release does not know exit codes, so the commands are taken unless it is named."""
    environ = {"SLURMRESTD_URL": f"unix:{told.cluster.rest_local}"}
    found = {t.way: (t.works, t.reason) for t in every(environ, told.cluster.prefix())}
    year, month = told.access("commands").release
    assert found["rest"] == found["commands"] == (True, f"Slurm {year}.{month:02d}, cluster lab")
    assert not found["pyslurm"][0]
    better = "command line" if (year, month) < REST_SINCE else "slurmrestd"
    assert choose(None, environ, told.cluster.prefix()).name == better
    assert choose("rest", environ, told.cluster.prefix()).name == "slurmrestd"


def test_slurmrestd_on_its_own_socket_needs_no_token(told: Told):
    """Whoever is the same user may ask; over TCP nobody may without a token, and is told how to get one."""
    local = Rest(f"unix:{told.cluster.rest_local}")
    local.probe()
    newest = {(22, 5): "v0.0.38", (23, 11): "v0.0.40", (24, 11): "v0.0.42", (25, 11): "v0.0.44", (26, 5): "v0.0.45"}[
        local.release
    ]
    assert (local.cluster, local.versions) == ("lab", {"slurm": newest, "slurmdb": newest})
    assert list(local.queue())
    with pytest.raises(SourceUnavailable) as refused:
        Rest(f"unix:{told.cluster.rest_jwt}", user=REST_USER.name, token="not.a.token").probe()
    assert refused.value.remedy is not None and "scontrol token" in refused.value.remedy


@pytest.mark.skipif(
    SPEC.root is not None, reason="silent connections do not make slurmctld of 24.11 and 26.05 look busy"
)
def test_all_sources_look_less_often_while_the_controller_is_busy(told: Told):
    """Connections that say nothing hold a thread of slurmctld's each, until its message time-out ends them."""
    access, cluster = told.access("commands"), told.cluster
    found = follow(access)

    def asked() -> tuple[float, float]:
        found.pace.look(access, datetime.now(UTC), 0.0)
        return found.queue.interval_s, found.nodes.interval_s

    def calm() -> bool:
        """Waits until slurmctld, which a busy host slows down as well, has been calm for long enough."""
        until = time.monotonic() + 180
        while asked() != (15.0, 60.0):
            if time.monotonic() > until:
                return False
            time.sleep(0.5)
        return True

    assert calm()
    cluster.spawn("holder", ["python3", "-c", HOLDER], node="head")
    cluster.run("bash", "-c", "until [ -e /tmp/held ]; do sleep 0.1; done", timeout_s=180)
    assert [asked(), asked()] == [(30.0, 120.0), (60.0, 240.0)]
    assert found.pace.last is not None and (found.pace.last.server_threads or 0) >= 100
    cluster.run("rmdir", "/tmp/held")
    free = r"until sdiag | grep -qE 'Server thread count: *[0-9]{1,2}$'; do sleep 0.2; done"
    cluster.run("bash", "-c", free, timeout_s=180)
    assert calm()

"""host_memory, bad_memory: a host that ran out of memory is not the doing of a job that held far less than its share of it."""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from pathlib import Path

import pytest

from agent_tools.families import a2_signal_kill as a2
from store.rows import CgroupSample, HostEvent, Process, Row, SlurmJob, SlurmStep
from tests.agent_tools.families.world import JOB, T, World, judge

GIB = 1 << 30


def killed(folder: Path, *rows: Row, constraint: str = "CONSTRAINT_NONE", rss: int = 4, times: int = 1) -> World:
    """Two nodes with 500 GiB each for the job; the kernel of the first killed a process of it."""
    world = World(folder).job("FAILED", memory_bytes=1000 * GIB).train([2.0, 1.9, 1.8, 1.7, 1.6])
    world.say("launcher_summary", "child_failed", "Signal 9 (SIGKILL) received by PID 77", signal=9, rank=3, host="n1")
    of = {"node": "n1", "ts": T, "event": "oom_kill", "process_name": "python", "constraint": constraint}
    return world.add(
        *(HostEvent(job_id=JOB, pid=77 + k, rss_bytes=rss * GIB, **of) for k in range(times)),
        *rows,
    )


def group(node: str, held: int) -> CgroupSample:
    return CgroupSample(job_id=JOB, node=node, ts=T, cgroup="/job", memory_current_bytes=held * GIB, oom_kills=0)


def step(held: int, tasks: int) -> SlurmStep:
    return SlurmStep(job_id=JOB, attempt=1, ts=T, step_id="0", state="FAILED", max_rss_bytes=held * GIB, tasks=tasks)


@pytest.mark.parametrize(
    ("rows", "of"),
    [
        ([group("n1", 40)], "undetermined"),
        ([group("n1", 480)], "job"),
        ([group("n2", 40)], "job"),  # of the other node nothing follows
        ([step(10, 16)], "undetermined"),
        ([step(60, 16)], "job"),  # eight of them on a node may hold nearly all of it
        ([group("n1", 480), step(10, 16)], "job"),  # the cgroup saw more than the sampled tasks
        ([], "job"),  # the victim alone is small, and of the others nothing is known
    ],
)
def test_who_filled_the_host_is_asked_of_what_the_job_held_in_all(rows: list[Row], of: str, tmp_path: Path) -> None:
    found = judge(killed(tmp_path, *rows), a2.assess)
    assert (found.status, found.attribution) == ("confirmed", of)
    assert any("else" in m.text for m in found.missing) == (of == "undetermined")
    assert any("Ask for more host memory" in c.text for c in found.actions) == (of == "job")


@pytest.mark.parametrize(("nodes", "of"), [(1, "undetermined"), (2, "job")])
def test_the_batch_step_is_one_task_though_no_column_counts_it(nodes: int, of: str, tmp_path: Path) -> None:
    """On a single node it is all that the job held; of the other nodes of a job it tells nothing."""
    batch = SlurmStep(job_id=JOB, attempt=1, ts=T, step_id="batch", state="FAILED", max_rss_bytes=40 * GIB)
    world = killed(tmp_path, batch)
    world.rows = [dataclasses.replace(r, node_count=nodes) if isinstance(r, SlurmJob) else r for r in world.rows]
    assert judge(world, a2.assess).attribution == of


def test_a_limit_of_its_own_is_the_jobs_however_little_it_held(tmp_path: Path) -> None:
    found = judge(killed(tmp_path, group("n1", 40), constraint="CONSTRAINT_MEMCG"), a2.assess)
    assert found.attribution == "job"


def test_victims_that_held_most_of_the_share_together_are_the_jobs(tmp_path: Path) -> None:
    found = judge(killed(tmp_path, group("n1", 40), rss=100, times=4), a2.assess)
    assert found.attribution == "job"


END = T + timedelta(minutes=60, seconds=-2)


def listed(name: str, held: int, user: int) -> HostEvent:
    message = f"3 tasks of user {user}: {name}"
    return HostEvent(node="n1", ts=END, event="oom_task", process_name=name, rss_bytes=held * GIB, message=message)


def victim(user: int = 500) -> HostEvent:
    text = f"Out of memory: Killed process 77 (python) total-vm:9kB, anon-rss:9kB, UID:{user} pgtables:1kB"
    return HostEvent(
        node="n1", ts=END, event="oom_kill", process_name="python", pid=77, constraint="CONSTRAINT_NONE", rss_bytes=40 * GIB, message=text
    )  # fmt: skip


@pytest.mark.parametrize(
    ("tasks", "of"),
    [
        ([("telegraf", 700, 0), ("python", 90, 500)], "infrastructure"),
        ([("STAR", 700, 900), ("bwa", 90, 901)], "infrastructure"),
        ([("pt_data_worker", 800, 500), ("telegraf", 90, 0)], "job"),
        ([("STAR", 300, 900), ("python", 250, 500)], "job"),  # neither stands out: what was there before holds
    ],
)
def test_the_kernels_list_of_tasks_says_who_filled_the_host(
    tasks: list[tuple[str, int, int]], of: str, tmp_path: Path
) -> None:
    world = World(tmp_path).job("FAILED", memory_bytes=1000 * GIB).train([2.0, 1.9, 1.8, 1.7, 1.6])
    world.say(
        "launcher_summary", "child_failed", "Signal 9 (SIGKILL) received by PID 77", signal=9, rank=3, host="n1", pid=77
    )
    found = judge(world.add(victim(), *(listed(*t) for t in tasks)), a2.assess)
    assert (found.status, found.attribution) == ("confirmed", of)
    assert any("list of tasks" in c.text for c in found.speaks_for) == (tasks[0][0] != "STAR" or tasks[0][1] != 300)


def bus_error(folder: Path, *said: str, ago_s: float = 2.0, node: str = "n1") -> World:
    world = World(folder).job("FAILED", minutes=60.0).train([2.0, 1.9, 1.8, 1.7, 1.6])
    world.say(
        "launcher_summary", "child_failed", "Signal 7 (SIGBUS) received by PID 77", signal=7, rank=3, host="n1", pid=77
    )
    at = T + timedelta(minutes=60, seconds=-ago_s)
    return world.add(*(HostEvent(node=node, ts=at, event="mce", message=m) for m in said))


POISON = "Memory failure: 0x8f1c2a3: Sending SIGBUS to python:77 due to hardware memory corruption"


def test_a_bus_error_over_a_broken_page_of_the_host_is_the_nodes(tmp_path: Path) -> None:
    found = judge(bus_error(tmp_path, POISON), a2.assess)
    assert found.attribution == "infrastructure" and found.confidence > 0.9
    corrected = "EDAC MC1: 1 CE memory read error on CPU_SrcID#0_MC#1"
    assert judge(bus_error(tmp_path, corrected), a2.assess).attribution == "undetermined"
    assert judge(bus_error(tmp_path, POISON, ago_s=2000.0), a2.assess).attribution == "undetermined"
    assert judge(bus_error(tmp_path, POISON, node="n2"), a2.assess).attribution == "undetermined"
    assert judge(bus_error(tmp_path), a2.assess).attribution == "undetermined"


@pytest.mark.parametrize(("later_s", "of"), [(1, "job"), (200, "undetermined")])
def test_a_kill_without_times_of_the_job_is_found_by_the_process_that_its_launcher_misses(
    later_s: float, of: str, tmp_path: Path
) -> None:
    """sacct's own columns have no times; the launcher's summary and the kernel's log have."""
    world = World(tmp_path).job("FAILED", start_ts=None, ts=T).train([2.0, 1.9, 1.8, 1.7, 1.6])
    said = "Signal 9 (SIGKILL) received by PID 77"
    world.say("launcher_summary", "child_failed", said, signal=9, rank=3, host="n1.site", pid=77, happened_ts=T)
    row = victim()
    found = judge(world.add(dataclasses.replace(row, ts=T + timedelta(seconds=later_s))), a2.assess)
    assert found.attribution == of


@pytest.mark.parametrize(("pid", "rank", "known"), [(77, 3, True), (None, 3, True), (77, None, True), (78, 4, False)])
def test_who_sent_a_kill_is_taken_from_the_process_table_for_the_launchers_word_too(
    pid: int | None, rank: int | None, known: bool, tmp_path: Path
) -> None:
    world = World(tmp_path).job("FAILED").train([2.0, 1.9, 1.8, 1.7, 1.6])
    world.say(
        "launcher_summary", "child_failed", "Signal 9 (SIGKILL)", signal=9, rank=3, host="n1", pid=77, happened_ts=T
    )
    gone = Process(
        job_id=JOB, node="n1", ts=T, pid=pid, rank=rank, end_ts=END, exit_signal=9, signal_sender="9001:bash user:root"
    )
    found = judge(world.add(gone), a2.assess)
    assert found.attribution == "undetermined"
    assert any("came from" in c.text for c in found.speaks_for) is known
    assert any("OOM killer" in m.text for m in found.missing) is not known

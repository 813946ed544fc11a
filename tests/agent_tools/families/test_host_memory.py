"""host_memory: a host that ran out of memory is not the doing of a job that held far less than its share of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_tools.families import a2_signal_kill as a2
from store.rows import CgroupSample, HostEvent, Row, SlurmStep
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


def test_a_limit_of_its_own_is_the_jobs_however_little_it_held(tmp_path: Path) -> None:
    found = judge(killed(tmp_path, group("n1", 40), constraint="CONSTRAINT_MEMCG"), a2.assess)
    assert found.attribution == "job"


def test_victims_that_held_most_of_the_share_together_are_the_jobs(tmp_path: Path) -> None:
    found = judge(killed(tmp_path, group("n1", 40), rss=100, times=4), a2.assess)
    assert found.attribution == "job"

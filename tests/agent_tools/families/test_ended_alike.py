"""b1_cuda_oom and a2_signal_kill: what the attempt before ended of, too, is told, with that a rerun as it is cannot help."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from agent_tools.families import a2_signal_kill as a2
from agent_tools.families import b1_cuda_oom as b1
from agent_tools.families.base import Assessment
from store.rows import LogRun
from tests.agent_tools.families.world import JOB, T, World, judge

GIB = 1 << 30


def attempts(folder: Path, first: str, last: str) -> World:
    world = World(folder).job(first, 30, attempt=1)
    return world.job(last, 30, attempt=2, start_ts=T + timedelta(hours=1))


def refused(world: World, attempt: int | None, gib: int = 12) -> World:
    return world.say(
        "cuda_oom", "torch_oom", "CUDA out of memory.", severity="fatal", attempt=attempt,
        requested_bytes=gib * GIB, total_bytes=79 * GIB, free_bytes=3 * GIB,
    )  # fmt: skip


def again(found: Assessment) -> bool:
    told = any("as well" in c.text for c in found.speaks_for)
    assert told == any("cannot help" in c.text for c in found.implies) == ("rerun" in found.actions[0].text)
    return told


def test_a_request_that_was_refused_in_both_attempts_is_told(tmp_path: Path) -> None:
    world = refused(refused(attempts(tmp_path, "FAILED", "FAILED"), 1), 2, 13)
    assert again(judge(world, b1.assess))


def test_a_first_attempt_that_ended_of_something_else_is_not(tmp_path: Path) -> None:
    assert not again(judge(refused(attempts(tmp_path, "NODE_FAIL", "FAILED"), 2), b1.assess))


def test_a_message_that_nothing_gives_to_an_attempt_is_not_counted_twice(tmp_path: Path) -> None:
    assert not again(judge(refused(attempts(tmp_path, "FAILED", "FAILED"), None), b1.assess))


def runs(world: World, *ended_by: str) -> World:
    """As many runs of one file without times, whose lines all count for the last attempt."""
    for n, name in enumerate(ended_by, 1):
        world.add(
            LogRun(
                job_id=JOB, attempt=2, file="slurm-4812.out", run=n, first_line=10 * n, last_line=10 * n + 9,
                sign="" if n == 1 else "head", certain=n == 1, ended_by=name, ended_line=10 * n + 8, ended_how="program",
            )
        )  # fmt: skip
    return world


def test_runs_of_a_file_without_times_are_told_where_there_are_as_many_as_attempts_and_all_ended_so(
    tmp_path: Path,
) -> None:
    name = "torch.OutOfMemoryError"

    def world(part: str) -> World:
        return refused(attempts(tmp_path / part, "FAILED", "FAILED"), 2)

    assert again(judge(runs(world("a"), name, name), b1.assess))
    assert not again(judge(runs(world("b"), "KeyError", name), b1.assess))
    assert not again(judge(runs(world("c"), name, name, name), b1.assess))


def test_only_one_attempt_says_nothing_of_another(tmp_path: Path) -> None:
    assert not again(judge(refused(World(tmp_path).job("FAILED"), 1), b1.assess))


def test_host_memory_that_ran_out_in_both_attempts_is_told(tmp_path: Path) -> None:
    assert again(judge(attempts(tmp_path, "OUT_OF_MEMORY", "OUT_OF_MEMORY"), a2.assess))
    assert not again(judge(attempts(tmp_path / "b", "NODE_FAIL", "OUT_OF_MEMORY"), a2.assess))

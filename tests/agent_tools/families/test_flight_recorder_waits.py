"""Dumps of every rank name the rank that the others wait for, and not the ones that wait themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from agent_tools.families import c2_collective_hang as c2
from store.rows import NcclSample
from tests.agent_tools.families.world import JOB, T, World, judge


def _at(rank: int, comm: str, enqueued: int, done: int, size: int, collective: str = "all_reduce") -> list[NcclSample]:
    """A group's status, and an entry for what is unfinished."""
    base: dict[str, Any] = {"job_id": JOB, "ts": T, "rank": rank, "comm": comm, "comm_size": size}
    rows = [NcclSample(**base, last_enqueued_seq=enqueued, last_completed_seq=done)]
    return rows + [
        NcclSample(**base, collective=collective, seq=n, state="scheduled") for n in range(done + 1, enqueued + 1)
    ]


def _two_by_two(dead: int = 0) -> list[NcclSample]:
    """Rank 3 never came to the tensor group's collective 50, so rank 2 did not come to the data group's 7 with rank 0.

    With `dead`, rank 3 has that many collectives unfinished that its neighbour finished.
    """
    rows = [*_at(2, "1:TENSOR", 52, 49, 2, "all_gather"), *_at(3, "1:TENSOR", 49, 49 - dead, 2, "all_gather")]
    return [
        *rows,
        *_at(0, "2:DATA", 7, 6, 2),
        *_at(2, "2:DATA", 6, 6, 2),
        *_at(1, "3:DATA", 7, 6, 2),
        *_at(3, "3:DATA", 6, 6, 2),
    ]


def test_the_rank_that_waits_for_nobody_is_named(tmp_path: Path) -> None:
    answer = judge(World(tmp_path).add(*_two_by_two()), c2.assess)
    assert (answer.status, answer.confidence) == ("confirmed", 0.96)
    view = World(tmp_path).add(*_two_by_two()).facts().table("nccl_waits")
    assert [(r.get("rank"), r.get("unfinished"), r.get("groups")) for r in view] == [(3, 0, 2)]
    assert any("host code did not come" in c.text for c in answer.implies)


def test_collectives_that_only_one_rank_left_unfinished_point_at_its_gpu_or_process(tmp_path: Path) -> None:
    answer = judge(World(tmp_path).add(*_two_by_two(dead=2)), c2.assess)
    assert any("its GPU or its process stopped" in c.text for c in answer.implies)


def test_sends_and_receives_are_not_held_against_a_rank(tmp_path: Path) -> None:
    """In a pipeline each rank has its own count of sends: a lower one is no absence."""
    rows = [*_at(0, "4:PIPE", 120, 118, 2, "send 0->1"), *_at(1, "4:PIPE", 90, 88, 2, "recv 1<-0")]
    assert not World(tmp_path).add(*rows).facts().table("nccl_waits")


def test_dumps_in_which_everything_is_completed_show_no_hang(tmp_path: Path) -> None:
    world = World(tmp_path).add(*_at(0, "0:default", 9, 9, 2), *_at(1, "0:default", 8, 8, 2))
    assert judge(world, c2.assess).status == "ruled_out"

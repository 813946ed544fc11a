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


def _waiting(*ranks: int, size: int = 4) -> list[NcclSample]:
    return [row for rank in ranks for row in _at(rank, "0:default_pg", 812, 811, size)]


def test_the_rank_without_a_dump_is_named_with_the_doubt(tmp_path: Path) -> None:
    answer = judge(World(tmp_path).add(*_waiting(0, 1, 3)), c2.assess)
    assert answer.status == "confirmed" and "no dump is there" in answer.headline
    view = World(tmp_path).add(*_waiting(0, 1, 3)).facts().table("undumped_ranks")
    assert [(r.get("rank"), r.get("dumped"), r.get("waiting"), r.get("seq")) for r in view] == [(2, 3, 3, 812)]
    assert any("not collected" in c.text and c.status == "hypothesis" for c in answer.implies)
    assert any("TORCH_NCCL_DEBUG_INFO_TEMP_FILE" in m.signal for m in answer.missing)


def test_nobody_is_named_where_many_dumps_are_missing_or_none(tmp_path: Path) -> None:
    for ranks in ((0, 1), (0, 1, 2, 3)):
        assert not World(tmp_path).add(*_waiting(*ranks)).facts().table("undumped_ranks")


def test_a_dump_that_shows_the_rank_that_never_entered_decides_before_one_that_is_missing(tmp_path: Path) -> None:
    rows = [*_waiting(0, 1, 2, size=5), *_at(3, "0:default_pg", 811, 811, 5)]
    answer = judge(World(tmp_path).add(*rows), c2.assess)
    assert "never entered it" in answer.headline and "no dump" not in answer.headline


def test_a_dump_in_which_nothing_is_open_names_nobody_who_left_none(tmp_path: Path) -> None:
    rows = [*_waiting(0, 1), *_at(3, "0:default_pg", 812, 812, 4)]
    assert "no dump" not in judge(World(tmp_path).add(*rows), c2.assess).headline


def test_a_group_of_a_size_that_no_job_has_names_nobody_and_holds_nothing_up(tmp_path: Path) -> None:
    facts = World(tmp_path).job("FAILED", gpus=4).add(*_waiting(0, 1, 2, size=1 << 60)).facts()
    assert not facts.table("undumped_ranks").rows

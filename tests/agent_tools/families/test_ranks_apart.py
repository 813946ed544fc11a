"""Ranks that called another collective than the rest: the program's doing, and the flight recorder's dumps show it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent_tools.facts import apart
from agent_tools.families import c2_collective_hang as c2
from store.rows import LogEvent, NcclSample
from tests.agent_tools.families.world import JOB, T, World, judge


def entered(rank: int, collective: str, seq: int = 31, sizes: str = "[[64]]", comm: str = "0:default_pg") -> NcclSample:
    base: dict[str, Any] = {"job_id": JOB, "ts": T, "rank": rank, "comm": comm, "comm_size": 4, "sizes": sizes}
    done = {"last_enqueued_seq": seq, "last_completed_seq": seq - 1}
    return NcclSample(**base, **done, collective=collective, seq=seq, state="started", frames=f"eval.py:{rank}")


def stuck(folder: Path, *rows: NcclSample) -> World:
    return World(folder).job("TIMEOUT", 60, node_count=1, node_list="n1", gpus=4).train([3.0, 2.5, 2.0]).add(*rows)


def test_a_rank_that_called_another_collective_is_named_and_the_job_blamed(tmp_path: Path) -> None:
    rows = [entered(r, "all_gather" if r == 2 else "all_reduce") for r in range(4)]
    world = stuck(tmp_path, *rows)
    answer = judge(world, c2.assess)
    row = world.facts().table("nccl_mismatch").rows[0]
    assert (row.get("rank"), row.get("apart"), row.get("others"), row.text("others_collective")) == (
        2,
        1,
        3,
        "all_reduce",
    )
    assert (answer.status, answer.attribution) == ("confirmed", "job")
    assert "called" in answer.headline
    assert apart.__name__.endswith("apart")


def test_other_sizes_of_an_all_reduce_stand_apart_and_those_of_a_gather_do_not(tmp_path: Path) -> None:
    reduced = [entered(r, "all_reduce", sizes="[[128]]" if r == 1 else "[[64]]") for r in range(4)]
    view = stuck(tmp_path / "a", *reduced).facts().table("nccl_mismatch")
    assert [(r.get("rank"), r.text("sizes"), r.text("others_sizes")) for r in view] == [(1, "[[128]]", "[[64]]")]
    gathered = [entered(r, "all_gather", sizes=f"[[{r + 1}]]") for r in range(4)]
    assert not stuck(tmp_path / "b", *gathered).facts().table("nccl_mismatch")


@pytest.mark.parametrize("comms", [("0:default_pg", "1:tensor"), ("0:default_pg", "0:default_pg")])
def test_other_groups_other_numbers_and_an_even_split_name_nobody(comms: tuple[str, str], tmp_path: Path) -> None:
    rows = [entered(r, ("all_reduce", "all_gather")[r % 2], comm=comms[r % 2]) for r in range(4)]
    assert not stuck(tmp_path / "a", *rows).facts().table("nccl_mismatch")
    late = [entered(r, "all_gather" if r == 2 else "all_reduce", seq=30 if r == 2 else 31) for r in range(4)]
    assert not stuck(tmp_path / "b", *late).facts().table("nccl_mismatch")


def gave_up(rank: int, collective: str, seq: int = 31, **group: str) -> LogEvent:
    told: dict[str, Any] = {"job_id": JOB, "ts": T, "file": "log", "line_no": 40 + rank, "severity": "error"}
    return LogEvent(
        **told, kind="nccl_watchdog", name="collective_timeout", rank=rank, collective=collective, seq=seq, detail=json.dumps(group)
    )  # fmt: skip


@pytest.mark.parametrize("group", [{"pg": "0"}, {"pg": "12", "pg_name": "default_pg"}, {}])
def test_what_the_watchdogs_of_all_ranks_print_names_them_too(group: dict[str, str], tmp_path: Path) -> None:
    rows = [gave_up(r, "_ALLGATHER_BASE" if r == 2 else "ALLREDUCE", **group) for r in range(4)]
    answer = judge(stuck(tmp_path, *rows), c2.assess)
    assert (answer.status, answer.attribution) == ("confirmed", "job")
    (row,) = stuck(tmp_path / "b", *rows).facts().table("nccl_mismatch")
    assert (row.get("rank"), row.text("collective"), row.text("others_collective")) == (2, "allgather", "allreduce")


@pytest.mark.parametrize("group", [{"pg": "4", "pg_name": "TENSOR_MODEL_PARALLEL_GROUP"}, {}])
def test_numbers_that_several_groups_may_count_by_name_nobody(group: dict[str, str], tmp_path: Path) -> None:
    """The tensor-parallel groups of two pipeline stages have one number on their ranks, and run different programs."""
    rows = [gave_up(r, "ALLGATHER" if r == 2 else "ALLREDUCE", **group) for r in range(4)]
    rows.append(gave_up(3, "ALLREDUCE", seq=7, **group))
    assert not stuck(tmp_path, *rows).facts().table("nccl_mismatch")

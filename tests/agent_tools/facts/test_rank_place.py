"""The node of the rank that a hang is laid at: told, the only one, or by the order of ranks."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from agent_tools.families.c2_collective_hang import assess
from store.rows import Process
from tests.agent_tools.families.world import JOB, T, World, check


def hung(folder: Path, silent: int, world_size: int = 16, **job: Any) -> World:
    """All ranks but one report a time-out of the same collective."""
    world = World(folder).job("FAILED", 60, **job).train([3.0, 2.5, 2.0], every_s=300)
    for rank in range(world_size):
        if rank != silent:
            at = T + timedelta(minutes=50)
            world.say(
                "nccl_watchdog", "collective_timeout", f"rank {rank} waits", rank=rank, ts=at, ts_kind="embedded",
                collective="ALLREDUCE", seq=77, world_size=world_size,
            )  # fmt: skip
    return world


def where(world: World) -> dict[str, str]:
    """What is said of the place of the rank: known_by, and the status of the sentence."""
    facts = world.facts()
    result = assess(facts)
    check(facts, result)
    row = facts.table("rank_place", rank=11).first
    said = [c for c in (*result.speaks_for, *result.implies) if " ran on " in c.text]
    if row is None:
        return {"said": str(len(said))}
    return {
        "node": row.text("node"),
        "known_by": row.text("known_by"),
        "status": said[0].status,
        "said": str(len(said)),
    }


def test_by_the_order_of_ranks_it_is_no_more_than_a_hypothesis(tmp_path: Path) -> None:
    world = hung(tmp_path, silent=11)
    assert where(world) == {"node": "n2", "known_by": "order", "status": "hypothesis", "said": "1"}
    facts = world.facts()
    row = facts.table("rank_place", rank=11).first
    assert row is not None
    assert (row.get("per_node"), row.get("local_rank")) == (8, 3)
    assert "did not report" in assess(facts).headline


def test_the_only_node_is_where_it_ran(tmp_path: Path) -> None:
    told = where(hung(tmp_path, silent=11, node_list="n7", gpus=16))
    assert told == {"node": "n7", "known_by": "only", "status": "established", "said": "1"}


def test_a_process_table_tells_it_whatever_the_order(tmp_path: Path) -> None:
    world = hung(tmp_path, silent=11)
    world.add(Process(job_id=JOB, node="n1", rank=11, local_rank=5, pid=9, ts=T))
    assert where(world) == {"node": "n1", "known_by": "told", "status": "established", "said": "1"}


@pytest.mark.parametrize("job", [{"gpus": 32}, {"gpus": 15}, {"gpus": None}, {"node_list": None}])
def test_another_number_of_ranks_than_gpus_tells_nothing(tmp_path: Path, job: dict[str, Any]) -> None:
    """One rank for two GPUs, several models in one job, a job of CPUs: then the order of the allocation is not theirs."""
    assert where(hung(tmp_path, silent=11, **job)) == {"said": "0"}


def test_two_sources_that_disagree_tell_nothing(tmp_path: Path) -> None:
    world = hung(tmp_path, silent=11)
    for node in ("n1", "n2"):
        world.add(Process(job_id=JOB, node=node, rank=11, local_rank=5, pid=9, ts=T))
    assert where(world) == {"said": "0"}


def test_where_srun_names_that_task_elsewhere_the_order_is_not_said(tmp_path: Path) -> None:
    """A launcher on each node: the labels of `srun -l` number the launchers, and task 1 of two ran on the second node."""
    world = hung(tmp_path, silent=1)
    world.say("slurm", "task_exit", "n2: task 1: Exited with exit code 1", host="n2", detail='{"tasks": "0-1"}')
    facts = world.facts()
    row = facts.table("rank_place", rank=1).first
    assert row is not None
    assert (row.text("node"), row.text("known_by"), row.get("local_rank")) == ("n2", "task", None)
    said = [c for c in assess(facts).implies if "ran on" in c.text]
    assert [c.status for c in said] == ["hypothesis"]
    assert "in the order of the allocation" not in said[0].text


def test_a_task_that_srun_names_where_the_order_has_it_changes_nothing(tmp_path: Path) -> None:
    world = hung(tmp_path, silent=11)
    world.say("slurm", "task_exit", "n2: tasks 8-15: Exited with exit code 1", host="n2", detail='{"tasks": "8-15"}')
    assert where(world) == {"node": "n2", "known_by": "order", "status": "hypothesis", "said": "1"}


def test_a_task_that_srun_names_on_two_nodes_tells_nothing(tmp_path: Path) -> None:
    """Two steps of the job number their tasks from nought."""
    world = hung(tmp_path, silent=1)
    for node in ("n1", "n2"):
        world.say("slurm", "task_exit", f"{node}: task 1: Killed", host=node, detail='{"tasks": "1"}')
    assert where(hung(tmp_path / "other", silent=11))["known_by"] == "order"
    row = world.facts().table("rank_place", rank=1).first
    assert row is not None and row.text("known_by") == "order"

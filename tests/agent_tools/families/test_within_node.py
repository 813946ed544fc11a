"""d2_throughput_bound on a single node (within_node): no network lies between its GPUs."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from agent_tools.families import d2_throughput_bound as d2
from agent_tools.families.base import Assessment
from store.rows import CudaSample, GpuSample
from tests.agent_tools.families.world import JOB, T, World, judge

PATH = "n1:7:7 [0] NCCL INFO Channel 00 : 0[0] -> 1[1] via {}"
OFF = "n1:7:7 [0] NCCL INFO NCCL_P2P_DISABLE set by environment to {}"


def spinning(folder: Path, nodes: int = 1, engine: float = 0.99, sm: float = 0.12) -> World:
    """Four GPUs that are busy by their engines and do little, in a run that advances."""
    names = [f"n{i + 1}" for i in range(nodes)]
    world = World(folder).job("COMPLETED", gpus=4, node_list=",".join(names), node_count=nodes)
    world.train([2.0 - 0.01 * i for i in range(40)], every_s=60.0)
    for g in range(4):
        for m in range(60):
            world.add(
                GpuSample(
                    node=names[g * nodes // 4], gpu=g % (4 // nodes), ts=T + timedelta(minutes=m), engine_active=engine, sm_active=sm
                )
            )  # fmt: skip
    return world


def said(world: World, name: str, text: str) -> World:
    return world.say("nccl_info", name, text, severity="info")


def words(found: Assessment) -> str:
    parts = (*found.speaks_for, *found.implies, *found.actions, *found.missing)
    return " ".join([found.headline, *(p.text for p in parts)])


def test_on_one_node_nothing_is_said_of_a_network(tmp_path: Path) -> None:
    found = judge(said(spinning(tmp_path), "net_transport", "n1:7:7 [0] NCCL INFO Using network Socket"), d2.assess)
    assert (found.status, found.mode, found.attribution) == ("confirmed", "interconnect", "infrastructure")
    assert found.confidence == 0.65 and "within the node" in found.headline
    assert "NCCL_SOCKET_IFNAME" not in words(found) and "network Socket" not in words(found)
    assert "too small" in words(found) and "nvidia-smi topo -m" in words(found)


def test_sockets_between_nodes_are_a_slow_network(tmp_path: Path) -> None:
    found = judge(said(spinning(tmp_path, nodes=2), "net_transport", "NCCL INFO Using network Socket"), d2.assess)
    assert (found.confidence, found.attribution) == (0.9, "infrastructure")
    assert "NCCL_SOCKET_IFNAME" in words(found) and "within the node" not in words(found)


@pytest.mark.parametrize(
    ("via", "by"), [("SHM/direct/direct", "the host's memory"), ("NET/Socket/0", "a network card"), ("P2P/CUMEM", "")]
)
def test_nccl_names_the_way_between_two_gpus(tmp_path: Path, via: str, by: str) -> None:
    found = judge(said(spinning(tmp_path), "channel", PATH.format(via)), d2.assess)
    assert (f"through {by} instead of directly" in found.headline) is bool(by)
    assert (found.confidence, found.attribution) == (0.88 if by else 0.65, "infrastructure")


def test_a_setting_that_forbids_the_direct_way_is_the_jobs_own(tmp_path: Path) -> None:
    for value, whose in (("1", "job"), ("0", "infrastructure")):
        found = judge(said(spinning(tmp_path / value), "env", OFF.format(value)), d2.assess)
        assert found.attribution == whose and ("Unset the variable" in words(found)) is (whose == "job")


def test_time_in_calls_shows_that_they_wait(tmp_path: Path) -> None:
    for share, confidence in ((0.85, 0.8), (0.2, 0.65)):
        world = spinning(tmp_path / str(share))
        for m in range(60):
            world.add(
                CudaSample(
                    job_id=JOB, attempt=1, node="n1", rank=0, pid=7, ts=T + timedelta(minutes=m), interval_s=60.0, launches=900,
                    api_time_s=60.0 * share,
                )
            )  # fmt: skip
        assert judge(world, d2.assess).confidence == confidence


@pytest.mark.parametrize(("engine", "sm"), [(0.99, 0.6), (0.5, 0.12)])
def test_gpus_that_compute_or_rest_do_not_spin(tmp_path: Path, engine: float, sm: float) -> None:
    """A detour through the host's memory that costs nothing to speak of bounds nothing."""
    world = said(spinning(tmp_path, engine=engine, sm=sm), "channel", PATH.format("SHM/direct/direct"))
    assert judge(world, d2.assess).status == "ruled_out"

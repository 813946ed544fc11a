"""no_way: what the errno of a connection tells of the network between two ranks, and what it leaves open."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_tools.families import c1_rendezvous_hang as c1
from tests.agent_tools.families.world import World, judge


def unset(folder: Path, why: str) -> World:
    message = (
        f"n2:811:930 [0] misc/socket.cc:578 NCCL WARN socketStartConnect: Connect to 10.9.0.4<40112> failed : {why}"
    )
    return World(folder).job("FAILED", 2).say("nccl_error", "connect_failed", message, peer="10.9.0.4<40112>")


@pytest.mark.parametrize("why", ["No route to host", "Network is unreachable"])
def test_an_address_to_which_there_is_no_way_is_no_rank_that_has_gone(why: str, tmp_path: Path) -> None:
    found = judge(unset(tmp_path, why), c1.assess)
    assert (found.status, found.attribution) == ("confirmed", "undetermined") and found.confidence > 0.8
    assert not any("another rank had gone" in c.text for c in found.implies)


def test_a_refused_connection_leaves_open_whether_the_rank_had_gone(tmp_path: Path) -> None:
    found = judge(unset(tmp_path, "Connection refused"), c1.assess)
    assert found.status == "suspected" and found.confidence < 0.7
    assert any("another rank had gone" in c.text for c in found.implies)


def test_after_steps_it_is_no_failed_start(tmp_path: Path) -> None:
    world = unset(tmp_path, "No route to host").train([2.0, 1.9, 1.8, 1.7, 1.6])
    assert judge(world, c1.assess).status != "confirmed"

"""lacking_gpu, lone_node: a GPU that one node lacks, and a host that one node does not reach, are not the program's settings."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from agent_tools.families import a1_startup_crash as a1
from store.rows import GpuEvent, LinkEvent, Row
from tests.agent_tools.families.world import T, World, judge

ORDINAL = "CUDA error: invalid device ordinal"
LOST = "NVRM: Xid (PCI:0000:3B:00): 79, pid=1, GPU has fallen off the bus."


def lost(node: str, minutes: float = 90.0, xid: int = 79) -> GpuEvent:
    at = T - timedelta(minutes=minutes)
    return GpuEvent(node=node, gpu=1, pci_bus_id="00000000:3b:00.0", event="xid", xid=xid, ts=at, message=LOST)


def crashed(folder: Path, ranks: tuple[int, ...], *rows: Row, text: str = ORDINAL, nodes: int = 4) -> World:
    """A job of two GPUs on each node, in which these ranks failed at their start."""
    names = ",".join(f"n{i + 1}" for i in range(nodes))
    world = World(folder).job("FAILED", 2, node_list=names, gpus=2 * nodes)
    for rank in ranks:
        world.say("exception", "RuntimeError", text, rank=rank)
    for rank in ranks[:1]:
        world.say(
            "launcher_summary", "child_failed", "failed", rank=rank, local_rank=rank % 2, host=f"n{rank // 2 + 1}"
        )
    return world.add(*rows)


@pytest.mark.parametrize(
    ("ranks", "rows", "nodes", "of"),
    [
        ((3,), (), 4, "undetermined"),
        ((3,), (lost("n2"),), 4, "infrastructure"),
        ((3,), (lost("n3"),), 4, "undetermined"),  # another node's
        ((3,), (lost("n2", xid=43),), 4, "undetermined"),  # what a program causes loses no GPU
        ((1, 3, 5, 7), (lost("n2"),), 4, "job"),  # every node alike: so the program counts
        ((2, 3), (), 4, "job"),  # none of a node's ranks finds its own: as well what the job was given there
        ((1,), (), 1, "job"),  # nothing to compare with
        ((1,), (lost("n1"),), 1, "infrastructure"),
    ],
)
def test_a_gpu_that_is_not_there(
    ranks: tuple[int, ...], rows: tuple[Row, ...], nodes: int, of: str, tmp_path: Path
) -> None:
    found = judge(crashed(tmp_path, ranks, *rows, nodes=nodes), a1.assess)
    assert (found.status, found.attribution) == ("confirmed", of)
    assert any("not to blame" in c.text for c in found.implies) is (of == "job")


UNREACHED = (
    "HTTPSConnectionPool(host='hub.example', port=443): Max retries exceeded (Temporary failure in name resolution)"
)


@pytest.mark.parametrize(
    ("ranks", "events", "of"),
    [
        ((4, 5), (), "undetermined"),
        ((4, 5), (("n3", "down", 20),), "infrastructure"),
        ((4, 5), (("n3", "down", 20), ("n3", "up", 10)), "undetermined"),
        ((4, 5), (("n1", "down", 20),), "undetermined"),
    ],
)
def test_a_host_that_one_node_alone_does_not_reach(
    ranks: tuple[int, ...], events: tuple[tuple[str, str, float], ...], of: str, tmp_path: Path
) -> None:
    rows = [LinkEvent(node=n, device="bond0", event=e, ts=T - timedelta(minutes=m), message=e) for n, e, m in events]
    found = judge(crashed(tmp_path, ranks, *rows, text=UNREACHED), a1.assess)
    assert found.attribution == of and found.confidence <= 0.75
    assert not any("mount" in c.text for c in found.implies)

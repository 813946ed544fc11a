"""storage_words, launch_reason, node_words: what the kernels or NCCL say of the node at which a program failed is told, and whose it makes it."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from agent_tools.families import a3_midrun_crash as a3
from agent_tools.families import a4_never_started as a4
from agent_tools.families import b3_clock_throttle as b3
from agent_tools.families import c1_rendezvous_hang as c1
from store.rows import GpuSample, HostEvent
from tests.agent_tools.families.world import T, World, judge

END = T + timedelta(minutes=60)
SILENT = "nfs: server filer9 not responding, still trying"


def word(node: str, ago_s: float = 60.0, text: str = SILENT) -> HostEvent:
    return HostEvent(node=node, event="storage", ts=END - timedelta(seconds=ago_s), message=text)


def failed(folder: Path, *words: HostEvent) -> World:
    world = World(folder).job("FAILED", node_list="n1,n2", gpus=4).train([2.0, 1.9, 1.8, 1.7, 1.6])
    world.say("exception", "OSError", "[Errno 5] Input/output error: '/data/a.bin'", rank=3)
    world.say("launcher_summary", "child_failed", "failed", rank=3, local_rank=1, host="n2")
    return world.add(*words)


@pytest.mark.parametrize(
    ("words", "told", "others"),
    [
        ((), 0, False),
        ((word("n2", text="nvme nvme0: controller is down; will reset"),), 1, False),
        ((word("n1"), word("n2")), 2, True),
        ((word("n2", ago_s=7200.0),), 0, False),  # long before
    ],
)
def test_the_kernels_word_of_storage_is_told_with_the_crash(
    words: tuple[HostEvent, ...], told: int, others: bool, tmp_path: Path
) -> None:
    found = judge(failed(tmp_path, *words), a3.assess)
    assert found.attribution == "infrastructure"
    assert sum("kernel of" in c.text or "So does that" in c.text for c in found.speaks_for) == told
    assert any("other nodes may as well" in c.text for c in found.actions) is others
    assert any("a server failed" in m.text for m in found.missing) is (told == 0)


ABSENT = "slurmstepd: error: execve(): /home/eve/run.sh: No such file or directory"


@pytest.mark.parametrize(
    ("hosts", "words", "of"),
    [
        (("n3",), (), "undetermined"),
        (("n3",), (word("n3", 3600 + 900),), "infrastructure"),
        (("n3",), (word("n1", 3600 + 900),), "undetermined"),
        (("n1", "n2", "n3"), (word("n3", 3600 + 900),), "job"),
    ],
)
def test_a_program_that_one_node_alone_does_not_find(
    hosts: tuple[str, ...], words: tuple[HostEvent, ...], of: str, tmp_path: Path
) -> None:
    world = World(tmp_path).job("FAILED", 0.2, node_list="n1,n2,n3", gpus=6, exit_code=2)
    world.say("slurm", "execve_failed", ABSENT)
    for i, host in enumerate(hosts):
        world.say("slurm", "task_exit", f"{host}: task {i}: Exited with exit code 2", host=host, exit_code=2)
    found = judge(world.add(*words), a4.assess)
    assert (found.status, found.attribution) == ("confirmed", of)


@pytest.mark.parametrize(
    ("said", "of"),
    [
        (
            "n2:77:77 [0] misc/nvmlwrap.cc:183 NCCL WARN nvmlInit_v2() failed: Driver/library version mismatch",
            "infrastructure",
        ),
        ("n2:77:77 [0] misc/socket.cc:484 NCCL WARN socketStartConnect failed: Software caused abort", "undetermined"),
    ],
)
def test_a_communicator_that_fails_at_the_driver_is_the_nodes(said: str, of: str, tmp_path: Path) -> None:
    world = World(tmp_path).job("FAILED", 5.0)
    world.say("nccl_error", "warn", said, severity="warning", host="n2")
    world.say(
        "nccl_error", "system_error", "NCCL error in: NCCLUtils.hpp:268, unhandled system error, NCCL version 2.21.5"
    )
    assert judge(world, c1.assess).attribution == of


def test_clocks_that_were_recorded_are_not_said_to_be_lacking(tmp_path: Path) -> None:
    world = World(tmp_path).job()
    for minute in range(60):
        world.add(GpuSample(node="n1", gpu=0, ts=T + timedelta(minutes=minute), engine_active=0.9, sm_clock_mhz=1755.0))
    assert "by its clock alone" in judge(world, b3.assess).counterfactual
    assert "or clocks were recorded" in judge(World(tmp_path / "b").job(), b3.assess).counterfactual
